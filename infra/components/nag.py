"""Findings of cdk-nag that are accepted, each with its reason and as near to the resource as can be."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

PACK = "AwsSolutions"


def accept(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept one finding for one construct and what it holds.

    Args:
        construct: Where the finding is reported, or a parent of it.
        rule: The rule without its pack, with the finding where the rule has several: `IAM5[Resource::*]`.
        reason: Why the finding does not apply, for the next reader.
    """
    Validations.of(construct).acknowledge(Acknowledgment(id=f"{PACK}::{PACK}-{rule}", reason=reason))
