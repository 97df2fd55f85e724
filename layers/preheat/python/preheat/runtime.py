"""Wiring: the one place that builds clients and adapters, each when it is first used, once per process."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from preheat import names
from preheat.adapters.ceiling_counter import CeilingCounter
from preheat.adapters.observability import logger
from preheat.adapters.system_clock import SystemClock
from preheat.errors import PreheatError, SettingsError
from preheat.policy import PrefillPolicy
from preheat.ports import (
    Clock,
    DeadLetters,
    EventBus,
    Limits,
    ModelEndpoint,
    Ports,
    Records,
    TokenCounter,
    WarmStore,
)
from preheat.settings import Settings, from_env

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient
    from mypy_boto3_sqs import SQSClient

    from preheat.adapters.valkey_store import CredentialProvider

_WORKERS: Final = 16
# Seconds. A warm-up may read a long prefix before its one token; everything else answers in milliseconds.
_CONNECT_S: Final = 0.5
_READ_S: Final = 2.0
_ENGINE_READ_S: Final = 110.0
# The claim on a warm-up outlives the function that holds it, and ends before its message comes back.
_CLAIM_TTL_S: Final = 125.0


class Runtime:
    """The adapters of one deployment, built from its settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def ports(self) -> Ports:
        """Everything that the use cases touch."""
        settings = self._settings
        return Ports(
            records=self._records,
            store=self._store,
            endpoint=self._endpoint,
            counter=self.counter,
            bus=self._bus,
            clock=self._clock,
            executor=ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="preheat"),
            limits=Limits(
                model=settings.model_id,
                bundle_ttl_s=settings.bundle_ttl_s,
                session_ttl_s=settings.session_ttl_s,
                claim_ttl_s=_CLAIM_TTL_S,
                prefill=PrefillPolicy(
                    enabled=settings.prefill,
                    min_tokens=settings.min_prefix_tokens,
                    ttl_s=settings.prefix_ttl_s,
                ),
            ),
        )

    def prepare(self) -> None:
        """Build what every answer needs, so that the first one does not wait for it.

        Raises:
            SettingsError: the tokenizer that is named cannot be used.
        """
        _ = self.counter.name, self.counter.count(""), self.ports, self._dynamodb, self._engine

    @cached_property
    def dead_letters(self) -> DeadLetters:
        """Where this function rejects records to.

        Raises:
            SettingsError: this function has no dead-letter queue.
        """
        from preheat.adapters.event_bus import SqsDeadLetters  # noqa: PLC0415  # only queue functions pay for it

        if self._settings.dead_letter_url is None:
            raise SettingsError("this function reads a queue but no dead-letter queue is named")
        client: SQSClient = _client("sqs")
        return SqsDeadLetters(client, queue_url=self._settings.dead_letter_url)

    @cached_property
    def _clock(self) -> Clock:
        return SystemClock()

    @cached_property
    def _dynamodb(self) -> "DynamoDBClient":
        client: DynamoDBClient = _client("dynamodb")
        return client

    @cached_property
    def _records(self) -> Records:
        from preheat.adapters.dynamodb_records import DynamoDBRecords  # noqa: PLC0415  # import cost, see above

        return DynamoDBRecords(self._dynamodb, table=self._settings.records_table)

    @cached_property
    def _store(self) -> WarmStore:
        from preheat.adapters.dynamodb_store import DynamoDBWarmStore  # noqa: PLC0415
        from preheat.adapters.tiered_store import TieredWarmStore  # noqa: PLC0415

        tiers: list[tuple[str, WarmStore]] = []
        if self._settings.cache_url is not None:
            from preheat.adapters.valkey_store import ValkeyWarmStore  # noqa: PLC0415  # only where there is a cache

            cache_tier = ValkeyWarmStore(
                self._settings.cache_url, cluster=self._settings.cache_cluster, credentials=self._cache_credentials()
            )
            tiers.append(("valkey", cache_tier))
        tiers.append(("dynamodb", DynamoDBWarmStore(self._dynamodb, table=self._settings.warm_table)))
        return TieredWarmStore(tiers, clock=self._clock, on_fault=_log_fault)

    @cached_property
    def _engine(self) -> "SageMakerRuntimeClient":
        client: SageMakerRuntimeClient = _client("sagemaker-runtime", read_s=_ENGINE_READ_S, attempts=1)
        return client

    def _cache_credentials(self) -> "CredentialProvider | None":
        user, name = self._settings.cache_iam_user, self._settings.cache_name
        if user is None:
            return None
        if name is None:
            raise SettingsError(f"{names.ENV_CACHE_IAM_USER} is set but {names.ENV_CACHE_NAME} is not")
        import boto3  # noqa: PLC0415

        from preheat.adapters.valkey_iam import ElastiCacheIamCredentials  # noqa: PLC0415

        session = boto3.Session()
        credentials, region = session.get_credentials(), session.region_name
        if credentials is None or region is None:
            raise SettingsError("IAM authentication of the cache needs AWS credentials and a region")
        return ElastiCacheIamCredentials(credentials, user=user, cache=name, region=region)

    @cached_property
    def _endpoint(self) -> ModelEndpoint:
        from preheat.adapters.sagemaker_endpoint import SageMakerEndpoint  # noqa: PLC0415

        return SageMakerEndpoint(
            lambda: self._engine,
            endpoint_name=self._settings.endpoint_name,
            inference_component=self._settings.inference_component,
        )

    @cached_property
    def counter(self) -> TokenCounter:
        """How this deployment counts tokens."""
        if self._settings.tokenizer_file is None:
            return CeilingCounter()
        from preheat.adapters.tokenizer_counter import TokenizerCounter  # noqa: PLC0415  # only where there is one

        return TokenizerCounter(self._settings.tokenizer_file)

    @cached_property
    def _bus(self) -> EventBus:
        from preheat.adapters.event_bus import EventBridgeBus  # noqa: PLC0415

        return EventBridgeBus(partial(_client, "events"), bus=self._settings.bus)


def _client(service: str, *, read_s: float = _READ_S, attempts: int = 2) -> Any:  # noqa: ANN401  # narrowed by callers
    import boto3  # noqa: PLC0415  # 300 ms of import that a warm start must not pay twice
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        connect_timeout=_CONNECT_S,
        read_timeout=read_s,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=_WORKERS * 2,
        tcp_keepalive=True,
    )
    return boto3.client(service, config=config)  # type: ignore[call-overload]  # the name is one of ours, not a literal


def _log_fault(tier: str, error: PreheatError) -> None:
    logger.warning("store tier out of service", tier=tier, code=error.code)


@cache
def get_runtime() -> Runtime:
    """Return this process's runtime.

    Raises:
        SettingsError: the environment is not usable.
    """
    return Runtime(from_env(os.environ))
