"""Agents in the records table: immutable documents found by their hash, and the state that names the current ones."""

import gzip
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from preheat import keys
from preheat.adapters.dynamodb_items import agent_state
from preheat.adapters.dynamodb_table import Table
from preheat.agent import Agent, AgentState, Profile
from preheat.errors import SourceUnavailableError
from preheat.rows import catalog_document, profile_document
from preheat.session import AgentId, TenantId
from preheat.tools import Tool

Document = TypeVar("Document")
_PROFILE: Final = TypeAdapter(Profile)
_CATALOG: Final = TypeAdapter(tuple[Tool, ...])
# Parts are cut before they are compressed: a part written again by another zlib still fits its neighbours.
_PART_BYTES: Final = 300_000
_KEPT_DOCUMENTS: Final = 32
_UNREGISTERED: Final = AgentState(agent_ver=0, catalog_ver=0, profile_sha="", catalog_sha="")


class AgentRows:
    """Reads and writes agents. Documents once read are kept in memory: they never change under their hash."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._profile = lru_cache(_KEPT_DOCUMENTS)(self._read_profile)
        self._catalog = lru_cache(_KEPT_DOCUMENTS)(self._read_catalog)

    def read_state(self, tenant: TenantId, agent: AgentId) -> AgentState | None:
        """Return the agent's counters; None when it was never registered."""
        (fields,) = self._table.get((keys.agent_partition(tenant, agent), keys.STATE))
        return agent_state(fields)

    def load(self, tenant: TenantId, agent: AgentId, *, state: AgentState) -> Agent:
        """Return the documents that `state` names."""
        partition = keys.agent_partition(tenant, agent)
        return Agent(
            agent=agent,
            state=state,
            profile=self._profile(partition, state.profile_sha),
            catalog=self._catalog(partition, state.catalog_sha),
        )

    def put(self, tenant: TenantId, agent: AgentId, *, profile: Profile, catalog: Sequence[Tool]) -> AgentState:
        """Write the documents that are new, then name them in the state.

        Raises:
            ConflictError: another writer won every retry.
        """
        partition = keys.agent_partition(tenant, agent)
        profile_bytes, catalog_bytes = profile_document(profile), catalog_document(catalog)
        profile_sha, catalog_sha = _sha256(profile_bytes), _sha256(catalog_bytes)
        named = self.read_state(tenant, agent) or _UNREGISTERED
        if profile_sha != named.profile_sha:
            self._write(partition, profile_sha, profile_bytes)
        if catalog_sha != named.catalog_sha:
            self._write(partition, catalog_sha, catalog_bytes)

        def attempt() -> AgentState:
            before = self.read_state(tenant, agent) or _UNREGISTERED
            state = AgentState(
                agent_ver=before.agent_ver + (profile_sha != before.profile_sha),
                catalog_ver=before.catalog_ver + (catalog_sha != before.catalog_sha),
                profile_sha=profile_sha,
                catalog_sha=catalog_sha,
            )
            if state != before:
                seen = {"agent_ver": before.agent_ver, "catalog_ver": before.catalog_ver}
                self._table.commit([self._table.moving((partition, keys.STATE), seen=seen, to=asdict(state))])
            return state

        return self._table.until_committed(attempt)

    def _write(self, partition: str, sha256: str, document: bytes) -> None:
        for part, start in enumerate(range(0, len(document), _PART_BYTES)):
            body = gzip.compress(document[start : start + _PART_BYTES], mtime=0)
            self._table.put((partition, keys.blob_sort(sha256, part)), {"body": body})

    def _read_profile(self, partition: str, sha256: str) -> Profile:
        return _parsed(_PROFILE, self._read(partition, sha256))

    def _read_catalog(self, partition: str, sha256: str) -> tuple[Tool, ...]:
        return _parsed(_CATALOG, self._read(partition, sha256))

    def _read(self, partition: str, sha256: str) -> bytes:
        rows = self._table.query(partition, prefix=keys.blob_prefix(sha256))
        try:
            document = b"".join(gzip.decompress(row["body"]) for row in rows if isinstance(row["body"], bytes))
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise SourceUnavailableError("a stored document is not readable") from error
        if _sha256(document) != sha256:
            raise SourceUnavailableError("a stored document is not whole")
        return document


def _sha256(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest()


def _parsed(adapter: TypeAdapter[Document], document: bytes) -> Document:
    try:
        return adapter.validate_json(document)
    except ValidationError as error:
        raise SourceUnavailableError("a stored document is not of this schema") from error
