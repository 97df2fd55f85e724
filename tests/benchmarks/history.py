"""How much of the evidence does recall bring into a budget, how fast, and is a preference ever stale?

    python -m tests.benchmarks.history --train dir --test dir --out file.json

Data: `locomo.jsonl` and `pref_streams.jsonl` in each folder; nothing is drawn at random. The figures are those of the
shipped weights, which are fitted to no data. Beside them, in the same run: the newest turns, each signal alone, the two
signals without the rest, and the best weights that a search on the train folder finds. Exit code 1 when a must does not
hold; data that is not there is named as skipped.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from preheat.adapters.static_embedder import StaticEmbedder
from preheat.memory_index import MemoryIndex
from preheat.recall import TUNING, Tuning
from tests.benchmarks.locomo import (
    BUDGETS,
    Conversation,
    Measured,
    build_index,
    check_budget,
    facts_tokens,
    full_tokens,
    joined,
    load_conversations,
    measure,
    time_recall,
)
from tests.benchmarks.preference_streams import load_streams, replay

LEAST_SHARE: Final = {1_000: 0.84, 2_000: 0.90, 4_000: 0.95}
MOST_RECALL_MS: Final = 5.0
_TIMED_TURNS: Final = 700
_DIGITS: Final = 4
_PLAIN_WIDTH: Final = 120
_ONE_SIGNAL: Final = Tuning(near=0.0, told=0.0, second_look=0.0)
_BASELINES: Final[Mapping[str, tuple[Tuning, float]]] = {
    "recency": (Tuning(words=0.0, meaning=0.0, near=0.0, told=0.0, second_look=0.0, facts_share=0.0), 1.0),
    "bm25": (replace(_ONE_SIGNAL, meaning=0.0), 0.0),
    "embedding": (replace(_ONE_SIGNAL, words=0.0), 0.0),
    "bm25+embedding": (_ONE_SIGNAL, 0.0),
}
_CHOICES: Final[Mapping[str, Sequence[float]]] = {
    "meaning": (0.7, 1.0, 1.4),
    "near": (0.5, 0.75, 1.0),
    "told": (0.25, 0.5, 1.0),
    "second_look": (0.0, 0.5, 1.0),
    "facts_share": (0.4, 0.5, 0.6),
}

Histories = Sequence[tuple[Conversation, MemoryIndex]]


@dataclass(frozen=True, slots=True)
class Must:
    """Something that has to hold, and whether it does."""

    name: str
    held: bool


def main() -> None:
    """Run the benchmark of the command line."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.history", description=main.__doc__)
    parser.add_argument("--train", type=Path, required=True, help="folder whose data the search for weights may see")
    parser.add_argument("--test", type=Path, required=True, help="folder that is measured on")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args()
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PLAIN_WIDTH)
    result, musts = run(options.train, options.test, console)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    console.print(f"\n{options.out}", soft_wrap=True)
    failed = [must.name for must in musts if not must.held]
    if failed:
        sys.exit(f"bench-history: does not hold: {'; '.join(failed)}")


def run(train: Path, test: Path, console: Console) -> tuple[dict[str, object], list[Must]]:
    """Measure what there is data for; return the result as JSON and what had to hold."""
    result: dict[str, object] = {}
    skipped: dict[str, str] = {}
    musts: list[Must] = []
    if (test / "locomo.jsonl").is_file():
        found, held = _evidence(train, test, console)
        result |= found
        musts += held
    else:
        skipped["locomo"] = "no locomo.jsonl in the test folder"
    if (test / "pref_streams.jsonl").is_file():
        replayed = replay(load_streams(test / "pref_streams.jsonl"))
        result["pref_streams"] = asdict(replayed)
        musts.append(Must("pref_streams: exact at every start", replayed.exact == replayed.starts > 0))
        console.print(f"\npreference streams: exact at {replayed.exact} of {replayed.starts} session starts")
    else:
        skipped["pref_streams"] = "no pref_streams.jsonl in the test folder"
    for what, why in skipped.items():
        console.print(f"skipped {what}: {why}")
    return result | ({"skipped": skipped} if skipped else {}), musts


def _evidence(train: Path, test: Path, console: Console) -> tuple[dict[str, object], list[Must]]:
    embedder = StaticEmbedder()
    histories = _histories(test, embedder)
    ours = _measured(histories, embedder)
    rows = {"ours": ours}
    rows |= {
        name: _measured(histories, embedder, tuning=tuning, recency=recency)
        for name, (tuning, recency) in _BASELINES.items()
    }
    tuned, searched = _searched(train, test, embedder)
    if tuned is not None:
        rows["ours, weights searched on train"] = _measured(histories, embedder, tuning=tuned)
    full = float(np.mean([full_tokens(index) for _, index in histories]))
    for budget in BUDGETS:
        check_budget(histories, embedder, max_tokens=budget)
    timed = joined([conversation for conversation, _ in histories], at_least_turns=_TIMED_TURNS)
    index = build_index(timed, embedder)
    times_ms = [one for budget in BUDGETS for one in time_recall(timed, index, embedder, max_tokens=budget)]
    recall_ms = {"p50": _rounded(np.percentile(times_ms, 50)), "p99": _rounded(np.percentile(times_ms, 99))}
    _show(rows, console)
    console.print(
        f"recall per message, embedding and rendering included, at {len(timed.turns)} turns and {len(timed.facts)}"
        f" facts: p50 {recall_ms['p50']:.2f} ms, p99 {recall_ms['p99']:.2f} ms; weights: {searched}"
    )
    result: dict[str, object] = {
        "locomo": _shares(ours),
        "locomo_of_all_evidence": {str(budget): _rounded(one.of_all_evidence) for budget, one in ours.items()},
        "locomo_by_category": {
            str(budget): {kind: _rounded(share) for kind, share in one.by_category.items()}
            for budget, one in ours.items()
        },
        "locomo_by_conversation": {history[0].name: _shares(_measured([history], embedder)) for history in histories},
        "reduction": {str(budget): _rounded(1 - one.tokens / full) for budget, one in ours.items()},
        "reduction_facts_alone": _rounded(1 - float(np.mean([facts_tokens(one) for _, one in histories])) / full),
        "recall_ms": recall_ms,
        "recall_turns": len(timed.turns),
        "recall_facts": len(timed.facts),
        "baselines": {name: _shares(rows[name]) for name in _BASELINES},
        "searched_on_train": {
            "weights": asdict(tuned) if tuned else None,
            "locomo": _shares(rows["ours, weights searched on train"]) if tuned else None,
            "how": searched,
        },
        "questions": sum(len(conversation.questions) for conversation, _ in histories),
        "embedder": embedder.model,
    }
    musts = [
        *(
            Must(f"locomo {budget}: at least {least}", ours[budget].share >= least)
            for budget, least in LEAST_SHARE.items()
        ),
        Must(f"recall p99 <= {MOST_RECALL_MS} ms", recall_ms["p99"] <= MOST_RECALL_MS),
    ]
    return result, musts


def _histories(folder: Path, embedder: StaticEmbedder) -> Histories:
    return [(one, build_index(one, embedder)) for one in load_conversations(folder / "locomo.jsonl")]


def _measured(
    histories: Histories, embedder: StaticEmbedder, *, tuning: Tuning = TUNING, recency: float = 0.0
) -> dict[int, Measured]:
    return {
        budget: measure(histories, embedder, max_tokens=budget, tuning=tuning, recency=recency) for budget in BUDGETS
    }


def _searched(train: Path, test: Path, embedder: StaticEmbedder) -> tuple[Tuning | None, str]:
    """Take each weight in turn and keep the value that does best on train; return the weights and how they came."""
    if not (train / "locomo.jsonl").is_file():
        return None, "not searched: no locomo.jsonl in the train folder"
    histories = _histories(train, embedder)
    best, score = TUNING, _mean_share(histories, embedder, TUNING)
    for name, values in _CHOICES.items():
        for value in values:
            tried = replace(best, **{name: value})
            if tried != best and (reached := _mean_share(histories, embedder, tried)) > score:
                best, score = tried, reached
    same = (train / "locomo.jsonl").read_bytes() == (test / "locomo.jsonl").read_bytes()
    return best, "searched on the very data they are measured on" if same else "searched on other conversations"


def _mean_share(histories: Histories, embedder: StaticEmbedder, tuning: Tuning) -> float:
    return float(np.mean([one.share for one in _measured(histories, embedder, tuning=tuning).values()]))


def _shares(measured: Mapping[int, Measured]) -> dict[str, float]:
    return {str(budget): _rounded(one.share) for budget, one in measured.items()}


def _rounded(value: float | np.floating) -> float:
    return round(float(value), _DIGITS)


def _show(rows: Mapping[str, Mapping[int, Measured]], console: Console) -> None:
    table = Table("share of evidence in the prompt", *(f"{budget:,} tokens" for budget in BUDGETS), box=box.SIMPLE_HEAD)
    for name, measured in rows.items():
        table.add_row(name, *(f"{measured[budget].share:.1%}" for budget in BUDGETS))
    for kind in rows["ours"][BUDGETS[0]].by_category:
        table.add_row(f"  ours, {kind}", *(f"{rows['ours'][budget].by_category[kind]:.1%}" for budget in BUDGETS))
    console.print(table)


if __name__ == "__main__":
    main()
