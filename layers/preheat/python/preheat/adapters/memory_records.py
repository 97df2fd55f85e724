"""The source of truth in memory: the shipped fake, with the semantics of the table under the same contract suite."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import RLock

from preheat.agent import Agent, AgentState, Profile
from preheat.errors import ConflictError, SourceUnavailableError
from preheat.history import Turn
from preheat.ports import NewTurn, Versions
from preheat.preferences import Preference, PreferenceValue
from preheat.rows import catalog_document, checked_turns, profile_document, value_json
from preheat.session import AgentId, Scope, SessionId, SessionRecord, TenantId, UserId
from preheat.stamp import Frozen, UserState
from preheat.tools import Tool
