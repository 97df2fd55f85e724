"""The layers under every function."""

import json

from infra import layers, topology
from tests.infra.assembly import ROOT, Assembly


def test_layers__every_function_has_both(plain: Assembly) -> None:
    both = set(plain.resources("AWS::Lambda::LayerVersion"))
    assert len(both) == 2
    for function in topology.FUNCTIONS:
        used = {layer["Ref"] for layer in plain.function(function.folder)["Layers"] if "Ref" in layer}
        assert used == both


def test_layers__preheat_is_the_package_as_it_lies(plain: Assembly) -> None:
    (layer,) = (one for one in plain.properties("AWS::Lambda::LayerVersion") if "package" in one["Description"])
    staged = plain.asset(layer["Content"]["S3Key"])
    source = ROOT / "layers" / "preheat"
    assert {path.name for path in staged.iterdir()} == {"python"}
    assert (staged / "python" / "preheat" / "names.py").read_bytes() == (
        source / "python" / "preheat" / "names.py"
    ).read_bytes()
    assert not list(staged.rglob("__pycache__"))


def test_layers__dependencies_are_built_by_the_upload(plain: Assembly) -> None:
    (listed,) = plain.folder.glob("*-App.assets.json")
    assets = json.loads(listed.read_text(encoding="utf-8"))["files"]
    asset = assets[layers.source_hash()]
    assert asset["source"]["executable"][1:] == ["-m", "infra.layers"]
    (layer,) = (one for one in plain.properties("AWS::Lambda::LayerVersion") if "needs" in one["Description"])
    (destination,) = asset["destinations"].values()
    assert layer["Content"]["S3Key"] == destination["objectKey"]
