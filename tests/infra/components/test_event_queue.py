"""The queues and their dead letters."""

from infra import topology
from tests.infra.assembly import Assembly, Json

STAGE = "-dev"


def _queues(assembly: Assembly) -> dict[str, Json]:
    return {one["QueueName"].removesuffix(STAGE): one for one in assembly.properties("AWS::SQS::Queue")}


def test_queues__are_those_of_the_topology_and_no_other(plain: Assembly) -> None:
    named = {name for queue in topology.QUEUES for name in (queue.name, queue.dead_letters)}
    assert set(_queues(plain)) == named


def test_queue__has_the_times_of_the_topology(plain: Assembly) -> None:
    queues = _queues(plain)
    for queue in topology.QUEUES:
        assert queues[queue.name]["VisibilityTimeout"] == queue.visibility_s
        assert queues[queue.name]["MessageRetentionPeriod"] == queue.retention_s
        assert queues[queue.dead_letters]["MessageRetentionPeriod"] == queue.dead_letter_retention_s


def test_queue__gives_up_into_its_own_dead_letters(plain: Assembly) -> None:
    queues = _queues(plain)
    resources = plain.resources("AWS::SQS::Queue")
    for queue in topology.QUEUES:
        redrive = queues[queue.name]["RedrivePolicy"]
        target = resources[redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]]["Properties"]["QueueName"]
        assert (target, redrive["maxReceiveCount"]) == (queue.dead_letters + STAGE, queue.max_receive_count)
        assert "RedrivePolicy" not in queues[queue.dead_letters]


def test_queue__is_encrypted_and_refuses_plain_text(plain: Assembly) -> None:
    refusing = {
        policy["Queues"][0]["Ref"]
        for policy in plain.properties("AWS::SQS::QueuePolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    assert refusing == set(plain.resources("AWS::SQS::Queue"))
    assert all(queue["SqsManagedSseEnabled"] for queue in _queues(plain).values())
