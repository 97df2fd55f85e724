"""Where demo and benchmark play: a running stack, fresh tenants on it, and quiet before every measurement."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from infra.local.demo.tenant_api import MintToken, TenantApi
from infra.topology import QUEUES

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_QUIET_POLL_S: Final = 0.1
_BACKLOG: "Final[tuple[QueueAttributeNameType, ...]]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class Queues(Protocol):
    """Tells how much background work is waiting or in hand."""

    def backlog(self) -> int:
        """Return the number of messages that are not done."""
        ...


class NotQuietError(Exception):
    """Background work did not come to an end in time."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a run needs of the stack.

    Attributes:
        url: The gateway's.
        token: Mints bearer tokens.
        queues: Tells whether the stack is quiet.
        seed: Goes into every tenant's name, and so into the salt of its prefixes: a new seed shares nothing.
        user: The user's id in every tenant.
        warm_timeout_s: How long a warm-up may take.
        answer_tokens: How long an answer may get.
    """

    url: str
    token: MintToken
    queues: Queues
    seed: str
    user: str
    warm_timeout_s: float = 180.0
    answer_tokens: int = 16

    def tenant(self, *name: object) -> TenantApi:
        """Return the API for a tenant of this name, as nobody has used it before."""
        return TenantApi(self.url, tenant="-".join((self.seed, *map(str, name))), user=self.user, token=self.token)

    def is_quiet(self) -> bool:
        """Tell whether no event waits or is being handled."""
        return self.queues.backlog() == 0

    def await_quiet(self, timeout_s: float = 60.0) -> None:
        """Return once no queue holds work: loading a tenant publishes events whose handling would disturb.

        Raises:
            NotQuietError: that took longer than `timeout_s`.
        """
        deadline = time.monotonic() + timeout_s
        while backlog := self.queues.backlog():
            if time.monotonic() > deadline:
                raise NotQuietError(f"{backlog} events are still being handled after {timeout_s:g} s")
            time.sleep(_QUIET_POLL_S)


class StackQueues:
    """The queues of a running stack."""

    def __init__(self, client: "SQSClient") -> None:
        """Look up the queues' addresses."""
        self._client = client
        self._urls = [client.get_queue_url(QueueName=queue.name)["QueueUrl"] for queue in QUEUES]

    def backlog(self) -> int:
        """Return the number of messages that wait, are in hand, or wait for another try."""
        return sum(self._of(url) for url in self._urls)

    def _of(self, url: str) -> int:
        found = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=list(_BACKLOG))
        return sum(int(count) for count in found["Attributes"].values())
