#!/bin/sh
# Starts the app for the Lambda Web Adapter, which runs this file instead of Lambda's own Python loop. That loop would
# have put the layers on Python's path; here it is done by hand.
export PYTHONPATH="/opt/python:${LAMBDA_TASK_ROOT}"
exec python3 -m uvicorn functions.chat.handler:app \
  --host 127.0.0.1 --port "${PORT}" --log-level warning --no-access-log --no-server-header
