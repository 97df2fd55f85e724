"""A synthesised cloud assembly, read back as plain JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]


def run_app(*settings: str, context: Mapping[str, str], out: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m infra.app` on a machine without node and without AWS credentials.

    `context` is what was typed behind `cdk -c`; the CDK's command line hands it on in this variable.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_", "JSII_"))}
    return subprocess.run(  # our own module, with settings of the tests
        [sys.executable, "-m", "infra.app", *settings],
        cwd=ROOT,
        env={**environment, "CDK_OUTDIR": str(out), "CDK_CONTEXT_JSON": json.dumps(context), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@dataclass(frozen=True, slots=True)
class Assembly:
    """Templates by the last part of their stack's name, and the report of the checks."""

    folder: Path
    templates: dict[str, Json]

    @classmethod
    def read(cls, folder: Path) -> "Assembly":
        """Read every template in `folder`."""
        paths = sorted(folder.glob("*.template.json"))
        return cls(folder, {_stack(path): json.loads(path.read_text(encoding="utf-8")) for path in paths})

    def resources(self, kind: str) -> dict[str, Json]:
        """Return the resources of one CloudFormation type, in every stack, by logical id."""
        return {
            name: resource
            for template in self.templates.values()
            for name, resource in template["Resources"].items()
            if resource["Type"] == kind
        }

    def properties(self, kind: str) -> list[Json]:
        """Return the properties of every resource of one type."""
        return [resource.get("Properties", {}) for resource in self.resources(kind).values()]

    def function(self, folder: str) -> Json:
        """Return the properties of the function that runs `functions/<folder>`."""
        marks = (f"functions.{folder}.", f"functions/{folder}/")
        (found,) = (one for one in self.properties("AWS::Lambda::Function") if one["Handler"].startswith(marks))
        return found

    def statements(self, role: Json) -> Iterator[Json]:
        """Yield what the policies of a role allow; `role` is how a resource refers to it."""
        name = role["Fn::GetAtt"][0]
        for policy in self.properties("AWS::IAM::Policy"):
            if {"Ref": name} in policy["Roles"]:
                yield from policy["PolicyDocument"]["Statement"]

    def allowed(self, folder: str) -> dict[str, str]:
        """Return every action that a function may take, with the resources as text."""
        return {
            action: json.dumps(statement["Resource"])
            for statement in self.statements(self.function(folder)["Role"])
            for action in _as_list(statement["Action"])
        }

    def asset(self, key: str) -> Path:
        """Return the staged folder of the asset with this S3 key."""
        return self.folder / f"asset.{key.removesuffix('.zip')}"

    def report(self) -> list[Json]:
        """Return what each validation plugin reported."""
        written = json.loads((self.folder / "validation-report.json").read_text(encoding="utf-8"))
        reports: list[Json] = written["pluginReports"]
        return reports


def _stack(path: Path) -> str:
    return path.name.removesuffix(".template.json").rsplit("-", 1)[1]


def _as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
