"""Calls to a running stack that can be copied into a shell."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from preheat import names

TENANT = "acme"
USER = "ada"
AGENT = "travel"
SESSION = "s1"


@dataclass(frozen=True, slots=True)
class Example:
    """What a call does, and the call."""

    title: str
    command: str


def build_examples(urls: Mapping[str, str], *, service_token: str, user_token: str) -> tuple[Example, ...]:
    """Return the examples in the order in which they make sense. The tokens are for tenant `acme` and user `ada`."""
    gateway = urls["gateway"]
    session_path = f"{gateway}/v1/users/{USER}/sessions"
    event = {"tenant": TENANT, "user": USER, "agent": AGENT, "session_id": "s2"}
    return (
        Example("tokens", f"SERVICE={service_token}\nUSER_TOKEN={user_token}"),
        Example(
            "register an agent",
            _curl("PUT", f"{gateway}/v1/agents/{AGENT}", bearer="$SERVICE", body=_AGENT),
        ),
        Example(
            "set a preference",
            _curl("PUT", f"{gateway}/v1/users/{USER}/preferences/seat", bearer="$USER_TOKEN", body={"value": "aisle"}),
        ),
        Example(
            "start a session: it is warmed from here on",
            _curl("POST", session_path, bearer="$USER_TOKEN", body={"agent": AGENT, "session_id": SESSION}),
        ),
        Example("see how warm it is", _curl("GET", f"{session_path}/{SESSION}", bearer="$USER_TOKEN")),
        Example(
            "ask, and see the answer stream",
            _curl("POST", f"{gateway}/v1/chat/completions", bearer="$USER_TOKEN", body=_QUESTION, options="-N "),
        ),
        Example(
            "publish a session's start on the bus, from Python",
            _python(urls["aws"], event),
        ),
    )


_AGENT: Mapping[str, object] = {
    "instructions": "You are a travel assistant. Answer in one short sentence.",
    "domain_knowledge": "Flights to Lisbon leave at 09:10 and 17:45.",
    "core_tools": ["flights/search"],
    "servers": {
        "flights": {
            "tools": [
                {
                    "name": "search",
                    "description": "Find flights to a city.",
                    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
                }
            ]
        }
    },
}
_QUESTION: Mapping[str, object] = {
    "model": AGENT,
    "user": USER,
    "session_id": SESSION,
    "messages": [{"role": "user", "content": "When can I fly to Lisbon?"}],
    "max_tokens": 64,
    "temperature": 0,
    "stream": True,
}


def _curl(method: str, url: str, *, bearer: str, body: Mapping[str, object] | None = None, options: str = "") -> str:
    words = [f'curl {options}-sS -X {method} {url} -H "Authorization: Bearer {bearer}"']
    if body is not None:
        words.append(f"-H 'Content-Type: application/json' -d '{json.dumps(body)}'")
    return " \\\n  ".join(words)


def _python(aws_url: str, detail: Mapping[str, object]) -> str:
    entry = (
        f'{{"EventBusName": "{names.BUS}", "Source": "{names.EVENT_SOURCE}", '
        f'"DetailType": "{names.SESSION_STARTED}",\n  "Detail": json.dumps({json.dumps(detail)})}}'
    )
    return (
        f"AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local {sys.executable} - <<'END'\n"
        "import boto3, json\n"
        f'events = boto3.client("events", endpoint_url="{aws_url}", region_name="us-east-1")\n'
        f"print(events.put_events(Entries=[{entry}]))\nEND"
    )
