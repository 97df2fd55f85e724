"""The network that ElastiCache needs: no way in from the internet, and none out."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

# A serverless cache wants subnets in at least two zones.
_ZONES = 2
_HTTPS = ec2.Port.tcp(443)
# 6379 serves writes and reads, 6380 the reads from replicas that the cluster's map names as well.
CACHE_PORTS = ec2.Port.tcp_range(6379, 6380)
_ENDPOINTS = {
    "Sqs": ec2.InterfaceVpcEndpointAwsService.SQS,
    "Events": ec2.InterfaceVpcEndpointAwsService.EVENTBRIDGE,
    "SageMakerRuntime": ec2.InterfaceVpcEndpointAwsService.SAGEMAKER_RUNTIME,
}


class PrivateNetwork(Construct):
    """Isolated subnets in two zones without a NAT gateway, and endpoints for just what the functions call.

    DynamoDB has a gateway endpoint (free); SQS, EventBridge and the SageMaker runtime have interface endpoints. Logs
    need none: Lambda ships them outside the VPC.
    """

    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr("10.42.0.0/20"),
            max_azs=_ZONES,
            nat_gateways=0,
            # Nothing joins the default group, and closing it would take a function of its own.
            restrict_default_security_group=False,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24)
            ],
        )
        self.subnets = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
        flow_logs = logs.LogGroup(
            self, "FlowLogs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        self.vpc.add_flow_log(
            "Rejected",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(flow_logs),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )
        self.functions = self._group("Functions", "functions of preheat")
        self.cache = self._group("Cache", "cache of preheat")
        endpoints = self._group("Endpoints", "interface endpoints of preheat")
        # The subnets route nowhere but to the endpoints; DynamoDB's gateway has only a prefix list, which a template
        # cannot name for every region.
        self.functions.add_egress_rule(ec2.Peer.any_ipv4(), _HTTPS, "AWS APIs through the endpoints")
        self.functions.add_egress_rule(self.cache, CACHE_PORTS, "cache")
        self.cache.add_ingress_rule(self.functions, CACHE_PORTS, "functions")
        endpoints.add_ingress_rule(self.functions, _HTTPS, "functions")
        self.vpc.add_gateway_endpoint("DynamoDb", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
        for label, service in _ENDPOINTS.items():
            self.vpc.add_interface_endpoint(
                label, service=service, subnets=self.subnets, security_groups=[endpoints], open=False
            )

    def _group(self, label: str, description: str) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(self, label, vpc=self.vpc, description=description, allow_all_outbound=False)
