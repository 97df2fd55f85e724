"""Which route of the topology a request is for. Paths are matched as they were sent, percent-encoded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from infra.local.problem import RefusedError
from infra.topology import Route


@dataclass(frozen=True, slots=True)
class Match:
    """A route, and the values of the names in its path, still percent-encoded as API Gateway leaves them."""

    route: Route
    parameters: Mapping[str, str]


class UnknownPathError(RefusedError):
    """No route has this path."""

    status = HTTPStatus.NOT_FOUND

    def __init__(self) -> None:
        super().__init__("there is no such path")


class WrongMethodError(RefusedError):
    """Routes have this path, but not with this method."""

    status = HTTPStatus.METHOD_NOT_ALLOWED

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed = ", ".join(sorted(allowed))
        super().__init__(f"this path takes {self._allowed}")

    @property
    def headers(self) -> Mapping[str, str]:
        """The methods that the path takes."""
        return {"Allow": self._allowed}


def match_route(routes: Iterable[Route], method: str, *, path: str) -> Match:
    """Return the route for a request.

    Args:
        routes: What there is to choose from.
        method: HTTP method in capitals.
        path: Path as it was sent, percent-encoded, without the query.

    Raises:
        UnknownPathError: no route has the path.
        WrongMethodError: no route has the path with this method.
    """
    matches = [
        Match(route, parameters) for route in routes if (parameters := _match_path(route.path, path)) is not None
    ]
    if not matches:
        raise UnknownPathError
    for match in matches:
        if match.route.method == method:
            return match
    raise WrongMethodError({match.route.method for match in matches})


def _match_path(template: str, path: str) -> dict[str, str] | None:
    parts, segments = template.split("/"), path.split("/")
    if len(parts) != len(segments):
        return None
    parameters = {}
    for part, segment in zip(parts, segments, strict=True):
        if part.startswith("{"):
            if not segment:
                return None
            parameters[part.strip("{}")] = segment
        elif part != segment:
            return None
    return parameters
