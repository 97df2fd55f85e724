"""Who may call the model, and by which name."""

from infra import topology
from preheat import names
from tests.infra.assembly import Assembly


def test_endpoint__only_those_who_call_the_model_may(plain: Assembly, full: Assembly) -> None:
    for assembly in (plain, full):
        for function in topology.FUNCTIONS:
            allowed = assembly.allowed(function.folder)
            for action in ("sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream"):
                assert (action in allowed) is function.invokes_model


def test_endpoint__external_one_is_called_by_its_name(plain: Assembly) -> None:
    variables = plain.function(names.CHAT)["Environment"]["Variables"]
    assert variables[names.ENV_ENDPOINT_NAME] == "preheat-dev"
    assert names.ENV_INFERENCE_COMPONENT not in variables
    assert plain.allowed(names.CHAT)["sagemaker:InvokeEndpoint"].count(":endpoint/preheat-dev") == 1


def test_endpoint__own_one_is_called_by_its_component(full: Assembly) -> None:
    (endpoint,) = full.properties("AWS::SageMaker::Endpoint")
    (component,) = full.properties("AWS::SageMaker::InferenceComponent")
    variables = full.function(names.CHAT)["Environment"]["Variables"]
    assert variables[names.ENV_ENDPOINT_NAME] == endpoint["EndpointName"]
    assert variables[names.ENV_INFERENCE_COMPONENT] == component["InferenceComponentName"]
    called = full.allowed(names.CHAT)["sagemaker:InvokeEndpoint"]
    assert f":endpoint/{endpoint['EndpointName']}" in called
    assert f":inference-component/{component['InferenceComponentName']}" in called
