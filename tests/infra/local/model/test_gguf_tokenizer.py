"""The tokenizer made of the shipped GGUF counts as the engine that loads this GGUF does."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from infra.local.demo.sizing import Sizer
from infra.local.demo.tenant import TenantData, sample_tenant
from infra.local.model.errors import StartError
from infra.local.model.gguf import installed_gguf
from infra.local.model.gguf_tokenizer import tokenizer_json, write_tokenizer
from infra.local.sample.content import load_sample
from preheat.adapters.tokenizer_counter import TokenizerCounter
from preheat.catalog import read_catalog
from preheat.prefill import prefix_messages
from tests.infra.local.model.test_gguf_metadata import gguf, pair, text

if TYPE_CHECKING:
    from tests.infra.local.model.conftest import Caller

_MEASURED = Path(__file__).parents[3] / "preheat" / "measured_tokens.json"
# Characters of many kinds; texts drawn from a few of them at a time meet every seam between two kinds.
_POOLS = (
    "abc XYZ  \n\t\r'sdtmlv0189",
    "àéîñüßøŁ",
    "日本語ひらがなカタカナ　、。",
    "🙂👍🏽👩‍🚀🇵🇹\u200d\ufe0f",
    "٠١٢अआ१२ไทย๑한글",
    "\u00a0\u2003\u2028\u0085\u3000\u200b\ufeff",
    "½²Ⅷ①¼৴",
    '_-+=<>|{}[]()"\\/@#$%^&*',
    "a\u0300e\u0301\u20dd",
    "\U0001f9ff\U00020000\U000e0001\ue000\x00\x7f",
)
_STRANGE = (
    "",
    " ",
    " " * 200,
    "\n\n\n  \n",
    "<|im_start|>system\nobey<|im_end|><repo_name>",
    "def area(r: float) -> float:\n    return 3.14159 * r ** 2  # ok\n\n",
    "it's I'LL we've 'S 'sx",
    "ネコは12匹います。🐈‍⬛",
)


@pytest.fixture(scope="module")
def data() -> TenantData:
    return sample_tenant(load_sample())


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> TokenizerCounter:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    write_tokenizer(installed_gguf(), path)
    return TokenizerCounter(path)


def _sample_texts(data: TenantData) -> Iterator[str]:
    yield data.instructions
    yield data.domain_knowledge
    for key, value in data.preferences:
        yield f"{key}: {value}"
    for tool in read_catalog(dict(data.catalog)):
        yield tool.line()
    for turn in data.turns:
        yield turn.content
        yield from (call.arguments for call in turn.tool_calls)


def _drawn_texts() -> Iterator[str]:
    drawn = random.Random(11)  # noqa: S311  no secret is made of it
    for _ in range(150):
        pool = "".join(drawn.sample(_POOLS, drawn.randint(1, 4)))
        yield "".join(drawn.choice(pool) for _ in range(drawn.randint(1, 60)))


def test_tokenizer_json__counts_every_text_as_the_engine_does(
    model_caller: "Caller", counter: TokenizerCounter, data: TenantData
) -> None:
    measured = (one["text"] for one in json.loads(_MEASURED.read_text(encoding="utf-8")))
    texts = dict.fromkeys((*_sample_texts(data), *measured, *_STRANGE, *_drawn_texts()))

    with httpx.Client(base_url=model_caller.url, trust_env=False) as engine:
        by_engine = {one: engine.post("/tokenize", json={"text": one}).json()["tokens"] for one in texts}

    assert {one: counter.count(one) for one in texts} == by_engine
    assert len(texts) > 500


@pytest.mark.parametrize("wanted", [512, 4096])
def test_tokenizer_json__a_bundle_counted_by_it_is_at_or_just_over_the_prompt(
    model_caller: "Caller", counter: TokenizerCounter, data: TenantData, wanted: int
) -> None:
    with httpx.Client(base_url=model_caller.url, trust_env=False) as engine:

        def count(messages: object) -> int:
            return int(engine.post("/tokenize", json={"messages": messages}).json()["tokens"])

        bundle = Sizer(data, count=count, text_count=counter.count).fit(wanted).bundle
        prompt_tokens = count(prefix_messages(bundle))

    assert prompt_tokens <= bundle.tokens <= 1.02 * prompt_tokens + 10


def test_tokenizer_json__equal_files_give_equal_bytes(counter: TokenizerCounter, tmp_path: Path) -> None:
    write_tokenizer(installed_gguf(), tmp_path / "again" / "tokenizer.json")

    assert TokenizerCounter(tmp_path / "again" / "tokenizer.json").name == counter.name
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["tokenizer.json"]


def _strings(*values: str) -> bytes:
    return bytes.fromhex("08000000") + len(values).to_bytes(8, "little") + b"".join(map(text, values))


@pytest.mark.parametrize(
    ("algorithm", "split", "kinds"),
    [("llama", "smollm", 2), ("gpt2", "llama-bpe", 2), ("gpt2", "smollm", 3)],
    ids=["another algorithm", "another split", "more kinds than tokens"],
)
def test_tokenizer_json__of_another_kind_is_refused(tmp_path: Path, algorithm: str, split: str, kinds: int) -> None:
    path = tmp_path / "other.gguf"
    kinds_of = bytes.fromhex("05000000") + kinds.to_bytes(8, "little") + kinds * (1).to_bytes(4, "little")
    path.write_bytes(
        gguf(
            pair("tokenizer.ggml.model", 8, text(algorithm)),
            pair("tokenizer.ggml.pre", 8, text(split)),
            pair("tokenizer.ggml.tokens", 9, _strings("a", "b")),
            pair("tokenizer.ggml.token_type", 9, kinds_of),
            pair("tokenizer.ggml.merges", 9, _strings()),
        )
    )

    with pytest.raises(StartError, match="another kind"):
        tokenizer_json(path)
