"""Which route a request is for."""

import pytest

from infra.local.routing import UnknownPathError, WrongMethodError, match_route
from infra.topology import ROUTES, Route

OWN = (Route("GET", "/a/{x}", "f"), Route("PUT", "/a/{x}", "f"), Route("GET", "/a/{x}/b/{y}", "g"))


def test_match_route__every_route_of_the_topology_is_found_by_its_own_path() -> None:
    for route in ROUTES:
        assert match_route(ROUTES, route.method, path=route.path.replace("{", "").replace("}", "")).route is route


def test_match_route__values_stay_as_they_were_sent() -> None:
    match = match_route(OWN, "GET", path="/a/x%2Fy%20z/b/@")
    assert match.route is OWN[2]
    assert match.parameters == {"x": "x%2Fy%20z", "y": "@"}


@pytest.mark.parametrize("path", ["/", "", "/a", "/a/", "/a/1/", "/a//b/2", "/a/1/c/2", "/A/1", "/a/1/b/2/3"])
def test_match_route__other_paths_are_unknown(path: str) -> None:
    with pytest.raises(UnknownPathError):
        match_route(OWN, "GET", path=path)


def test_match_route__a_wrong_method_names_the_right_ones() -> None:
    with pytest.raises(WrongMethodError) as refused:
        match_route(OWN, "DELETE", path="/a/1")
    assert refused.value.headers == {"Allow": "GET, PUT"}
