"""Exact counts: what is in the file decides, and a file that cannot be used is said in one line."""

from pathlib import Path

import pytest

from preheat import names
from preheat.adapters.tokenizer_counter import TokenizerCounter
from preheat.errors import SettingsError
from tests.preheat.tiny_tokenizer import MARK, tiny_tokenizer, write_tiny_tokenizer


@pytest.fixture
def counter(tmp_path: Path) -> TokenizerCounter:
    return TokenizerCounter(write_tiny_tokenizer(tmp_path))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello", 1), ("hello hello", 3), ("helo", 3), ("日", 3), ("🙂", 4)],
)
def test_count__is_the_tokenizers_own(counter: TokenizerCounter, text: str, tokens: int) -> None:
    assert counter.count(text) == tokens


def test_count__a_mark_of_the_chat_template_counts_as_the_text_it_is(counter: TokenizerCounter) -> None:
    assert counter.count(MARK) == len(MARK)


def test_count__a_lone_surrogate_counts_as_what_stands_in_for_it(counter: TokenizerCounter) -> None:
    assert counter.count("hello\ud800") == 1 + len("\ufffd".encode())


def test_count__a_file_that_cuts_and_pads_for_training_does_neither(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64)
    (tmp_path / "trained.json").write_text(tokenizer.to_str(), encoding="utf-8")

    counted = [TokenizerCounter(tmp_path / "trained.json").count(text) for text in ("hello", "abcdefgh")]

    assert counted == [1, 8]


def test_name__is_that_of_the_files_content(counter: TokenizerCounter, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.json"
    moved.write_bytes((tmp_path / "tokenizer.json").read_bytes())
    other = tmp_path / "other.json"
    other.write_bytes(moved.read_bytes() + b"\n")

    assert TokenizerCounter(moved).name == counter.name
    assert TokenizerCounter(other).name != counter.name


def test_counter__reads_nothing_before_it_is_used(tmp_path: Path) -> None:
    counter = TokenizerCounter(tmp_path / "tokenizer.json")

    write_tiny_tokenizer(tmp_path)

    assert counter.count("hello") == 1


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff\xfe", b'{"model": {"type": "BPE"}}'])
def test_counter__a_file_that_cannot_be_used_is_a_wrong_setting_in_one_line(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "secret.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError, match=names.ENV_TOKENIZER_FILE) as caught:
        TokenizerCounter(path).count("hello")

    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_name__of_a_file_that_is_not_there_is_a_wrong_setting(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        _ = TokenizerCounter(tmp_path / "none.json").name


def test_count__again_after_many_others_is_the_same(counter: TokenizerCounter) -> None:
    texts = [f"hello {number}" for number in range(10_000)]

    first, again = ([counter.count(text) for text in texts] for _ in range(2))

    assert first == again == [2 + len(str(number)) for number in range(10_000)]
