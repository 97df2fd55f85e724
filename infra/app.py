"""Synthesise: `python -m infra.app [key=value ...]`, or `cd infra && npx cdk deploy --all [-c key=value ...]`.

The settings are those of `infra.config`. Neither way needs an account, Docker or the network. Without the CDK's command
line the templates go to `.build/cdk.out`.
"""

import json
import os
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path

from infra.config import ConfigError, parse
from infra.node import choose_node

_HERE = Path(__file__).resolve().parent
DEFAULT_OUT = _HERE.parent / ".build" / "cdk.out"
# Set by the CDK's command line, which reads the assembly there.
OUT_VARIABLE = "CDK_OUTDIR"


def main(arguments: Sequence[str], environment: MutableMapping[str, str]) -> int:
    """Synthesise with the settings in `arguments`; 0 when it went well, 1 when a check failed, 2 on a wrong setting."""
    choose_node(environment)
    defaults: dict[str, object] = json.loads((_HERE / "cdk.json").read_text(encoding="utf-8"))["context"]
    alone = OUT_VARIABLE not in environment
    try:
        given = _settings(arguments)
        if alone:
            # A slip of the fingers is told at once. Under the CDK's command line more settings come with the app.
            parse({**defaults, **given})
        # Importing the CDK starts node, so not before it was chosen.
        from infra.assembly import synthesise  # noqa: PLC0415  # see the line above

        written = synthesise(defaults=defaults, given=given, folder=DEFAULT_OUT if alone else None)
    except ConfigError as error:
        sys.stderr.write(f"infra.app: {error}\n")
        return 2
    except RuntimeError as error:
        sys.stderr.write(f"infra.app: {error}\n")
        return 1
    if alone:
        sys.stdout.write(f"{written}\n")
    return 0


def _settings(arguments: Sequence[str]) -> dict[str, str]:
    settings = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not key or not equals:
            raise ConfigError(f"settings are written key=value, not {argument!r}")
        settings[key] = value
    return settings


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
