"""Streams an answer as server-sent events and records its report."""

from collections.abc import AsyncIterator, Iterator

from starlette.concurrency import iterate_in_threadpool

from preheat.adapters.http import problem
from preheat.adapters.observability import logger, record_answer
from preheat.adapters.openai_chat import DONE, Head, chunk, sse
from preheat.errors import PreheatError
from preheat.report import AnswerItem, AnswerReport


def watched(items: Iterator[AnswerItem], *, session: str) -> Iterator[AnswerItem]:
    """Pass the items on and record the report that ends them."""
    for item in items:
        if isinstance(item, AnswerReport):
            record_answer(item, session=session)
        yield item


async def events(first: AnswerItem, rest: Iterator[AnswerItem], head: Head) -> AsyncIterator[bytes]:
    """Yield one event per item, and the end mark. A stream that breaks says so in its last event."""
    yield sse(chunk(first, head))
    try:
        async for item in iterate_in_threadpool(rest):
            yield sse(chunk(item, head))
    except PreheatError as error:
        logger.warning("answer broke off", code=error.code)
        yield sse({"error": problem(error)[1]})
        return
    yield DONE
