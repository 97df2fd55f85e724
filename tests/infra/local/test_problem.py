"""Errors of the gateway as problem documents."""

import json
from http import HTTPStatus

from infra.local.problem import problem


def test_problem__is_a_problem_document() -> None:
    response = problem(HTTPStatus.NOT_FOUND, "there is no such path", headers={"Allow": "GET"})
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["allow"] == "GET"
    assert json.loads(bytes(response.body)) == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "there is no such path",
    }
