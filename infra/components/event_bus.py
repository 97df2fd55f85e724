"""The event bus, its queues, and the rules between them."""

from types import MappingProxyType

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infra import topology
from infra.components.event_queue import EventQueue
from infra.config import Config
from preheat import names


class EventBus(Construct):
    """The bus with every rule and queue of the topology; a queue receives the whole envelope as its body.

    What EventBridge cannot deliver to a queue goes to that queue's dead-letter queue: warming is worth nothing once its
    queue would have dropped it, so it is tried no longer than that.
    """

    def __init__(self, scope: Construct, name: str, *, config: Config) -> None:
        super().__init__(scope, name)
        self.bus = events.EventBus(self, "Bus", event_bus_name=config.physical(names.BUS))
        self.queues = MappingProxyType(
            {queue.name: EventQueue(self, queue.name, queue=queue, config=config) for queue in topology.QUEUES}
        )
        retention_s = {queue.name: queue.retention_s for queue in topology.QUEUES}
        for rule in topology.RULES:
            queue = self.queues[rule.queue]
            target = targets.SqsQueue(
                queue.queue,
                dead_letter_queue=queue.dead_letters,
                max_event_age=Duration.seconds(retention_s[rule.queue]),
            )
            events.Rule(
                self,
                rule.name,
                rule_name=config.physical(rule.name),
                event_bus=self.bus,
                event_pattern=events.EventPattern(source=[rule.source], detail_type=list(rule.detail_types)),
                targets=[target],
            )
