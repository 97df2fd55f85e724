"""The part that runs one function on the batches of its queue.

python -m infra.local.worker warm_session --ready-file warm_session.ready
"""

import argparse
import logging
import time
from pathlib import Path

import boto3
from botocore.config import Config

from infra.local.addresses import queue_arn
from infra.local.execution_environment import ExecutionEnvironment
from infra.local.message_queue import QueueUnavailableError, SqsQueue
from infra.local.poller import Poller
from infra.topology import FUNCTIONS

_PAUSE_S = 0.05


def main() -> None:
    """Poll until the process is ended; `--ready-file` is made once the handler is loaded and the queue has answered."""
    readers = {function.folder: function for function in FUNCTIONS if function.queue is not None}
    parser = argparse.ArgumentParser(prog="infra.local.worker", description=main.__doc__)
    parser.add_argument("function", choices=sorted(readers))
    parser.add_argument("--functions", default="functions", help="package that holds the functions")
    parser.add_argument("--retry-s", type=int, default=2, help="seconds until a failed record is delivered again")
    parser.add_argument("--ready-file", type=Path, required=True)
    options = parser.parse_args()

    logging.basicConfig(level=logging.WARNING)
    function = readers[options.function]
    environment = ExecutionEnvironment.load(function, package=options.functions)
    poller = Poller(
        queue=_find_queue(queue_name := str(function.queue)),
        invoke=environment.invoke,
        arn=queue_arn(queue_name),
        batch_size=function.batch_size,
        retry_s=options.retry_s,
    )
    options.ready_file.touch()
    poller.run()


def _find_queue(name: str) -> SqsQueue:
    # One attempt a call: the loop here is quicker than the client's own back-off while the queue is being made.
    sqs = boto3.client("sqs", config=Config(retries={"total_max_attempts": 1}))
    while True:
        try:
            return SqsQueue.find(sqs, name)
        except QueueUnavailableError:
            time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main()
