"""A function that works off a queue."""

from aws_cdk import aws_lambda_event_sources as sources
from constructs import Construct

from infra import topology
from infra.components.event_queue import EventQueue
from infra.components.function import Entrance, PreheatFunction, Surroundings, handler_name
from preheat import names


class WorkerFunction(Construct):
    """Takes batches from its queue and reports the records that failed, so that only those come again.

    What no retry can help it puts into the dead-letter queue itself, with the reason, so it may send there.
    """

    def __init__(
        self, scope: Construct, name: str, *, spec: topology.Function, around: Surroundings, queue: EventQueue
    ) -> None:
        super().__init__(scope, name)
        dead_letters = queue.dead_letters
        entrance = Entrance(
            handler=handler_name(spec.folder), environment={names.ENV_DEAD_LETTER_URL: dead_letters.queue_url}
        )
        self.function = PreheatFunction(self, "Worker", spec=spec, around=around, entrance=entrance).function
        dead_letters.grant_send_messages(self.function)
        self.function.add_event_source(
            sources.SqsEventSource(
                queue.queue,
                batch_size=spec.batch_size,
                max_concurrency=spec.max_concurrency,
                report_batch_item_failures=True,
            )
        )
