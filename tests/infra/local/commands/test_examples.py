"""The calls that `preheat up` prints."""

import json
import shlex

from infra.local.commands.examples import build_examples
from infra.topology import ROUTES

EXAMPLES = build_examples(
    {"gateway": "http://127.0.0.1:4", "aws": "http://127.0.0.1:1"}, service_token="service", user_token="user"
)


def test_examples__each_curl_goes_to_a_route_of_the_topology_with_json() -> None:
    calls = [shlex.split(example.command) for example in EXAMPLES if example.command.startswith("curl")]
    assert len(calls) == 5
    for words in calls:
        method = words[words.index("-X") + 1]
        (url,) = (word for word in words if word.startswith("http://"))
        depth = url.removeprefix("http://127.0.0.1:4").count("/")
        assert any(route.method == method and route.path.count("/") == depth for route in ROUTES)
        if "-d" in words:
            assert isinstance(json.loads(words[words.index("-d") + 1]), dict)


def test_examples__the_python_one_is_python() -> None:
    command = EXAMPLES[-1].command
    program = command.partition("<<'END'\n")[2].removesuffix("END")
    compile(program, "example", "exec")
    assert 'endpoint_url="http://127.0.0.1:1"' in program
