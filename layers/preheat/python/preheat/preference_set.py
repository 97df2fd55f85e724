"""How a user's preference set changes, said once for all records.

A change made here always counts. One that was made elsewhere counts when it is newer than all that was said of the name
before, deletions included: such changes may come late, twice and in any order, and the set is the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from preheat.canonical import canonical_json, sha256_hex
from preheat.errors import InvalidInputError, NotFoundError
from preheat.preferences import (
    MAX_PREFERENCES,
    Drift,
    NewPreference,
    Preference,
    PreferenceName,
    PreferenceValue,
    by_name,
)

# Longer than any queue keeps a change that is late, dead letters included.
TOMBSTONE_TTL_S: Final = 30 * 24 * 3600.0
# Some 30 KB in the stored set; beyond it the oldest go first.
_MAX_TOMBSTONES: Final = 400


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a change that was made elsewhere stands: its source's own count, and when it was made, in epoch seconds."""

    version: int | None = None
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """The last words on a name.

    Attributes:
        version: The highest count of changes made elsewhere; None where none was told.
        time: When the last of those was made, in epoch seconds; None where none was told.
        here_at: When the last change was made here, in epoch seconds; None where there was none.
    """

    version: int | None = None
    time: float | None = None
    here_at: float | None = None

    def admits(self, mark: Mark | None) -> bool:
        """Tell whether a change comes after all of these. Counts decide before times; None is made here and now."""
        if mark is None:
            return True
        if mark.time is not None and self.here_at is not None and mark.time <= self.here_at:
            return False
        if mark.version is not None and self.version is not None:
            return mark.version > self.version
        return mark.time is None or self.time is None or mark.time > self.time

    def after(self, mark: Mark | None, *, now: float) -> "Seen":
        """Return the last words once a change that was admitted is one of them."""
        if mark is None:
            return replace(self, here_at=_later(self.here_at, float(now)))
        version = self.version if mark.version is None else mark.version
        return replace(self, version=version, time=_later(self.time, mark.time))


@dataclass(frozen=True, slots=True)
class Entry:
    """A preference, and the last words on its name."""

    preference: Preference
    seen: Seen


@dataclass(frozen=True, slots=True)
class Tombstone:
    """That something was deleted: a hash of its name, the last words on it, and an expiry in epoch seconds."""

    name_sha: str
    seen: Seen
    expires_at: float


@dataclass(frozen=True, slots=True)
class PreferenceSet:
    """All that is kept of a user's preferences: entries sorted by name, tombstones from the oldest to the newest."""

    entries: tuple[Entry, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()

    @property
    def preferences(self) -> tuple[Preference, ...]:
        """The preferences, sorted by key, the general one before those of agents."""
        return tuple(entry.preference for entry in self.entries)

    def find(self, name: PreferenceName) -> Entry | None:
        """Return the entry of a name."""
        return next((entry for entry in self.entries if entry.preference.name == name), None)

    def seen(self, name: PreferenceName, *, now: float) -> Seen:
        """Return the last words on a name, its deletion included."""
        there = self.find(name)
        if there is not None:
            return there.seen
        name_sha = _sha(name)
        return next((one.seen for one in _unexpired(self, now) if one.name_sha == name_sha), Seen())


def with_preference(
    kept: PreferenceSet, new: NewPreference, *, version: int, now: float, mark: Mark | None = None
) -> PreferenceSet:
    """Return the set with one preference; what says the same keeps its version. Drift is called off.

    Args:
        kept: The set before.
        new: What is to be kept.
        version: The `pref_ver` that a change will have.
        now: Epoch seconds.
        mark: Of a change made elsewhere, which is left out when it is not newer. None: made here and now.

    Raises:
        InvalidInputError: the user has as many preferences as one may have.
    """
    if not kept.seen(new.name, now=now).admits(mark):
        return kept
    entry = _entry(kept, new, version=version, now=now, mark=mark)
    made = _put(kept, replace(entry, preference=replace(entry.preference, drift=None)), now)
    if len(made.entries) > MAX_PREFERENCES:
        raise InvalidInputError(f"a user has at most {MAX_PREFERENCES} preferences", field="key")
    return made


def without_preference(
    kept: PreferenceSet, name: PreferenceName, *, now: float, mark: Mark | None = None
) -> PreferenceSet:
    """Return the set without one preference, there or not; late changes cannot bring it back.

    Args:
        kept: The set before.
        name: Of the preference.
        now: Epoch seconds.
        mark: Of a deletion made elsewhere, which is left out when it is not newer. None: made here and now.
    """
    seen = kept.seen(name, now=now)
    if not seen.admits(mark):
        return kept
    stone = Tombstone(_sha(name), seen.after(mark, now=now), now + TOMBSTONE_TTL_S)
    stones = [*(one for one in _unexpired(kept, now) if one.name_sha != stone.name_sha), stone]
    entries = tuple(entry for entry in kept.entries if entry.preference.name != name)
    return PreferenceSet(entries, tuple(stones[-_MAX_TOMBSTONES:]))


def with_only(kept: PreferenceSet, wanted: Sequence[NewPreference], *, version: int, now: float) -> PreferenceSet:
    """Return the set that holds exactly `wanted`: what says the same stays as it is, the rest is deleted.

    Raises:
        InvalidInputError: there are too many, or one name is there twice.
    """
    if len(wanted) > MAX_PREFERENCES:
        raise InvalidInputError(f"a user has at most {MAX_PREFERENCES} preferences", field="preferences")
    names: set[PreferenceName] = set()
    for position, new in enumerate(wanted):
        if new.name in names:
            raise InvalidInputError("is there twice for one agent", field=f"preferences.{position}.key")
        names.add(new.name)
    made = kept
    for preference in kept.preferences:
        if preference.name not in names:
            made = without_preference(made, preference.name, now=now)
    for new in wanted:
        made = _put(made, _entry(kept, new, version=version, now=now, mark=None), now)
    return made


def with_observation(kept: PreferenceSet, name: PreferenceName, value: PreferenceValue) -> PreferenceSet:
    """Return the set after behaviour has shown `value`: against the stored one it counts, with it the count ends.

    Where the agent has no preference of its own, its users' behaviour speaks of the general one.

    Raises:
        NotFoundError: there is no such preference.
    """
    there = observable(kept, name)
    preference = there.preference
    drift = None
    if _as_meant(value) != _as_meant(preference.value):
        drift = Drift(value, preference.drift.count + 1 if preference.drift else 1)
    observed = replace(there, preference=replace(preference, drift=drift))
    return replace(kept, entries=tuple(observed if entry is there else entry for entry in kept.entries))


def observable(kept: PreferenceSet, name: PreferenceName) -> Entry:
    """Return the entry that behaviour under a name speaks of.

    Raises:
        NotFoundError: there is no such preference.
    """
    there = kept.find(name) or kept.find((name[0], None))
    if there is None:
        raise NotFoundError("there is no such preference")
    return there


def says_the_same(one: PreferenceSet, other: PreferenceSet) -> bool:
    """Tell whether two sets hold the same preferences, whatever else is known of them."""
    return list(map(_shown, one.preferences)) == list(map(_shown, other.preferences))


def _entry(kept: PreferenceSet, new: NewPreference, *, version: int, now: float, mark: Mark | None) -> Entry:
    seen = kept.seen(new.name, now=now).after(mark, now=now)
    there = kept.find(new.name)
    if there is not None and _told(there.preference) == _told(new):
        return replace(there, seen=seen)
    made_at = float(now if mark is None or mark.time is None else mark.time)
    return Entry(Preference(new.key, new.value, version, made_at, new.agent, new.options, new.source), seen)


def _put(kept: PreferenceSet, entry: Entry, now: float) -> PreferenceSet:
    name, name_sha = entry.preference.name, _sha(entry.preference.name)
    others = (one for one in kept.entries if one.preference.name != name)
    return PreferenceSet(
        tuple(sorted((*others, entry), key=lambda one: by_name(one.preference))),
        tuple(stone for stone in _unexpired(kept, now) if stone.name_sha != name_sha),
    )


def _later(one: float | None, other: float | None) -> float | None:
    return max((each for each in (one, other) if each is not None), default=None)


def _unexpired(kept: PreferenceSet, now: float) -> list[Tombstone]:
    return [stone for stone in kept.tombstones if stone.expires_at > now]


def _shown(preference: Preference) -> tuple[object, ...]:
    return preference.name, preference.version, preference.updated_at, *_told(preference)


def _told(one: Preference | NewPreference) -> tuple[object, ...]:
    """Return what makes a change; `1`, `1.0` and `true` are three values."""
    return canonical_json(one.value), one.options, one.source


def _as_meant(value: PreferenceValue) -> object:
    """Return what behaviour is compared by: letters whatever their case, lists whatever their order, `1` as `1.0`."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, str):
        return value.strip().casefold()
    return sorted(one.strip().casefold() for one in value) if isinstance(value, tuple) else value


def _sha(name: PreferenceName) -> str:
    return sha256_hex(f"{name[0]}#{name[1] or ''}")[:32]
