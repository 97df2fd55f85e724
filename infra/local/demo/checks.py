"""What must hold in a run, each with what was seen. The demo's exit code is theirs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from infra.local.demo.engine_relay import EngineCall
from infra.local.demo.freshness import Freshness
from infra.local.demo.outage import Outage
from infra.local.demo.pairs import Pair
from infra.local.demo.sizing import TOLERANCE, SizedTenant, UnreachableSizeError
from preheat.prefill import HONOURED_SHARE, honoured

# A salted prompt may share the template's first tokens, and by chance one or two more with another salt.
COLD_SLACK_TOKENS: Final = 2


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold: its name, whether it did, and what was seen."""

    name: str
    held: bool
    seen: str


def size_check(sized: Sequence[SizedTenant], out_of_reach: Sequence[UnreachableSizeError], *, may_miss: bool) -> Check:
    """Check that every size asked for was reached. `may_miss`: the data is the caller's and may be too little."""
    reached = ", ".join(f"{one.tokens:,} for {one.wanted_tokens:,}" for one in sized)
    missed = ", ".join(f"{one.wanted_tokens:,}" for one in out_of_reach)
    return Check(
        f"every prefix has the size asked for, within {TOLERANCE:.0%}",
        held=may_miss or not out_of_reach,
        seen=f"{reached} tokens" + (f"; out of reach: {missed}" if missed else ""),
    )


def pair_checks(pairs: Sequence[Pair], *, template_tokens: int) -> tuple[Check, ...]:
    """Return what must hold for cold and warm answers.

    Args:
        pairs: All pairs of the run, at least one.
        template_tokens: What two prompts that share no text share all the same: the chat template's first tokens.
    """
    warm = [pair.warm.block for pair in pairs]
    not_warm = [one for one in warm if one.state != "warm"]
    shares = [pair.warm.block.reused_tokens / pair.warmed_tokens if pair.warmed_tokens else 0.0 for pair in pairs]
    cold_states = sorted({pair.cold.block.state for pair in pairs})
    most_cold = max(pair.cold.block.reused_tokens for pair in pairs)
    slower = [pair for pair in pairs if pair.ratio <= 1]
    return (
        Check(
            "every warmed session answers warm",
            held=not not_warm,
            seen=f"{len(warm) - len(not_warm)} of {len(warm)}" + (f", {_why(not_warm[0].reasons)}" if not_warm else ""),
        ),
        Check(
            f"the engine reuses at least {HONOURED_SHARE:.0%} of what was warmed",
            held=all(honoured(pair.warmed_tokens, pair.warm.block.reused_tokens) for pair in pairs),
            seen=f"{min(shares):.1%} at the least",
        ),
        Check("every twin answers cold", held=cold_states == ["cold"], seen=", ".join(cold_states)),
        Check(
            "the engine reuses nothing of ours on the cold side",
            held=most_cold <= template_tokens + COLD_SLACK_TOKENS,
            seen=f"{most_cold} tokens at the most, {template_tokens} are the template's",
        ),
        Check(
            "the first token comes sooner on every warm side",
            held=not slower,
            seen=f"{min(pair.ratio for pair in pairs):.1f} times sooner at the least",
        ),
    )


def bytes_check(calls: Sequence[EngineCall]) -> Check:
    """Check the engine's requests of one pair: cold and warm ask the same bytes, and begin with the bytes warmed.

    Args:
        calls: One warm-up and the two answers, in any order. Only the salts, the tenants' own, may differ.
    """
    name = "cold and warm ask the engine the same bytes, which begin with the bytes warmed"
    warmed = [call for call in calls if call.warm_up]
    asked = [call for call in calls if not call.warm_up]
    if len(warmed) != 1 or len(asked) != 2:  # noqa: PLR2004 - a pair
        return Check(name, held=False, seen=f"{len(warmed)} warm-ups and {len(asked)} answers reached the engine")
    same = _without_salt(asked[0].body) == _without_salt(asked[1].body)
    prefix = all(call.body.startswith(warmed[0].messages) for call in asked)
    size = f"{len(warmed[0].messages):,} bytes warmed"
    return Check(name, held=same and prefix, seen=size if same and prefix else f"same: {same}, prefix: {prefix}")


def _without_salt(body: bytes) -> bytes:
    salt = json.loads(body)["cache_salt"]
    return body.replace(json.dumps(salt).encode(), b'""')


def freshness_checks(seen: Freshness) -> tuple[Check, ...]:
    """Return what must hold when a preference changed after the warm-up."""
    block = seen.answer.block
    return (
        Check(
            "a preference changed after the warm-up is in the prompt, and overrules the old value",
            held=bool(seen.line) and (seen.old_value is None or "ignore the earlier value" in seen.line),
            seen=seen.line or f"{seen.key} = {seen.new_value} is not in the prompt",
        ),
        Check(
            "the answer says that it stands at the new versions",
            held=block.state in {"warm", "stale-rebuilt"} and block.stamp != seen.stamp_before,
            seen=f"{block.state}, {seen.stamp_before} -> {block.stamp}",
        ),
        Check(
            "and the warm prefix survived the change",
            held=honoured(seen.warmed_tokens, block.reused_tokens),
            seen=f"{block.reused_tokens} of {seen.warmed_tokens} tokens reused",
        ),
    )


def outage_checks(seen: Outage) -> tuple[Check, ...]:
    """Return what must hold around an outage of Valkey."""
    during, after = seen.during.block, seen.after.block
    return (
        Check(
            "Valkey killed: the answer still comes, and says why it is degraded",
            held=during.state == "degraded" and "valkey_unavailable" in during.reasons,
            seen=f"{during.state} ({_why(during.reasons)}), first token after {seen.during.ttft_ms:,.0f} ms",
        ),
        Check(
            "Valkey back: warm again",
            held=after.state == "warm",
            seen=f"{after.state} {seen.recovered_s:.1f} s later"
            + (f" ({_why(after.reasons)})" if after.reasons else ""),
        ),
    )


def _why(reasons: Sequence[str]) -> str:
    return ", ".join(reasons) or "no reason given"
