"""Errors of the gateway itself, as `application/problem+json` (RFC 9457)."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class RefusedError(Exception):
    """The gateway answers a request itself. The message is a sentence for the caller.

    Attributes:
        status: HTTP status of the answer.
    """

    status: ClassVar[HTTPStatus]

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that the status asks for."""
        return {}


def problem(status: HTTPStatus, detail: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response that says what is wrong. `detail` is a sentence for people."""
    body = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    return Response(json.dumps(body), status_code=status.value, headers=headers, media_type=MEDIA_TYPE)
