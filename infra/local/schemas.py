"""JSON schemas of the events and of the bodies of API calls, generated from the models that check them at the door.

`python -m infra.local.schemas` writes them into `events/schemas`; a test compares the folder with the models.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from preheat.events import Envelope, PreferenceChanged, SessionStarted
from preheat.requests import (
    AgentCall,
    ChatCall,
    ObservationCall,
    PreferenceCall,
    PreferencesCall,
    SessionCall,
    TurnsCall,
)

FOLDER: Final = Path(__file__).parents[2] / "events" / "schemas"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
# By the name of the file, without its suffix.
_MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "agent": AgentCall,
    "chat": ChatCall,
    "event_envelope": Envelope,
    "observation": ObservationCall,
    "preference": PreferenceCall,
    "preference_changed": PreferenceChanged,
    "preferences": PreferencesCall,
    "session": SessionCall,
    "session_started": SessionStarted,
    "turns": TurnsCall,
}


def build_schemas() -> dict[str, str]:
    """Return the text of every schema file by its name."""
    return {f"{name}.json": _text(model) for name, model in _MODELS.items()}


def write_schemas(folder: Path) -> None:
    """Make the folder hold the schemas and no other JSON file.

    Args:
        folder: It is made when it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    schemas = build_schemas()
    for path in folder.glob("*.json"):
        if path.name not in schemas:
            path.unlink()
    for name, text in schemas.items():
        (folder / name).write_text(text, encoding="utf-8")


def _text(model: type[BaseModel]) -> str:
    schema = {"$schema": _DIALECT, **model.model_json_schema(by_alias=True)}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_schemas(FOLDER)
