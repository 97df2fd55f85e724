"""A queue with the queue for what it could not get done."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import topology
from infra.config import Config


class EventQueue(Construct):
    """One queue of the topology and its dead-letter queue, encrypted at rest by SQS, reached over TLS only.

    The key is SQS's own: EventBridge cannot send to a queue under the account's managed key.
    """

    def __init__(self, scope: Construct, name: str, *, queue: topology.Queue, config: Config) -> None:
        super().__init__(scope, name)
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=config.physical(queue.dead_letters),
            retention_period=Duration.seconds(queue.dead_letter_retention_s),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=config.physical(queue.name),
            visibility_timeout=Duration.seconds(queue.visibility_s),
            retention_period=Duration.seconds(queue.retention_s),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=queue.max_receive_count),
            removal_policy=RemovalPolicy.DESTROY,
        )
