"""The functions that read queues."""

from infra import topology
from preheat import names
from tests.infra.assembly import Assembly, Json

WORKERS = [function for function in topology.FUNCTIONS if function.queue is not None]
QUEUES = {queue.name: queue for queue in topology.QUEUES}


def _name(assembly: Assembly, reference: Json) -> str:
    logical = reference.get("Ref") or reference["Fn::GetAtt"][0]
    name: str = assembly.resources("AWS::SQS::Queue")[logical]["Properties"]["QueueName"]
    return name.removesuffix("-dev")


def test_worker__reads_its_queue_as_the_topology_says(plain: Assembly) -> None:
    functions = plain.resources("AWS::Lambda::Function")
    sources = plain.properties("AWS::Lambda::EventSourceMapping")
    found = {
        functions[source["FunctionName"]["Ref"]]["Properties"]["Handler"]: (
            _name(plain, source["EventSourceArn"]),
            source["BatchSize"],
            source["ScalingConfig"]["MaximumConcurrency"],
            source["FunctionResponseTypes"],
        )
        for source in sources
    }
    assert found == {
        f"functions.{worker.folder}.handler.handler": (
            worker.queue,
            worker.batch_size,
            worker.max_concurrency,
            ["ReportBatchItemFailures"],
        )
        for worker in WORKERS
    }
    assert len(sources) == len(WORKERS)


def test_worker__may_send_to_its_own_dead_letters_and_nowhere_else(plain: Assembly) -> None:
    for worker in WORKERS:
        assert worker.queue is not None
        letters = plain.function(worker.folder)["Environment"]["Variables"][names.ENV_DEAD_LETTER_URL]
        assert _name(plain, letters) == QUEUES[worker.queue].dead_letters
        (sending,) = (
            statement["Resource"]
            for statement in plain.statements(plain.function(worker.folder)["Role"])
            if "sqs:SendMessage" in statement["Action"]
        )
        assert _name(plain, sending) == QUEUES[worker.queue].dead_letters
