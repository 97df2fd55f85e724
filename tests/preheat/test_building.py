"""What a bundle holds, and in which order."""

from preheat.prefill import prefix_messages, prefix_sha256
from tests.preheat.material import (
    Rows,
    agent,
    assistant,
    at,
    build,
    freeze,
    numbered,
    preference,
    section,
    section_names,
    user,
)


def test_build__sections_come_most_stable_first() -> None:
    rows = Rows(agent(), (preference("seat", "aisle"),), numbered([user(0), assistant(0)]))

    assert section_names(build(rows)) == ["core_tools", "instructions", "session_tools", "preferences", "recent_turns"]


def test_build__of_a_user_without_history_has_domain_and_tools_only() -> None:
    bundle = build(Rows(agent(domain_knowledge="Trips over 1,500 euros need approval.")))

    assert section_names(bundle) == ["core_tools", "instructions", "session_tools"]
    assert bundle.missing == ()
    assert section(bundle, "instructions").content.endswith("\n\nTrips over 1,500 euros need approval.")
    assert len(prefix_messages(bundle)) == 1


def test_build__changed_instructions_are_another_prefix_that_the_old_record_does_not_serve() -> None:
    frozen = freeze(Rows(agent()))
    old, new = (build(Rows(agent(instructions=text))) for text in ("Be brief.", "Be thorough."))

    assert prefix_sha256(old) != prefix_sha256(new)
    assert not frozen.serves(at(agent_ver=2))


def test_build__changed_preference_shows_the_new_value_alone_in_the_next_session() -> None:
    changed = Rows(agent(), (preference("project", "B", version=2),))

    content = section(build(changed), "preferences").content

    assert content == '- project: "B"'
