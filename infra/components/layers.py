"""The layers under every function: our package, what it needs, and the model's tokenizer where there is one."""

import sys
from pathlib import Path

from aws_cdk import Annotations, IgnoreMode, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra import layers

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = lambda_.Architecture.ARM_64
RUNTIME = lambda_.Runtime.PYTHON_3_14
# What never belongs into an asset: it would change the asset's hash with every test run.
LITTER = ("__pycache__", "*.pyc")
# Where a function finds what its layers hold.
LAYERS_ROOT = "/opt"


class Layers(Construct):
    """`preheat` as it lies in `layers/preheat`, the third-party packages, and a `tokenizer.json`.

    The packages are built when they are uploaded: the assembly holds the command `python -m infra.layers`, which
    `cdk deploy` runs and which prints the path of a zip. So a synthesis needs no network, its template is the same
    whether the zip is there or not, and a build that fails stops the deployment before the stack is changed.
    """

    def __init__(self, scope: Construct, name: str, *, tokenizer: Path | None) -> None:
        super().__init__(scope, name)
        self.all: list[lambda_.ILayerVersion] = [
            self._layer(
                "Preheat",
                lambda_.Code.from_asset(
                    str(ROOT / "layers" / "preheat"), exclude=list(LITTER), ignore_mode=IgnoreMode.GIT
                ),
                "the package preheat",
            ),
            self._dependencies(),
        ]
        if tokenizer is not None:
            self.all.append(self._layer("Tokenizer", _only(tokenizer), "the model's tokenizer"))

    def _dependencies(self) -> lambda_.LayerVersion:
        location = Stack.of(self).synthesizer.add_file_asset(
            source_hash=layers.source_hash(),
            executable=[sys.executable, "-m", layers.__name__],
            display_name="preheat dependencies layer",
        )
        bucket = s3.Bucket.from_bucket_name(self, "Assets", location.bucket_name)
        code = lambda_.Code.from_bucket_v2(bucket, location.object_key)
        layer = self._layer("Dependencies", code, "what preheat needs")
        Annotations.of(self).acknowledge_warning(
            "@aws-cdk/aws-lambda:codeFromBucketObjectVersionNotSpecified",
            "the key holds the hash of what is in the zip",
        )
        return layer

    def _layer(self, label: str, code: lambda_.Code, description: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            label,
            code=code,
            description=description,
            compatible_architectures=[ARCHITECTURE],
            compatible_runtimes=[RUNTIME],
        )


def _only(file: Path) -> lambda_.Code:
    """Return the asset that holds one file of a folder."""
    return lambda_.Code.from_asset(str(file.parent), exclude=["/*", f"!/{file.name}"], ignore_mode=IgnoreMode.GIT)
