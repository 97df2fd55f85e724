"""Is the time to the first token, end to end, what the engine itself makes possible?

    python -m tests.benchmarks.ttft --out file.json --prefix 512,1024,2048 --pairs 3

Data: the sample tenant, cut to each size. Cold and warm end to end through the gateway; beside each side the engine's
own cold and warm on the same bytes. Then our own part of warm requests. Exit code 1 when a must does not hold.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from infra.local.demo.demonstration import new_seed, size_all, stage_on, text_count_of
from infra.local.demo.engine import Engine
from infra.local.demo.pairs import Side, rehearse, run_pair
from infra.local.demo.progress import Narrator
from infra.local.demo.sizing import SizedTenant, Sizer
from infra.local.demo.stage import Stage
from infra.local.demo.table import check_lines
from infra.local.demo.tenant import sample_tenant
from infra.local.demo.wording import duration, milliseconds
from infra.local.parts import StackOptions
from infra.local.sample.content import load_sample
from infra.local.stack import start_stack
from preheat.prefill import Message, prefix_messages
from tests.benchmarks.direct_engine import DirectAnswer, DirectEngine
from tests.benchmarks.own_part import REQUESTS, measure_own_part
from tests.benchmarks.ttft_result import MeasuredPair, TtftResult, measured

_STATE_DIR: Final = Path(__file__).parents[2] / ".build" / "bench-ttft"
_OWN_PART_TOKENS: Final = 512
_PLAIN_WIDTH: Final = 120


def main() -> None:
    """Run the benchmark of the command line."""
    parser = argparse.ArgumentParser(prog="tests.benchmarks.ttft", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--prefix", default="512,1024,2048", help="prefix sizes in tokens")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of each size")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="warm requests that our own part is measured on")
    parser.add_argument("--seed", default=new_seed(), help="names the tenants, and so the salts")
    options = parser.parse_args()
    sizes = [int(size) for size in options.prefix.split(",")]
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PLAIN_WIDTH)
    with Narrator(console) as narrator:
        result = run(sizes, options.pairs, requests=options.requests, seed=options.seed, narrator=narrator)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result.as_json(), indent=2) + "\n", encoding="utf-8")
    show(result, console)
    console.print(f"\n{options.out}", soft_wrap=True)
    failed = [must.name for must in result.musts if not must.held]
    if failed:
        sys.exit(f"bench-ttft: does not hold: {'; '.join(failed)}")


def run(sizes: list[int], pairs: int, *, requests: int, seed: str, narrator: Narrator) -> TtftResult:
    """Start a stack, measure on it, stop it."""
    narrator.begin("starting the stack")
    data = sample_tenant(load_sample())
    with start_stack(StackOptions(state_dir=_STATE_DIR)) as stack, Engine(stack.urls["model"]) as engine:
        view, stage, text_count = engine.view(), stage_on(stack, seed=seed), text_count_of(stack)
        narrator.expect(len(sizes) * pairs + 3)
        narrator.done(f"the stack is up after {narrator.elapsed_s:.1f} s; {view.model} answers; seed {seed}")
        sized, _ = size_all(data, sizes, count_tokens=engine.count, text_count=text_count, narrator=narrator)
        narrator.begin("a rehearsal, not measured")
        rehearse(stage, sized[0], tell=narrator.tell)
        with DirectEngine(view) as direct:
            done = [
                _measure(stage, one, number, direct=direct, narrator=narrator)
                for one in sized
                for number in range(pairs)
            ]
        narrator.begin("our own part")
        small = Sizer(data, count=engine.count, text_count=text_count, exchanges=0).fit(_OWN_PART_TOKENS)
        own = measure_own_part(stage, small, aws_url=stack.urls["aws"], tell=narrator.tell, requests=requests)
        narrator.done(f"our own part: {own.own.p50_ms:.1f} ms, {own.own.p99_ms:.1f} ms at p99")
    return TtftResult(
        seed=seed,
        model=view.model,
        template_tokens=view.template_tokens,
        prompt_gap_tokens=max(gap for _, gap in done),
        pairs=tuple(pair for pair, _ in done),
        own=own,
    )


def _measure(
    stage: Stage, sized: SizedTenant, number: int, *, direct: DirectEngine, narrator: Narrator
) -> tuple[MeasuredPair, int]:
    """Measure one pair, each side followed by the same side on the engine; return how far their prompts are apart."""
    narrator.begin(f"{sized.tokens:,} tokens, pair {number + 1}")
    prefix = prefix_messages(sized.bundle)
    asked: list[Message] = [*prefix, {"role": "user", "content": sized.data.question(number)}]
    engine: dict[Side, DirectAnswer] = {}

    def alone(side: Side) -> None:
        narrator.tell(f"the engine alone, {side}")
        most = stage.answer_tokens
        engine[side] = (
            direct.cold(asked, max_tokens=most) if side == "cold" else direct.warm(prefix, asked, max_tokens=most)
        )

    pair = run_pair(stage, sized, number, tell=narrator.tell, after=alone)
    one = measured(pair, engine_cold=engine["cold"], engine_warm=engine["warm"])
    narrator.done(
        f"{pair.warmed_tokens:>5,} tokens  cold {duration(one.cold_ms):>7}  warm {duration(one.warm_ms):>7}  "
        f"engine alone: cold {duration(one.engine_cold_ms):>7}  warm {duration(one.engine_warm_ms):>7}"
    )
    gaps = (
        abs(pair.cold.prompt_tokens - engine["cold"].prompt_tokens),
        abs(pair.warm.prompt_tokens - engine["warm"].prompt_tokens),
    )
    return one, max(gaps)


def show(result: TtftResult, console: Console) -> None:
    """Print the medians, our own part and the musts."""
    table = Table(title="Time to the first token, medians in ms", title_justify="left", box=box.SIMPLE_HEAD)
    for name in (
        "prefix",
        "cold",
        "warm",
        "ratio",
        "engine cold",
        "engine warm",
        "ratio",
        "of engine's",
        "reused/warmed",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for size, one in result.medians.items():
        table.add_row(
            f"{size:,}",
            milliseconds(one.cold_ms),
            milliseconds(one.warm_ms),
            f"{one.ratio:.1f}",
            milliseconds(one.engine_cold_ms),
            milliseconds(one.engine_warm_ms),
            f"{one.engine_ratio:.1f}",
            f"{one.of_engine_ratio:.0%}",
            f"{one.reused_tokens:,.0f}/{one.warmed_tokens:,.0f}",
        )
    console.print()
    console.print(table)
    own = result.own
    console.print(
        f"Our own part of {own.requests} warm requests: p50 {own.own.p50_ms:.2f} ms, p99 {own.own.p99_ms:.2f} ms.\n"
        f"The emulator's read, apart: p50 {own.emulator.p50_ms:.2f} ms, p99 {own.emulator.p99_ms:.2f} ms.\n",
        soft_wrap=True,
    )
    for line in check_lines(result.musts):
        console.print(line, soft_wrap=True)


if __name__ == "__main__":
    main()
