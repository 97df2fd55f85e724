"""`preheat token`: a bearer token for the running stack."""

import time
from pathlib import Path
from typing import Annotated

import typer

from infra.local.commands.failures import BadUseError
from infra.local.parts import DEFAULT_STATE_DIR
from infra.local.state_file import NoStackError, read_state
from infra.local.tokens import mint_token

_EIGHT_HOURS_S = 8 * 3600


def token(
    *,
    tenant: Annotated[str, typer.Option(help="Tenant that the bearer belongs to.")],
    user: Annotated[str, typer.Option(help="User that the bearer is.")],
    service: Annotated[
        bool, typer.Option("--service", help="May name any user of its tenant, and owns agents.")
    ] = False,
    ttl_s: Annotated[int, typer.Option(min=1, help="Seconds until it expires.")] = _EIGHT_HOURS_S,
    state_dir: Annotated[Path, typer.Option(help="The stack's folder.")] = DEFAULT_STATE_DIR,
) -> None:
    """Print a bearer token that the running stack accepts."""
    if not tenant or not user:
        raise BadUseError("--tenant and --user must not be empty")
    try:
        state = read_state(state_dir)
    except NoStackError as error:
        raise BadUseError(str(error)) from error
    typer.echo(mint_token(state.token_secret, tenant=tenant, user=user, service=service, now=time.time(), ttl_s=ttl_s))
