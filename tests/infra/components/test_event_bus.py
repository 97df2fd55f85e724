"""The bus and its rules."""

from infra import topology
from preheat import names
from tests.infra.assembly import Assembly

STAGE = "-dev"


def test_bus__is_one_and_has_its_name(plain: Assembly) -> None:
    assert [bus["Name"] for bus in plain.properties("AWS::Events::EventBus")] == [names.BUS + STAGE]


def test_rules__are_those_of_the_topology_and_no_other(plain: Assembly) -> None:
    (bus,) = plain.resources("AWS::Events::EventBus")
    found = {
        (rule["Name"].removesuffix(STAGE), *rule["EventPattern"]["source"], *rule["EventPattern"]["detail-type"])
        for rule in plain.properties("AWS::Events::Rule")
        if rule["EventBusName"] == {"Ref": bus} and rule["State"] == "ENABLED"
    }
    assert found == {(rule.name, rule.source, *rule.detail_types) for rule in topology.RULES}


def test_rule__sends_the_whole_envelope_to_its_queue(plain: Assembly) -> None:
    queues = plain.resources("AWS::SQS::Queue")
    letters = {queue.name: queue.dead_letters for queue in topology.QUEUES}
    rules = {rule["Name"].removesuffix(STAGE): rule for rule in plain.properties("AWS::Events::Rule")}
    for rule in topology.RULES:
        (target,) = rules[rule.name]["Targets"]
        to, undelivered = (
            queues[arn["Fn::GetAtt"][0]]["Properties"]["QueueName"].removesuffix(STAGE)
            for arn in (target["Arn"], target["DeadLetterConfig"]["Arn"])
        )
        assert (to, undelivered) == (rule.queue, letters[rule.queue])
        assert not {"Input", "InputPath", "InputTransformer"} & set(target)


def test_bus__only_publishers_may_put_events(plain: Assembly) -> None:
    (bus,) = plain.resources("AWS::Events::EventBus")
    for function in topology.FUNCTIONS:
        allowed = plain.allowed(function.folder)
        assert ("events:PutEvents" in allowed) is function.publishes
        assert not function.publishes or bus in allowed["events:PutEvents"]
