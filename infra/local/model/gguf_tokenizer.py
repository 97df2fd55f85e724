"""A `tokenizer.json` made of what a GGUF file says of its tokenizer, so that text is counted as llama.cpp counts it.

Made for byte-pair vocabularies whose text is split as SmolLM's is: digits one by one, then as GPT-2 does. Others are
refused: a tokenizer that is nearly right is worse than a careful ceiling.
"""

import json
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from infra.local.model.errors import StartError
from infra.local.model.gguf_metadata import read_metadata

_CONTROL: Final = 3
_BYTE_LEVEL: Final = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
# What llama.cpp does under the name "smollm" (`LLAMA_VOCAB_PRE_TYPE_SMOLLM`), in Hugging Face's words.
_SPLIT: Final = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, _BYTE_LEVEL]}


class _Vocabulary(BaseModel):
    """The pairs of a GGUF file that make its tokenizer. `kinds` says of each token whether it is text or a mark."""

    algorithm: Annotated[Literal["gpt2"], Field(alias="tokenizer.ggml.model")]
    split: Annotated[Literal["smollm"], Field(alias="tokenizer.ggml.pre")]
    tokens: Annotated[tuple[str, ...], Field(alias="tokenizer.ggml.tokens")]
    kinds: Annotated[tuple[Literal[1, 3], ...], Field(alias="tokenizer.ggml.token_type")]
    merges: Annotated[tuple[str, ...], Field(alias="tokenizer.ggml.merges")]


def tokenizer_json(gguf: Path) -> bytes:
    """Return the tokenizer of a GGUF file as Hugging Face's `tokenizers` reads it; equal files give equal bytes.

    Raises:
        StartError: the file cannot be read, or its tokenizer is of another kind.
    """
    try:
        read = _Vocabulary.model_validate(read_metadata(gguf))
        pairs = enumerate(zip(read.tokens, read.kinds, strict=True))
        marks = [_mark(number, token) for number, (token, kind) in pairs if kind == _CONTROL]
    except ValueError as error:  # of pydantic, and of lists that are not as long as each other
        raise StartError(f"the tokenizer of {gguf} is of another kind than SmolLM's") from error
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": marks,
        "normalizer": None,
        "pre_tokenizer": _SPLIT,
        "post_processor": None,
        "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: number for number, token in enumerate(read.tokens)},
            "merges": [merge.split(" ", 1) for merge in read.merges],
        },
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def write_tokenizer(gguf: Path, path: Path) -> None:
    """Write the tokenizer of a GGUF file, 1.5 MB; whoever reads it at the same time finds the old one or the new one.

    Raises:
        StartError: the file cannot be read, or its tokenizer is of another kind.
    """
    content = tokenizer_json(gguf)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(content)
    partial.replace(path)


def _mark(number: int, token: str) -> dict[str, object]:
    """Return a token of the chat template, which text cannot spell."""
    alone = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": token, **alone}
