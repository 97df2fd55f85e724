"""The whole demonstration, from the stack's start to the checks: what is done, in order."""

import os
import platform
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

from infra.local.demo.checks import (
    Check,
    bytes_check,
    freshness_checks,
    outage_checks,
    pair_checks,
    size_check,
)
from infra.local.demo.engine import Engine
from infra.local.demo.engine_relay import EngineRelay
from infra.local.demo.freshness import change_after_warm_up
from infra.local.demo.outage import kill_and_restart
from infra.local.demo.pairs import Pair, rehearse, run_pair
from infra.local.demo.progress import Narrator
from infra.local.demo.results import DataFacts, DemoResult, Machine
from infra.local.demo.sizing import CountTokens, SizedTenant, Sizer, UnreachableSizeError
from infra.local.demo.stage import StackQueues, Stage
from infra.local.demo.tenant import TenantData
from infra.local.demo.wording import count, duration, times
from infra.local.parts import StackOptions
from infra.local.sample.content import SAMPLE_USER
from infra.local.stack import Stack, start_stack
from preheat import budget
from preheat.budget import TextCount
from preheat.canonical import as_data
from preheat.catalog import read_catalog
from preheat.runtime import Runtime
from preheat.settings import from_env

_RUNTIME_URL = "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What is asked of a run.

    Attributes:
        stack: Where it runs.
        data: What is loaded.
        source: Whose data that is, in a few words.
        own_data: It is the caller's: then a size that it cannot reach is no failure.
        sizes: Wanted prefix tokens.
        pairs: How many pairs of each size.
        seed: Goes into the tenants' names.
    """

    stack: StackOptions
    data: TenantData
    source: str
    own_data: bool
    sizes: tuple[int, ...]
    pairs: int
    seed: str


def run_demo(options: DemoOptions, narrator: Narrator) -> DemoResult:
    """Start a stack, run everything on it, stop it.

    Raises:
        PartFailedError: the stack did not start, or a part of it died.
        UnreachableSizeError: the data cannot make a prefix of any size asked for.
        CallFailedError: the API refused a call.
        WarmUpError: a session did not become warm.
        NotQuietError: background work did not end.
        httpx.HTTPError: the model server did not answer.
    """
    started_at = datetime.now(UTC).astimezone()
    narrator.begin("starting the stack")
    with ExitStack() as open_until_done:
        relay = open_until_done.enter_context(EngineRelay())
        through_relay = {**options.stack.environment, _RUNTIME_URL: relay.url}
        stack = open_until_done.enter_context(
            start_stack(
                replace(options.stack, environment=through_relay),
                on_ready=lambda part, seconds: narrator.tell(f"{part} is ready after {seconds:.1f} s"),
            )
        )
        relay.connect_to(urlsplit(stack.urls["model"]).port or 0)
        engine = open_until_done.enter_context(Engine(stack.urls["model"]))
        view = engine.view()
        stage = stage_on(stack, seed=options.seed)
        narrator.expect(len(options.sizes) * options.pairs + 4)
        narrator.done(f"the stack is up after {narrator.elapsed_s:.1f} s; {view.model} answers")

        sized, out_of_reach = size_all(
            options.data,
            options.sizes,
            count_tokens=engine.count,
            text_count=text_count_of(stack),
            narrator=narrator,
        )
        if not engine.counts_exactly:
            narrator.console.print("the engine does not count tokens; these are estimates", style="yellow")
        narrator.begin("a rehearsal, not measured")
        rehearse(stage, sized[0], tell=narrator.tell)
        pairs, checks = _run_pairs(stage, sized, options.pairs, relay=relay, narrator=narrator)

        middle = sized[min(1, len(sized) - 1)]
        with stage.tenant("change") as api:
            narrator.begin("a preference changes after the warm-up")
            freshness = change_after_warm_up(stage, api, middle, relay=relay, tell=narrator.tell)
            narrator.done(f"{freshness.key} changed after the warm-up: {freshness.answer.block.state}")
            narrator.begin("Valkey is killed")
            outage = kill_and_restart(stage, api, middle, cache=stack, tell=narrator.tell)
            narrator.done(f"Valkey killed: {outage.during.block.state}; back: {outage.after.block.state}")
    catalog = read_catalog(dict(options.data.catalog))
    return DemoResult(
        started_at=started_at.isoformat(timespec="seconds"),
        took_s=narrator.elapsed_s,
        seed=options.seed,
        machine=Machine(f"{platform.system()} {platform.machine()}", _cores(), platform.python_version()),
        data=DataFacts(
            source=options.source,
            agent=options.data.agent,
            tools=len(catalog),
            turns=len(options.data.turns),
            preferences=len(options.data.preferences),
        ),
        engine=view,
        pairs=pairs,
        freshness=freshness,
        outage=outage,
        checks=(
            size_check(sized, out_of_reach, may_miss=options.own_data),
            *pair_checks(pairs, template_tokens=view.template_tokens),
            *checks,
            *freshness_checks(freshness),
            *outage_checks(outage),
        ),
    )


def stage_on(stack: Stack, *, seed: str) -> Stage:
    """Return the stage that a running stack is."""
    return Stage(
        url=stack.urls["gateway"],
        token=stack.token,
        queues=StackQueues(stack.client("sqs")),
        seed=seed,
        user=SAMPLE_USER,
    )


def text_count_of(stack: Stack) -> TextCount:
    """Return how the functions of a running stack count the tokens of a text that they send."""
    counter = Runtime(from_env(stack.env)).counter
    return lambda text: counter.count(as_data(text))


def size_all(
    data: TenantData,
    sizes: Iterable[int],
    *,
    count_tokens: CountTokens,
    narrator: Narrator,
    text_count: TextCount = budget.count_tokens,
) -> tuple[list[SizedTenant], list[UnreachableSizeError]]:
    """Return the data cut to every size, smallest first, and the sizes that are out of its reach; see `Sizer`.

    Raises:
        UnreachableSizeError: all of them are.
    """
    narrator.begin("choosing how much to load")
    sizer = Sizer(data, count=count_tokens, text_count=text_count)
    sized: list[SizedTenant] = []
    out_of_reach: list[UnreachableSizeError] = []
    for size in sorted(set(sizes)):
        narrator.tell(f"for {size:,} tokens")
        try:
            sized.append(sizer.fit(size))
        except UnreachableSizeError as error:
            out_of_reach.append(error)
            narrator.console.print(f"{error}; left out", style="yellow")
    if not sized:
        raise out_of_reach[0]
    narrator.done("prefixes of " + ", ".join(f"{one.tokens:,}" for one in sized) + " tokens")
    return sized, out_of_reach


def _run_pairs(
    stage: Stage, sized: list[SizedTenant], pairs: int, *, relay: EngineRelay, narrator: Narrator
) -> tuple[tuple[Pair, ...], list[Check]]:
    """Run every pair; the engine's requests of all of them make one check."""
    done: list[Pair] = []
    compared: list[Check] = []
    for one in sized:
        for number in range(pairs):
            narrator.begin(f"{one.tokens:,} tokens, {number + 1} of {pairs}")
            relay.take_calls()
            pair = run_pair(stage, one, number, tell=narrator.tell)
            compared.append(bytes_check(relay.take_calls()))
            done.append(pair)
            narrator.done(
                f"{pair.warmed_tokens:>5,} tokens  cold {duration(pair.cold.ttft_ms):>7}  warm "
                f"{duration(pair.warm.ttft_ms):>7}  {times(pair.ratio)} times sooner, "
                f"{pair.warm.block.reused_tokens:,} of {pair.warmed_tokens:,} tokens reused"
            )
    unequal = [check for check in compared if not check.held]
    seen = unequal[0].seen if unequal else f"{count(len(compared), 'pair')} compared byte by byte, salts aside"
    return tuple(done), [replace(compared[0], held=not unequal, seen=seen)]


def new_seed() -> str:
    """Return a seed that no run before had: the time, in base 36."""
    number, digits = int(time.time()), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"d{digits}"


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
