"""The user pool, and what its users cannot do."""

from preheat import names
from tests.infra.assembly import Assembly

CLAIMS = {names.CLAIM_TENANT, names.CLAIM_ROLE}


def test_pool__nobody_signs_up_by_themselves(plain: Assembly) -> None:
    (pool,) = plain.properties("AWS::Cognito::UserPool")
    assert pool["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}


def test_pool__has_the_claims_and_a_tenant_never_changes(plain: Assembly) -> None:
    (pool,) = plain.properties("AWS::Cognito::UserPool")
    mutable = {f"custom:{attribute['Name']}": attribute["Mutable"] for attribute in pool["Schema"]}
    assert mutable == {names.CLAIM_TENANT: False, names.CLAIM_ROLE: True}


def test_client__tokens_hold_the_claims_and_their_holder_cannot_write_them(plain: Assembly) -> None:
    (client,) = plain.properties("AWS::Cognito::UserPoolClient")
    assert set(client["ReadAttributes"]) >= CLAIMS
    # An absent or empty list would allow every attribute.
    assert client["WriteAttributes"]
    assert not set(client["WriteAttributes"]) & CLAIMS


def test_client__has_no_way_in_but_the_two_sign_ins(plain: Assembly) -> None:
    (client,) = plain.properties("AWS::Cognito::UserPoolClient")
    assert set(client["ExplicitAuthFlows"]) == {
        "ALLOW_USER_SRP_AUTH",
        "ALLOW_ADMIN_USER_PASSWORD_AUTH",
        "ALLOW_REFRESH_TOKEN_AUTH",
    }
    assert client["AllowedOAuthFlowsUserPoolClient"] is False


def test_pool__is_kept_in_prod_only(plain: Assembly, full: Assembly) -> None:
    for assembly, policy, protection in ((plain, "Delete", "INACTIVE"), (full, "Retain", "ACTIVE")):
        (pool,) = assembly.resources("AWS::Cognito::UserPool").values()
        assert (pool["DeletionPolicy"], pool["Properties"]["DeletionProtection"]) == (policy, protection)
