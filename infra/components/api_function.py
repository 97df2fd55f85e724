"""The function that serves the JSON routes."""

from constructs import Construct

from infra import topology
from infra.components.function import Entrance, PreheatFunction, Surroundings, handler_name


class ApiFunction(Construct):
    """Answers API Gateway's proxy events."""

    def __init__(self, scope: Construct, name: str, *, spec: topology.Function, around: Surroundings) -> None:
        super().__init__(scope, name)
        entrance = Entrance(handler=handler_name(spec.folder))
        self.function = PreheatFunction(self, "Api", spec=spec, around=around, entrance=entrance).function
