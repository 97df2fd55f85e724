"""Metrics of few dimensions and no id; what is logged holds numbers and names."""

import json
from typing import Any

import pytest

from preheat import names
from preheat.adapters.observability import record_answer, record_rejected, record_warm_up
from preheat.prefill import Usage
from preheat.report import AnswerReport, Phases, WarmReport

WARMED = WarmReport("s1", "a1.c1.f0.p0.h0", "warm", bundle_tokens=900, warmed_tokens=1000, prefill_ms=812.5)
ANSWERED = AnswerReport(
    state="warm",
    stamp="a1.c1.f0.p0.h0",
    ttft_ms=42.5,
    ms=Phases(),
    warmed_tokens=1000,
    reused_tokens=990,
    usage=Usage(1040, 990, 7),
    engine_id="replica-1",
    finish_reason="stop",
    hist_seq=3,
)


def _emitted(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]


def _directive(metric: dict[str, Any]) -> dict[str, Any]:
    (directive,) = metric["_aws"]["CloudWatchMetrics"]
    assert isinstance(directive, dict)
    return directive


def test_record_warm_up__counts_by_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    record_warm_up(WARMED)

    (metric,) = _emitted(capsys)
    assert _directive(metric)["Namespace"] == names.METRIC_NAMESPACE
    assert _directive(metric)["Dimensions"] == [[names.DIMENSION_OUTCOME]]
    assert metric[names.DIMENSION_OUTCOME] == "warm"
    assert (metric[names.METRIC_WARM_UPS], metric[names.METRIC_WARMED_TOKENS]) == ([1.0], [1000.0])


def test_record_answer__counts_by_state_with_its_pause(capsys: pytest.CaptureFixture[str]) -> None:
    record_answer(ANSWERED, session="s1")

    (metric,) = _emitted(capsys)
    assert _directive(metric)["Dimensions"] == [[names.DIMENSION_STATE]]
    assert metric[names.DIMENSION_STATE] == "warm"
    assert metric[names.METRIC_TTFT_MS] == [42.5]
    assert (metric[names.METRIC_ANSWERS], metric[names.METRIC_REUSED_TOKENS]) == ([1.0], [990.0])


def test_record_rejected__counts_by_code(capsys: pytest.CaptureFixture[str]) -> None:
    record_rejected(code="invalid_input", reason="tenant: Field required", message_id="m1")

    (metric,) = _emitted(capsys)
    assert (metric["code"], metric[names.METRIC_REJECTED]) == ("invalid_input", [1.0])


def test_metrics__of_one_record_do_not_leak_into_the_next_and_hold_no_id(capsys: pytest.CaptureFixture[str]) -> None:
    record_warm_up(WARMED)
    record_answer(ANSWERED, session="s1")
    record_warm_up(WARMED)

    emitted = _emitted(capsys)
    assert [one.get(names.METRIC_WARM_UPS) for one in emitted] == [[1.0], None, [1.0]]
    assert all(len(_directive(one)["Dimensions"][0]) == 1 for one in emitted)
    assert "s1" not in json.dumps(emitted)
