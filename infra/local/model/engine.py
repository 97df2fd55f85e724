"""llama.cpp's own server inside this process (xllamacpp), with the settings that make a prefix cache provable.

What is set against the defaults, and why (ran on two cores):
- `flash_attn_type=0`, `kv_unified=False`: a warm answer is the same text as a cold one (40 of 40 prompts, 16 tokens).
  With the defaults it is not. The very same prompt again is another case: one token is then read alone, by other
  arithmetic than in a batch, and 5 of 30 texts came out different.
- `n_batch = n_ubatch = 64`: a dropped prefill lets go of the engine within two batches, and what was read is kept.
- `cache_ram_mib=0`: what does not fit the slots is kept by `parking`, which copies; llama.cpp's own cache moves a state
  to the one call that takes it, and is not asked at all when another session's state in the slot looks alike.
- `OMP_WAIT_POLICY=passive`, `GOMP_SPINCOUNT=0`: threads that wait by spinning make a loaded machine several
  times slower.
- `sse_ping_interval=-1`: nothing but events in a stream.

The key-value cache is allocated at once: 23,040 bytes a token of SmolLM2-135M, 755 MB for four slots of 8,192 tokens.
Loading holds Python's interpreter lock, 0.4-2.5 s for the shipped model.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
from pydantic import BaseModel

from infra.local.model.backend import EngineFacts
from infra.local.model.errors import StartError
from infra.local.model.llama_backend import LlamaBackend
from infra.local.model.parking import SlotKeeper
from infra.local.model.slots import SlotTable

BATCH_TOKENS: Final = 64
_LACKS: Final = (
    "cache_salt: tenants are kept apart by a salt at the head of the prompt, which costs about ten tokens",
    "prefix blocks shared between running calls: a state is copied from slot to slot instead",
    "tools in the chat template: refused when the model's template drops them",
)


@dataclass(frozen=True, slots=True)
class EngineSize:
    """How large the engine is made.

    Attributes:
        slots: Calls that run at a time.
        context: Tokens of one call, prompt and answer.
        threads: Threads that compute.
        parked_bytes: Most bytes of slot files.
    """

    slots: int
    context: int
    threads: int
    parked_bytes: int


@dataclass(frozen=True, slots=True)
class RunningEngine:
    """A loaded engine. It lives as long as `server` is referred to."""

    server: object
    url: str


class _Capabilities(BaseModel):
    supports_tools: bool = False


class _Props(BaseModel):
    chat_template_caps: _Capabilities = _Capabilities()


def load_engine(gguf: Path, size: EngineSize, *, folder: Path) -> RunningEngine:
    """Load the weights and start llama.cpp's listener on a free port of 127.0.0.1. Blocks.

    Args:
        gguf: The weights.
        size: Slots, context and threads.
        folder: Where slot files go.

    Raises:
        StartError: llama.cpp does not take the file.
    """
    os.environ["OMP_WAIT_POLICY"] = "passive"
    os.environ["GOMP_SPINCOUNT"] = "0"
    import xllamacpp  # noqa: PLC0415  OpenMP reads the two variables when the library is loaded

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.model_alias = {gguf.stem}
    params.n_parallel = size.slots
    params.n_ctx = size.context * size.slots
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = size.threads
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.kv_unified = False
    params.cache_ram_mib = 0
    params.slot_save_path = f"{folder}{os.sep}"
    params.sse_ping_interval = -1
    params.cors_origins = ""
    params.ui = False
    params.verbosity = 0
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise StartError(f"llama.cpp cannot load the model {gguf}") from error
    return RunningEngine(server, server.listening_address)


async def connect_engine(
    client: httpx.AsyncClient, running: RunningEngine, *, model: str, size: EngineSize, folder: Path
) -> LlamaBackend:
    """Return the backend of a loaded engine, with what it shares between salts measured."""
    props = _Props.model_validate_json((await client.get("/props")).content)
    keeper = SlotKeeper(SlotTable(size.slots, size.parked_bytes), client, folder=folder)

    def backend(shared_tokens: int | None) -> LlamaBackend:
        facts = EngineFacts(
            engine_id=secrets.token_hex(8),
            url=running.url,
            model=model,
            context=size.context,
            slots=size.slots,
            cache_salt="text",
            template_shared_tokens=shared_tokens,
            lacks=_LACKS,
        )
        takes_tools = props.chat_template_caps.supports_tools
        return LlamaBackend(client, facts, keeper=keeper, takes_tools=takes_tools, running=running)

    return backend(await backend(None).shared_by_salts())
