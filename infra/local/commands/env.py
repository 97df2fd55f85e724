"""`preheat env`: addresses and tokens of the running stack as shell variables."""

import time
from pathlib import Path
from typing import Annotated

import typer

from infra.local.commands.failures import BadUseError
from infra.local.parts import DEFAULT_STATE_DIR
from infra.local.state_file import NoStackError, read_state
from infra.local.tokens import mint_token

_EIGHT_HOURS_S = 8 * 3600.0


def env(
    *,
    tenant: Annotated[str, typer.Option(help="Tenant that the tokens belong to.")],
    user: Annotated[str, typer.Option(help="User of $USER_TOKEN.")],
    state_dir: Annotated[Path, typer.Option(help="The stack's folder.")] = DEFAULT_STATE_DIR,
) -> None:
    """Print GATEWAY, AWS_URL, SERVICE and USER_TOKEN of the running stack, for `eval "$(preheat env ...)"`."""
    if not tenant or not user:
        raise BadUseError("--tenant and --user must not be empty")
    try:
        state = read_state(state_dir)
    except NoStackError as error:
        raise BadUseError(str(error)) from error

    def minted(who: str, *, service: bool) -> str:
        return mint_token(
            state.token_secret, tenant=tenant, user=who, service=service, now=time.time(), ttl_s=_EIGHT_HOURS_S
        )

    variables = {
        "GATEWAY": state.urls["gateway"],
        "AWS_URL": state.urls["aws"],
        "SERVICE": minted("app", service=True),
        "USER_TOKEN": minted(user, service=False),
    }
    for name, value in variables.items():
        typer.echo(f"export {name}={value}")
