"""The model endpoint behind SageMaker's runtime: AWS's vLLM container, or the local server with the same contract."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError, ClientError, EventStreamError
from urllib3.exceptions import HTTPError

from preheat import names
from preheat.errors import EndpointError, EndpointRefusedError, EndpointUnavailableError
from preheat.ports import Delta, Finished, Prefilled
from preheat.prefill import EngineRequest, Usage

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

_JSON: Final = "application/json"
_DATA: Final = b"data:"
_DONE: Final = b"[DONE]"
# A container's 4xx is about this request, but for these: too many requests, request timeout.
_PASSING: Final = frozenset({408, 429})
_CLIENT_FAULT: Final = range(400, 500)


class SageMakerEndpoint:
    """Calls one endpoint by name. The client brings its own time-outs and makes no retries."""

    def __init__(
        self,
        connect: Callable[[], "SageMakerRuntimeClient"],
        *,
        endpoint_name: str,
        inference_component: str | None = None,
    ) -> None:
        """Keep what is needed. `connect` is called at the first call: some functions make none."""
        self._connect = cache(connect)
        self._endpoint_name = endpoint_name
        self._inference_component = inference_component

    def prefill(self, request: EngineRequest) -> Prefilled:
        """Make the engine read the request's messages."""
        try:
            response = self._connect().invoke_endpoint(**self._call(request))
            answer = json.loads(response["Body"].read())
        except (ClientError, BotoCoreError) as error:
            raise _translated(error) from error
        except ValueError as error:
            raise EndpointUnavailableError("the endpoint's answer is not JSON") from error
        if not isinstance(answer, dict) or "error" in answer:
            raise EndpointUnavailableError("the endpoint's answer is no completion")
        return Prefilled(_usage(answer.get("usage")), response.get("InvokedProductionVariant", ""))

    def generate(self, request: EngineRequest) -> Iterator[Delta | Finished]:
        """Stream the answer; the last item is `Finished`."""
        try:
            response = self._connect().invoke_endpoint_with_response_stream(**self._call(request))
            engine_id = response.get("InvokedProductionVariant", "")
            # Closing frees the engine when nobody reads on.
            with closing(response["Body"]) as stream:
                parts = (event["PayloadPart"]["Bytes"] for event in stream if "PayloadPart" in event)
                yield from _items(_events(parts), engine_id)
        except (ClientError, BotoCoreError, ParserError, HTTPError) as error:
            # The last two: botocore lets through what its parser and its HTTP library raise on an open stream.
            raise _translated(error) from error

    def _call(self, request: EngineRequest) -> dict[str, Any]:
        # The two calls take the same arguments; their generated types do not share a name for them.
        return {
            "EndpointName": self._endpoint_name,
            "ContentType": _JSON,
            "Accept": _JSON,
            "Body": request.body,
            "PrefixAwareId": request.prefix_id,
            **({"InferenceComponentName": self._inference_component} if self._inference_component else {}),
            **({"CustomAttributes": names.WARM_UP_PRIORITY} if request.warm_up else {}),
        }


def _events(parts: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """Put server-sent events together again: a part may end in the middle of a line."""
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if line.startswith(_DATA) and (data := line[len(_DATA) :].strip()) != _DONE:
                yield _parsed(data)


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError as error:
        raise EndpointUnavailableError("the stream holds an event that is not JSON") from error
    if not isinstance(event, dict) or "error" in event:
        raise EndpointUnavailableError("the engine reported an error in the stream")
    return event


def _items(events: Iterator[dict[str, Any]], engine_id: str) -> Iterator[Delta | Finished]:
    usage: object = None
    finish_reason = ""
    for event in events:
        usage = event.get("usage") or usage
        choices = event.get("choices")
        for choice in map(_mapping, choices if isinstance(choices, list) else ()):
            finish_reason = str(choice.get("finish_reason") or finish_reason)
            text = _mapping(choice.get("delta")).get("content")
            if isinstance(text, str) and text:
                yield Delta(text)
    if not finish_reason:
        raise EndpointUnavailableError("the stream ended before the answer did")
    yield Finished(_usage(usage), engine_id, finish_reason)


def _usage(usage: object) -> Usage:
    """Return the engine's count; what it does not say in whole numbers counts as none."""
    counts = _mapping(usage)
    return Usage(
        prompt_tokens=_count(counts.get("prompt_tokens")),
        cached_tokens=_count(_mapping(counts.get("prompt_tokens_details")).get("cached_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _translated(error: ClientError | BotoCoreError | ParserError | HTTPError) -> EndpointError:
    """Return our error for the vendor's. Messages of the engine may hold prompt text, so only codes are kept."""
    if isinstance(error, EventStreamError | ParserError | HTTPError):
        return EndpointUnavailableError("the stream broke off")
    if not isinstance(error, ClientError):
        return EndpointUnavailableError(f"the endpoint could not be reached ({type(error).__name__})")
    code = error.response.get("Error", {}).get("Code", "")
    status = int(error.response.get("OriginalStatusCode", 0) or 0)  # type: ignore[call-overload]  # a ModelError's own field
    if code == "ModelError" and status in _CLIENT_FAULT and status not in _PASSING:
        return EndpointRefusedError(f"the engine refuses this request (status {status})")
    return EndpointUnavailableError(f"the endpoint did not serve ({code} {status or ''})".replace(" )", ")"))
