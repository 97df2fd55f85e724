"""The report as one picture for slides and pull requests: PNG and SVG by matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.typing import RcKeyType

from infra.local.demo.pairs import Pair, Side, summarise, typical
from infra.local.demo.phases import PHASES, segments
from infra.local.demo.results import DemoResult
from infra.local.demo.wording import axis_time, count, duration, times

_INK: Final = "#1d2430"
_SOFT: Final = "#5b6472"
_GRID: Final = "#e4e1da"
_GROUND: Final = "#fbfaf8"
_COLOURS: Final[dict[Side, str]] = {"cold": "#2f6fb7", "warm": "#ea7317"}
_SIZE_INCHES: Final = (12.0, 6.2)
_DOTS_PER_INCH: Final = 160
_FONT: Final[dict[RcKeyType, object]] = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "svg.fonttype": "none",
    "svg.hashsalt": "preheat",
}


def save_chart(result: DemoResult, *, png: Path, svg: Path) -> None:
    """Draw the run and write it to both files.

    Raises:
        OSError: a file cannot be written.
    """
    with rc_context(_FONT):
        figure = _figure(result)
        figure.savefig(png, dpi=_DOTS_PER_INCH, facecolor=_GROUND)
        figure.savefig(svg, facecolor=_GROUND, metadata={"Date": None})


def _figure(result: DemoResult) -> Figure:
    best = max(result.summaries, key=lambda one: one.wanted_tokens)
    figure = Figure(figsize=_SIZE_INCHES)
    FigureCanvasAgg(figure)
    figure.text(
        0.035, 0.92, f"The first token came {times(best.ratio)} times sooner", size=22, weight="bold", color=_INK
    )
    figure.text(
        0.035,
        0.865,
        f"{duration(best.warm_ms)} instead of {duration(best.cold_ms)} from submit at {best.prefix_tokens:,} prefix "
        f"tokens; {best.reused_tokens:,} of {best.warmed_tokens:,} warmed tokens reused, by the engine's own count",
        color=_SOFT,
    )
    bars = figure.add_axes((0.125, 0.2, 0.45, 0.53))
    _draw_bars(bars, result.pairs)
    curve = figure.add_axes((0.675, 0.2, 0.245, 0.53))
    _draw_curve(curve, result.pairs)
    machine = result.machine
    figure.text(
        0.035,
        0.045,
        f"Preheat, {result.started_at[:10]}: {result.engine.model} on {count(machine.cores, 'core')}, medians of "
        f"{count(best.pairs, 'pair')} a size; every side a fresh tenant, sides taking turns",
        color=_SOFT,
        size=9,
    )
    return figure


def _draw_bars(axes: Axes, pairs: Sequence[Pair]) -> None:
    """Draw both sides of every size, parted by phase; the smallest size on top."""
    labels: list[str] = []
    position = 0.0
    positions: list[float] = []
    longest = max(pair.cold.ttft_ms for pair in pairs)
    for one in summarise(pairs):
        for side in ("cold", "warm"):
            answer = typical(pairs, one.wanted_tokens, side)
            start = 0.0
            for segment in segments(answer):
                axes.barh(position, segment.ms, left=start, height=0.8, color=segment.phase.colour)
                start += segment.ms
            inside = start > 0.8 * longest
            note = duration(answer.ttft_ms) + (f",  {times(one.ratio)} times sooner" if side == "warm" else "")
            axes.text(
                start - 0.012 * longest if inside else start + 0.012 * longest,
                position,
                note,
                ha="right" if inside else "left",
                va="center",
                weight="bold",
                color="white" if inside else _COLOURS[side] if side == "warm" else _INK,
            )
            labels.append(f"{one.prefix_tokens:,}  cold" if side == "cold" else "warm")
            positions.append(position)
            position += 1
        position += 0.6
    axes.set_yticks(positions, labels)
    axes.invert_yaxis()
    axes.set_title("Where the pause went, by prefix tokens", loc="left", color=_INK, weight="bold", pad=30, size=12)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: axis_time(value)))
    handles = [axes.barh(0, 0, color=phase.colour, label=phase.name) for phase in PHASES]
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(-0.012, 1.0),
        ncols=len(PHASES),
        frameon=False,
        fontsize=9,
        handlelength=0.9,
        handletextpad=0.5,
        columnspacing=1.2,
        labelcolor=_SOFT,
    )
    _plain(axes, grid="x")


def _draw_curve(axes: Axes, pairs: Sequence[Pair]) -> None:
    """Draw time over prefix length, both logarithmic; one dot per answer, lines through the medians."""
    summaries = summarise(pairs)
    tokens = [one.prefix_tokens for one in summaries]
    for side in ("cold", "warm"):
        colour = _COLOURS[side]
        medians = [one.cold_ms if side == "cold" else one.warm_ms for one in summaries]
        answers = [pair.cold if side == "cold" else pair.warm for pair in pairs]
        axes.plot(tokens, medians, color=colour, linewidth=2.4, solid_capstyle="round")
        axes.scatter(
            [pair.prefix_tokens for pair in pairs],
            [answer.ttft_ms for answer in answers],
            color=colour,
            edgecolor=_GROUND,
            zorder=3,
            s=34,
        )
        axes.annotate(
            f" {side}\n {duration(medians[-1])}",
            (tokens[-1], medians[-1]),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            weight="bold",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(tokens, [f"{one:,}" for one in tokens])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: axis_time(value)))
    axes.set_title("The longer, the more to gain", loc="left", color=_INK, weight="bold", pad=30, size=12)
    axes.set_xlabel("prefix tokens", color=_SOFT)
    _plain(axes, grid="y")


def _plain(axes: Axes, *, grid: str) -> None:
    axes.set_facecolor(_GROUND)
    axes.tick_params(length=0, colors=_SOFT)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis="x" if grid == "x" else "y", color=_GRID, linewidth=1)
