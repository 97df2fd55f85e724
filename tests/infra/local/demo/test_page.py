"""The report as one page: whole, self-contained, and safe whatever the data says."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from infra.local.demo.checks import Check
from infra.local.demo.page import page
from infra.local.demo.results import DemoResult
from tests.infra.local.demo.runs import make_answer, make_freshness, make_outage, make_pair, make_result

EVIL = '<script>alert("x")</script>&'
VOID = {"meta", "br"}


class Balanced(HTMLParser):
    """Fails when tags do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag that closes itself."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page__is_well_formed() -> None:
    parser = Balanced()
    parser.feed(page(make_result()))
    assert parser.open == []


def test_page__needs_nothing_from_elsewhere() -> None:
    text = page(make_result())
    assert not re.search(r"(src|href)=|@import|url\(|https?://", text)


def test_page__pictures_are_well_formed() -> None:
    pictures = re.findall(r"<svg.*?</svg>", page(make_result()), re.DOTALL)
    assert len(pictures) == 4
    for picture in pictures:
        ET.fromstring(picture)  # noqa: S314 - our own text


def test_page__serves_light_and_dark_wide_and_slim() -> None:
    text = page(make_result())
    assert "prefers-color-scheme:dark" in text
    assert "max-width: 560px" in text
    assert "width=device-width" in text


def test_page__headline_is_that_of_the_largest_size() -> None:
    assert "<em>45 times</em> sooner" in page(make_result(make_pair(512), make_pair(2048, cold_ms=9000.0)))


def evil_results() -> list[DemoResult]:
    base = make_result()
    evil = make_answer(EVIL, stamp=EVIL, reasons=(EVIL,))
    pair = make_pair()
    sections = (pair.sections[0].model_copy(update={"name": EVIL, "why": EVIL}),)
    return [
        replace(base, checks=(Check(EVIL, held=False, seen=EVIL),)),
        replace(base, freshness=replace(make_freshness(), key=EVIL, stamp_before=EVIL, answer=evil)),
        replace(base, outage=replace(make_outage(), during=evil, after=evil)),
        replace(base, seed=EVIL, data=replace(base.data, source=EVIL)),
        replace(base, engine=base.engine.model_copy(update={"model": EVIL, "lacks": (EVIL,)})),
        replace(base, machine=replace(base.machine, system=EVIL, python=EVIL)),
        replace(base, pairs=(replace(pair, sections=sections),)),
    ]


@pytest.mark.parametrize("result", evil_results())
def test_page__escapes_every_text(result: DemoResult) -> None:
    text = page(result)
    assert "<script" not in text
    assert '"x")' not in text
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []


def test_page__says_what_failed() -> None:
    text = page(make_result(checks=(Check("good", held=True, seen=""), Check("bad", held=False, seen="0 of 1"))))
    assert "1 of 2 checks failed" in text
    assert "0 of 1" in text


def test_page__one_size_has_no_curve() -> None:
    assert "The longer the prefix" not in page(make_result(make_pair()))
