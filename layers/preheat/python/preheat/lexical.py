"""Lexical ranking: words of any script and the BM25 score of documents for a query."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

# Signs that are written onto a letter and do not end a word: accents, points, Indic and South-East Asian vowel signs.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u094f\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03"
    "\u0a3c-\u0a4d\u0abc-\u0acd\u0b3c-\u0b57\u0bbe-\u0bcd\u0c3e-\u0c56\u0cbc-\u0ccd\u0d3b-\u0d4d\u0dca-\u0ddf\u0e31"
    "\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3\u200c\u200d\u3099\u309a"
)
# Scripts that put no space between words, or none between a word and its particles: Thai, Lao, Burmese, Khmer, kana,
# ideographs, Hangul.
_UNSPACED: Final = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ec0-\u0ec6\u1000-\u102a\u1780-\u17b3\u3041-\u3096"
    "\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_ASCII_WORDS: Final = re.compile(r"[^\W_]+")
_WORDS: Final = re.compile(f"[^\\W_](?:[^\\W_]|[{_MARKS}])*")
_UNSPACED_RUNS: Final = re.compile(f"([{_UNSPACED}][{_UNSPACED}{_MARKS}]*)")
_LETTERS: Final = re.compile(f".[{_MARKS}]*")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STEM_OVER: Final = 3
# Words that say how something is asked, not what about; each as `words` gives it. English only: in other languages the
# rarity in BM25 has to do, which it does but for the words of questions.
_FUNCTION_WORDS: Final = frozenset(
    "a about am an and any are as at be been but by can could d did do doe for from had has have he hello her hi him"  # noqa: SIM905  # a list of 100 lines reads worse
    " his how i if in into is it its just ll m me my no not of oh ok okay on or our please re s she so sure t than"
    " thank that the their them then there these they thi this those to us ve was we were what when where which who"
    " whom whose why will with would ye yes you your".split()
)
_PLEASANTRIES: Final = frozenset(
    "again all alright and bye cool fine good great ha haha hello hey hi i it lol lot love m much nice no oh ok okay"  # noqa: SIM905  # see above
    " perfect please really right s see so sure thank that the very well wonderful wow yeah ye yep yes you".split()
)
# The usual BM25 constants: how fast repeats saturate, and how much long documents are held back.
_K1: Final = 1.2
_B: Final = 0.75


def words(text: str) -> list[str]:
    """Return the text's words in lower case, `camelCase` and `snake_case` names taken apart, plurals cut.

    Where a script puts no spaces, every two neighbouring letters are a word: a longer word shares its pairs with the
    texts that hold it.
    """
    if text.isascii():
        return [_singular(word) for word in _ASCII_WORDS.findall(_CAMEL.sub(" ", text).lower())]
    found: list[str] = []
    for word in _WORDS.findall(_CAMEL.sub(" ", unicodedata.normalize("NFKC", text)).lower()):
        spaced = True
        for part in _UNSPACED_RUNS.split(word):
            if part:
                found += [_singular(part)] if spaced else _pairs(part)
            spaced = not spaced
    return found


def _singular(word: str) -> str:
    return word[:-1] if len(word) > _STEM_OVER and word.endswith("s") else word


def _pairs(run: str) -> list[str]:
    letters = _LETTERS.findall(run)
    return [first + second for first, second in pairwise(letters)] or letters


def content_words(text: str) -> list[str]:
    """Return the words that say what the text is about, English ones cut to their stem; none for "and then?"."""
    return [_stem(word) for word in words(text) if word not in _FUNCTION_WORDS]


def is_small_talk(text: str) -> bool:
    """Tell whether the text is blank or only thanks, agrees or greets, in English: there is nothing to look for."""
    return _PLEASANTRIES.issuperset(words(text))


def _stem(word: str) -> str:
    """Cut an English word's endings, so that paint, paints, painted and painting are one."""
    if len(word) <= _STEM_OVER or not word.isascii():
        return word
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_OVER:
            word = word.removesuffix(ending)
            break
    if len(word) > _STEM_OVER and word.endswith(("e", "y")):
        word = word[:-1] + ("i" if word.endswith("y") else "")
    return word[:-1] if len(word) > _STEM_OVER and word[-1] == word[-2] else word


@dataclass(frozen=True, slots=True)
class Postings:
    """Which documents hold which word, for BM25.

    Attributes:
        entries: By word: the documents that hold it, ascending, and how often each does.
        held_back: Per document, shape (n,): its length's part of the BM25 denominator.
    """

    entries: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]]
    held_back: NDArray[np.float64]

    def bm25(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return one score per document, shape (n,), higher is closer, 0 where no word is shared."""
        scores = np.zeros(len(self.held_back))
        for word in sorted(set(query)):
            if word not in self.entries:
                continue
            documents, frequency = self.entries[word]
            rarity = math.log(1 + (len(scores) - len(documents) + 0.5) / (len(documents) + 0.5))
            scores[documents] += rarity * frequency * (_K1 + 1) / (frequency + self.held_back[documents])
        return scores


def postings(documents: Sequence[Sequence[str]]) -> Postings:
    """Return the postings of documents given as their words."""
    found: dict[str, tuple[list[int], list[int]]] = {}
    for number, document in enumerate(documents):
        for word, frequency in Counter(document).items():
            numbers, frequencies = found.setdefault(word, ([], []))
            numbers.append(number)
            frequencies.append(frequency)
    lengths = np.array([len(document) for document in documents], dtype=float)
    mean_length = float(lengths.mean()) if documents else 0.0
    return Postings(
        entries={
            word: (np.array(numbers), np.array(frequencies, dtype=float))
            for word, (numbers, frequencies) in found.items()
        },
        held_back=_K1 * (1 - _B + _B * lengths / (mean_length or 1.0)),
    )


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return one score per document, shape (len(documents),), higher is closer, 0 where no word is shared."""
    return postings(documents).bm25(query)


def z_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values centred and scaled to unit spread; all zero when there is no spread."""
    spread = float(values.std()) if values.size else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
