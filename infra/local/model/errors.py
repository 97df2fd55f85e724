"""What can go wrong between a caller and the engine, told apart by who says it.

ModelServerError
├── ContainerError      the container answers with a status of its own; a caller of the endpoint sees ModelError
├── ServiceError        the service in front of it answers (ValidationError, ServiceUnavailable, ...)
├── BrokenStreamError   the engine went away in the middle of an answer
└── StartError          the server cannot start with these arguments; the message is one line

Messages are for people and never hold text of the user, except a refusal that the engine itself has worded.
"""

import json
from typing import Final

# The words are vLLM's, which is what runs in the cloud.
_TYPES: Final = {400: "BadRequestError", 413: "BadRequestError", 429: "RateLimitError", 503: "ServiceUnavailableError"}


class ModelServerError(Exception):
    """Base of the tree."""


class ContainerError(ModelServerError):
    """The container refuses or fails.

    Attributes:
        status: HTTP status of the container, 400..599.
        body: JSON as the container sends it.
    """

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"container answered {status}")
        self.status = status
        self.body = body


def refusal(status: int, message: str, *, kind: str | None = None) -> ContainerError:
    """Return a container's error in OpenAI's shape, `{"error": {"message", "type", "param", "code"}}`."""
    error = {"message": message, "type": kind or _TYPES.get(status, "InternalServerError"), "param": None}
    return ContainerError(status, json.dumps({"error": {**error, "code": status}}).encode())


class ServiceError(ModelServerError):
    """The service in front of the container refuses the call.

    Attributes:
        code: Name of the error in SageMaker's service model.
        status: HTTP status of that error.
    """

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class BrokenStreamError(ModelServerError):
    """The engine closed the stream before its end."""


class StartError(ModelServerError):
    """The server cannot start."""
