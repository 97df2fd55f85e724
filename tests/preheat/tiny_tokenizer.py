"""A tokenizer of 260 entries: every byte, "hello" by its merges, and one mark of a chat template."""

from pathlib import Path

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

MARK = "<|im_end|>"


def tiny_tokenizer() -> Tokenizer:
    """Return the tokenizer."""
    merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o")]
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    tokenizer = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens([AddedToken(MARK, special=True)])
    return tokenizer


def write_tiny_tokenizer(folder: Path) -> Path:
    """Write its file and return the path."""
    path = folder / "tokenizer.json"
    path.write_text(tiny_tokenizer().to_str(), encoding="utf-8")
    return path
