"""The part that stands in for DynamoDB, EventBridge and SQS: moto's server, with the topology made in it.

    python -m infra.local.aws --port 4566 --ready-file aws.ready

Run moto's own `moto_server` and two concurrent DynamoDB transactions may overwrite each other, since its tables are
plain dictionaries served by threads. Here DynamoDB calls are taken one at a time, so that conditions and transactions
are atomic, as they are in the cloud.
"""

import argparse
import logging
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from infra.local.addresses import REGION
from infra.local.moto_queries import use_partitions
from infra.local.moto_transactions import use_touched_rows
from infra.local.ports import HOST
from infra.local.resources import create_resources

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_DYNAMODB_TARGET = "DynamoDB_"


class OneAtATime:
    """WSGI app that lets only one DynamoDB call at a time through to `app`; other services' calls pass freely."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app
        self._lock = threading.Lock()

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Serve one call."""
        if not str(environ.get("HTTP_X_AMZ_TARGET", "")).startswith(_DYNAMODB_TARGET):
            return self._app(environ, start_response)
        with self._lock:
            return self._app(environ, start_response)


def main() -> None:
    """Serve until the process is ended; `--ready-file` is made once every resource is there."""
    parser = argparse.ArgumentParser(prog="infra.local.aws", description=main.__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ready-file", type=Path, required=True)
    options = parser.parse_args()

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # one line per call otherwise
    use_touched_rows()
    use_partitions()
    app = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server(HOST, options.port, app, threaded=True, request_handler=MotoRequestHandler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()

    url = f"http://{HOST}:{options.port}"
    session = boto3.session.Session(region_name=REGION)
    create_resources(
        dynamodb=session.client("dynamodb", endpoint_url=url),
        events=session.client("events", endpoint_url=url),
        sqs=session.client("sqs", endpoint_url=url),
    )
    options.ready_file.touch()
    serving.join()


if __name__ == "__main__":
    main()
