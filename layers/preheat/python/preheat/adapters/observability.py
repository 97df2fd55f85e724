"""Logs and metrics by Powertools: constant lower-case messages with fields, metrics of few dimensions, no user text."""

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from preheat import names
from preheat.report import AnswerReport, WarmReport

logger = Logger()


def record_warm_up(report: WarmReport) -> None:
    """Log and count one warm-up by its outcome."""
    logger.info(
        "warm-up done",
        session=report.session,
        stamp=report.stamp,
        outcome=report.outcome,
        detail=report.detail,
        bundle_tokens=report.bundle_tokens,
        warmed_tokens=report.warmed_tokens,
        reused_tokens=report.reused_tokens,
        prefill_ms=round(report.prefill_ms, 1),
        missing=[one.name for one in report.missing],
    )
    metrics = _metrics(names.DIMENSION_OUTCOME, report.outcome)
    metrics.add_metric(names.METRIC_WARM_UPS, MetricUnit.Count, 1)
    metrics.add_metric(names.METRIC_WARMED_TOKENS, MetricUnit.Count, report.warmed_tokens)
    metrics.flush_metrics()


def record_answer(report: AnswerReport, *, session: str) -> None:
    """Log and count one answer by its state."""
    logger.info(
        "answer done",
        session=session,
        stamp=report.stamp,
        state=report.state,
        reasons=report.reasons,
        ttft_ms=round(report.ttft_ms, 1),
        warmed_tokens=report.warmed_tokens,
        reused_tokens=report.reused_tokens,
    )
    metrics = _metrics(names.DIMENSION_STATE, report.state)
    metrics.add_metric(names.METRIC_ANSWERS, MetricUnit.Count, 1)
    metrics.add_metric(names.METRIC_TTFT_MS, MetricUnit.Milliseconds, report.ttft_ms)
    metrics.add_metric(names.METRIC_REUSED_TOKENS, MetricUnit.Count, report.reused_tokens)
    metrics.flush_metrics()


def record_rejected(*, code: str, reason: str, message_id: str) -> None:
    """Log and count one record that was set aside."""
    logger.warning("record rejected", code=code, reason=reason, message_id=message_id)
    metrics = _metrics("code", code)
    metrics.add_metric(names.METRIC_REJECTED, MetricUnit.Count, 1)
    metrics.flush_metrics()


def _metrics(dimension: str, value: str) -> AmazonCloudWatchEMFProvider:
    """Return a collector of its own: requests that run side by side must not share one."""
    metrics = AmazonCloudWatchEMFProvider(namespace=names.METRIC_NAMESPACE, metric_set={}, dimension_set={})
    metrics.add_dimension(dimension, value)
    return metrics
