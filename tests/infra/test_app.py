"""The command, the stacks of a deployment, and the checks that every template passes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from infra import app
from tests.infra.assembly import ROOT, Assembly

# W3005: the CDK writes a function's dependency on its role beside the reference, for the sake of the role's policy.
_CFN_LINT = (
    str(Path(sys.executable).with_name("cfn-lint")),
    *("--non-zero-exit-code", "informational", "--ignore-checks", "W3005", "--"),
)

_LOGS_POLICY = "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]"
_SAGEMAKER_LOGS = "arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:/aws/sagemaker/*"
_ACCEPTED_ALWAYS = {"COG2", "COG8", "APIG3", _LOGS_POLICY}
_ACCEPTED_WHEN_FULL = _ACCEPTED_ALWAYS | {"IAM5[Resource::*]", f"IAM5[Resource::{_SAGEMAKER_LOGS}]"}


def _accepted(assembly: Assembly) -> set[str]:
    (report,) = assembly.report()
    assert (report["pluginName"], report["conclusion"], report["violations"]) == ("AwsSolutions", "success", [])
    return {one["ruleName"].removeprefix("AwsSolutions-") for one in report["suppressedViolations"]}


def test_stacks__plain_has_neither_network_nor_model(plain: Assembly) -> None:
    assert set(plain.templates) == {"Storage", "App"}


def test_stacks__full_has_all_four(full: Assembly) -> None:
    assert set(full.templates) == {"Network", "Storage", "Model", "App"}


def test_nag__plain_accepts_only_what_is_known(plain: Assembly) -> None:
    assert _accepted(plain) == _ACCEPTED_ALWAYS


def test_nag__full_accepts_only_what_is_known(full: Assembly) -> None:
    assert _accepted(full) == _ACCEPTED_WHEN_FULL


def test_cfn_lint__finds_nothing_in_any_template(plain: Assembly, full: Assembly) -> None:
    templates = [str(path) for one in (plain, full) for path in sorted(one.folder.glob("*.template.json"))]
    command = [*_CFN_LINT, *templates]
    linted = subprocess.run(command, capture_output=True, text=True, check=False)  # a pinned tool
    assert (linted.returncode, linted.stdout, linted.stderr) == (0, "", "")


def test_stacks__need_no_account_and_no_region(full: Assembly) -> None:
    manifest = json.loads((full.folder / "manifest.json").read_text(encoding="utf-8"))
    stacks = [one for one in manifest["artifacts"].values() if one["type"] == "aws:cloudformation:stack"]
    assert {one["environment"] for one in stacks} == {"aws://unknown-account/unknown-region"}
    assert "missing" not in manifest


def test_stacks__what_outlives_the_rest_is_protected_in_prod_only(plain: Assembly, full: Assembly) -> None:
    def protected(assembly: Assembly) -> set[str]:
        manifest = json.loads((assembly.folder / "manifest.json").read_text(encoding="utf-8"))
        return {
            name.rsplit("-", 1)[1]
            for name, one in manifest["artifacts"].items()
            if one.get("properties", {}).get("terminationProtection")
        }

    assert (protected(plain), protected(full)) == (set(), {"Storage"})


def test_cdk_json__runs_the_same_module_with_the_projects_python() -> None:
    settings = json.loads((ROOT / "infra" / "cdk.json").read_text(encoding="utf-8"))
    assert settings["app"].split()[1:] == ["-m", "infra.app"]
    assert (ROOT / "infra" / settings["output"]).resolve() == app.DEFAULT_OUT


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("cache=redis", "cache must be none or valkey, not 'redis'"),
        ("valkey", "settings are written key=value, not 'valkey'"),
        ("cahce=valkey", "unknown setting 'cahce'"),
    ],
)
def test_main__wrong_setting_is_told_in_one_line(argument: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = app.main([argument], {})
    written = capsys.readouterr().err
    assert code == 2
    assert told in written
    assert written.count("\n") == 1
