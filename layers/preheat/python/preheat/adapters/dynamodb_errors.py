"""The vendor's errors in the words of ours, by code."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from preheat.errors import ConflictError, PreheatError, SourceUnavailableError

_LOST_CODES: Final = frozenset(
    {
        "ConditionalCheckFailed",
        "ConditionalCheckFailedException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)


@contextmanager
def translated() -> Iterator[None]:
    """Raise our error for the vendor's."""
    try:
        yield
    except ClientError as error:
        raise _error_of(error) from error
    except BotoCoreError as error:
        raise SourceUnavailableError(f"the records could not be reached ({type(error).__name__})") from error


def _error_of(error: ClientError) -> PreheatError:
    """Return our error for the vendor's. Its messages may hold stored text, so only codes are kept."""
    reasons = error.response.get("CancellationReasons", [])
    codes = [reason.get("Code", "None") for reason in reasons] or [error.response.get("Error", {}).get("Code", "")]
    if _LOST_CODES.intersection(codes):
        return ConflictError("another writer was faster")
    told = ", ".join(sorted({code for code in codes if code != "None"}))
    return SourceUnavailableError(f"the records did not serve ({told})")
