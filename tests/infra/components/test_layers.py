"""The layers under every function."""

import json

from infra import layers, topology
from preheat import names
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


def test_layers__a_tokenizer_lies_alone_where_every_function_is_told(full: Assembly) -> None:
    (layer,) = (one for one in full.properties("AWS::Lambda::LayerVersion") if "tokenizer" in one["Description"])
    assert [path.name for path in full.asset(layer["Content"]["S3Key"]).iterdir()] == ["tokenizer.json"]
    for function in topology.FUNCTIONS:
        properties = full.function(function.folder)
        assert properties["Environment"]["Variables"][names.ENV_TOKENIZER_FILE] == "/opt/tokenizer.json"
        assert len([used for used in properties["Layers"] if "Ref" in used]) == 3


def test_layers__without_a_tokenizer_no_function_is_told_of_one(plain: Assembly) -> None:
    for function in topology.FUNCTIONS:
        assert names.ENV_TOKENIZER_FILE not in plain.function(function.folder)["Environment"]["Variables"]
