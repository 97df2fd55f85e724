"""The tables and who may change them."""

from infra import topology
from preheat import names
from tests.infra.assembly import Assembly, Json


def _tables(assembly: Assembly) -> dict[str, Json]:
    stage = "-prod" if "Network" in assembly.templates else "-dev"
    found = assembly.resources("AWS::DynamoDB::GlobalTable").values()
    return {one["Properties"]["TableName"].removesuffix(stage): one for one in found}


def test_tables__are_those_of_the_topology_and_no_other(plain: Assembly) -> None:
    assert set(_tables(plain)) == {table.name for table in topology.TABLES}
    assert plain.resources("AWS::DynamoDB::Table") == {}


def test_tables__have_the_keys_the_expiry_and_the_billing_of_the_topology(plain: Assembly) -> None:
    tables = _tables(plain)
    for table in topology.TABLES:
        built = tables[table.name]["Properties"]
        assert [key["AttributeName"] for key in built["KeySchema"]] == [table.partition_key, table.sort_key]
        assert built["TimeToLiveSpecification"] == {"AttributeName": table.ttl_attribute, "Enabled": True}
        assert built["BillingMode"] == "PAY_PER_REQUEST"
        assert built["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}


def test_tables__only_durable_ones_can_be_restored(full: Assembly) -> None:
    tables = _tables(full)
    for table in topology.TABLES:
        (replica,) = tables[table.name]["Properties"]["Replicas"]
        assert replica["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": table.durable}


def test_tables__only_durable_ones_in_prod_are_kept(plain: Assembly, full: Assembly) -> None:
    for assembly, stage in ((plain, "dev"), (full, "prod")):
        tables = _tables(assembly)
        for table in topology.TABLES:
            kept = table.durable and stage == "prod"
            (replica,) = tables[table.name]["Properties"]["Replicas"]
            assert replica["DeletionProtectionEnabled"] is kept
            assert tables[table.name]["DeletionPolicy"] == ("Retain" if kept else "Delete")


def test_grants__a_function_changes_only_what_the_topology_says(plain: Assembly) -> None:
    for function in topology.FUNCTIONS:
        statements = list(plain.statements(plain.function(function.folder)["Role"]))
        for table in topology.TABLES:
            actions = {
                action.removeprefix("dynamodb:")
                for statement in statements
                for action in statement["Action"]
                if action.startswith("dynamodb:") and table.name.replace("-", "") in str(statement["Resource"])
            }
            assert {"GetItem", "BatchGetItem", "Query"} <= actions
            assert ("PutItem" in actions) is (table.name in function.writes)
            assert ("BatchWriteItem" in actions) is (table.name in (*function.writes, *function.clears))
            assert not any("Scan" in action or "*" in action for action in actions)


def test_grants__api_does_not_write_warm_entries(plain: Assembly) -> None:
    assert "preheatwarm" not in plain.allowed(names.API)["dynamodb:PutItem"]
