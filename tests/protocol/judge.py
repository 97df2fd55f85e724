"""Whether what was sent and what was said of it is true: each method raises `AssertionError` with all that is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from preheat import keys
from preheat.bundle import Bundle
from preheat.gather import bring_up_to_date, current_stamp
from preheat.prefill import HONOURED_SHARE, prefix_messages
from preheat.report import AnswerReport
from preheat.session import Scope
from preheat.start_session import SessionView
from preheat.warm_state import WarmState
from tests.protocol.deployment import Deployment
from tests.protocol.engine import Heard, shared_tokens, written
from tests.protocol.ledger import Floor, Ledger, Owner


@dataclass(frozen=True, slots=True)
class Case:
    """A request as it began.

    Attributes:
        scope: Whose.
        floor: What was acknowledged before.
        born: When its session began, epoch seconds; 0.0 when there was none.
        message: What the user says.
        excused: Whether sections may be missing, by name: something is out of service, or others write meanwhile.
    """

    scope: Scope
    floor: Floor
    born: float
    message: str
    excused: bool


@dataclass(slots=True)
class Judge:
    """Holds prompts against the ledger, and claims against what the engine has read.

    Attributes:
        deployment: Whose engine and records are asked.
        ledger: What was written.
        compared: How many prompts were held against another of equal versions.
    """

    deployment: Deployment
    ledger: Ledger
    compared: int = 0
    _prompts: dict[tuple[Scope, float, str], str] = field(default_factory=dict)

    def open(self, scope: Scope, message: str, *, excused: bool) -> Case:
        """Take note of what a request that begins now must not fall behind."""
        return Case(scope, self.ledger.floor((scope.tenant, scope.user)), self._born(scope), message, excused)

    def answer(self, case: Case, heard: Heard, report: AnswerReport) -> None:
        """Judge an answer by what the engine got and by what is said of it."""
        whole = report.state != "degraded"
        assert whole or case.excused, f"degraded with everything in service: {report.reasons}"
        owner = (case.scope.tenant, case.scope.user)
        found = self.ledger.faults(heard.text, owner, case.floor, whole=whole)
        assert not found, f"{'; '.join(found)} in {heard.text!r}"
        assert report.reused_tokens == heard.known_tokens, "the report does not give the engine's count"
        if report.state == "warm":
            assert heard.known_tokens >= HONOURED_SHARE * report.warmed_tokens > 0, (
                "called warm, but the engine was not"
            )
        if whole and case.floor.rows == self.ledger.rows[owner].now and case.born == self._born(case.scope):
            head, (_, last) = heard.messages[:-1], heard.messages[-1]
            self._same_bytes(case.scope, f"{report.stamp} head", written(head))
            self._same_bytes(case.scope, f"{report.stamp} tail", last.removesuffix(case.message))

    def cold_twin(self, scope: Scope) -> tuple[tuple[str, str], ...] | None:
        """Return the prefix that an answer without any cache would send now; None while nothing is frozen."""
        records, ports = self.deployment.backend.records, self.deployment.ports()
        versions = records.read_versions(scope)
        if versions.agent is None or records.read_frozen(scope) is None:
            return None
        stamp = current_stamp(versions.agent, versions.user, ports)
        cold = bring_up_to_date(scope, versions.agent, stamp, found=None, ports=ports).bundle
        return _prefix(cold)

    def same_as_cold(self, heard: Heard, twin: tuple[tuple[str, str], ...] | None) -> None:
        """Judge whether the bytes are those that an answer without any cache would have sent."""
        if twin is not None:
            self.compared += 1
            assert heard.messages[: len(twin)] == twin, f"not the bytes of a cold build: {heard.messages!r}, {twin!r}"

    def warm_up(self, owner: Owner, heard: Sequence[Heard]) -> None:
        """Judge what warm-ups made the engine read: it may have passed, but it must be the user's own."""
        for one in heard:
            foreign = self.ledger.foreign(one.text, owner)
            assert not foreign, f"a warm-up showed what is not this user's: {', '.join(map(str, foreign))}"

    def prefix(self, scope: Scope, stamp: str, heard: Sequence[Heard]) -> None:
        """Judge the prefix of a warm-up that nothing was written beside."""
        for one in heard:
            self._same_bytes(scope, f"{stamp} head", written(one.messages))

    def view(self, scope: Scope, view: SessionView, warm: WarmState) -> None:
        """Judge what is said of a session before anyone asks."""
        if view.state != "warm":
            return
        versions = self.deployment.backend.records.read_versions(scope)
        assert versions.agent is not None
        assert warm.bundle is not None
        stamp = current_stamp(versions.agent, versions.user, self.deployment.ports())
        assert warm.bundle.stamp == stamp, "called warm at versions that have passed"
        prompt = written(_prefix(warm.bundle))
        read = self.deployment.engine.ever_read[keys.tenant_salt(scope.tenant)]
        assert shared_tokens(prompt, read) >= HONOURED_SHARE * view.warmed_tokens > 0, "called warm, but nobody read it"

    def _same_bytes(self, scope: Scope, part: str, text: str) -> None:
        """Compare with what was sent in the same session at the same versions before."""
        name = (scope, self._born(scope), part)
        self.compared += name in self._prompts
        before = self._prompts.setdefault(name, text)
        assert before == text, f"not the same bytes in {part}: {before!r} and {text!r}"

    def _born(self, scope: Scope) -> float:
        session = self.deployment.backend.records.read_versions(scope).session
        return session.created_at if session else 0.0


def _prefix(bundle: Bundle) -> tuple[tuple[str, str], ...]:
    return tuple((str(one["role"]), str(one["content"])) for one in prefix_messages(bundle))
