"""The model on a GPU, and that it is absent by default."""

import json

from preheat import names
from tests.infra.assembly import Assembly


def test_gpu__is_not_there_unless_asked_for(plain: Assembly) -> None:
    kinds = {one["Type"] for template in plain.templates.values() for one in template["Resources"].values()}
    assert not [kind for kind in kinds if kind.startswith("AWS::SageMaker::")]


def test_model__is_awss_vllm_with_prefix_caching_and_counted_tokens(full: Assembly) -> None:
    (model,) = full.properties("AWS::SageMaker::Model")
    container = model["PrimaryContainer"]
    assert "763104351884" in json.dumps(container["Image"])
    settings = container["Environment"]
    assert settings["SM_VLLM_MODEL"] == full.function(names.CHAT)["Environment"]["Variables"][names.ENV_MODEL_ID]
    assert settings["SM_VLLM_ENABLE_PREFIX_CACHING"] == "true"
    assert settings["SM_VLLM_ENABLE_PROMPT_TOKENS_DETAILS"] == "true"


def test_model__a_running_prefill_cannot_hold_up_the_others(full: Assembly) -> None:
    (model,) = full.properties("AWS::SageMaker::Model")
    settings = model["PrimaryContainer"]["Environment"]
    assert settings["SM_VLLM_MAX_NUM_BATCHED_TOKENS"] == "512"
    assert settings["SM_VLLM_LONG_PREFILL_TOKEN_THRESHOLD"] == "256"


def test_endpoint__routes_by_prefix_and_may_go_down_to_nothing(full: Assembly) -> None:
    (config,) = full.properties("AWS::SageMaker::EndpointConfig")
    (variant,) = config["ProductionVariants"]
    routing = variant["RoutingConfig"]
    assert routing["RoutingStrategy"] == "PREFIX_AWARE"
    assert 1024 <= routing["PrefixAwareRoutingConfig"]["PrefixLength"] <= 65536
    assert 1 <= routing["PrefixAwareRoutingConfig"]["ConcurrencyThreshold"] <= 1024
    assert variant["ManagedInstanceScaling"] == {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 3}
    assert variant["InstanceType"] == "ml.g6.xlarge"
    assert "ModelName" not in variant


def test_component__is_the_model_on_one_gpu_of_that_variant(full: Assembly) -> None:
    (config,) = full.properties("AWS::SageMaker::EndpointConfig")
    (component,) = full.properties("AWS::SageMaker::InferenceComponent")
    (model,) = full.resources("AWS::SageMaker::Model")
    assert component["VariantName"] == config["ProductionVariants"][0]["VariantName"]
    specification = component["Specification"]
    assert specification["ModelName"] == {"Fn::GetAtt": [model, "ModelName"]}
    assert specification["ComputeResourceRequirements"]["NumberOfAcceleratorDevicesRequired"] == 1


def test_role__pulls_the_one_image_and_writes_its_logs(full: Assembly) -> None:
    (model,) = full.properties("AWS::SageMaker::Model")
    allowed = {
        action: json.dumps(statement["Resource"])
        for statement in full.statements(model["ExecutionRoleArn"])
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    assert allowed["ecr:BatchGetImage"].endswith(':763104351884:repository/vllm"]]}')
    assert {action.split(":")[0] for action in allowed} == {"ecr", "logs"}
