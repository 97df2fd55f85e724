"""The options `--model` and `--endpoint`: what may be given, and what the model is then called."""

from pathlib import Path
from urllib.parse import urlsplit

from infra.local.commands.failures import BadUseError
from infra.local.parts import DEFAULT_MODEL_ID


def check_choice(model: Path | None, endpoint: str | None) -> None:
    """Pass when at most one of the two is given and can be used.

    Raises:
        BadUseError: both are given, there is no such file, or it is no URL.
    """
    if model is not None and endpoint is not None:
        raise BadUseError("--model and --endpoint exclude each other")
    if model is not None and not model.is_file():
        raise BadUseError(f"--model: there is no file {model}")
    if endpoint is not None and (urlsplit(endpoint).scheme not in {"http", "https"} or not urlsplit(endpoint).netloc):
        raise BadUseError(f"--endpoint: {endpoint} is no http or https URL")


def name_model(model: Path | None, endpoint: str | None) -> str:
    """Return a name for keys and stamps: that of the file or of the server's host, else the shipped model's."""
    if model is not None:
        return model.stem
    if endpoint is not None:
        return urlsplit(endpoint).netloc
    return DEFAULT_MODEL_ID
