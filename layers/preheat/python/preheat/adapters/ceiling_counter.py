"""Token counts without a tokenizer: a ceiling by script that holds for any of the usual vocabularies."""

from preheat.budget import count_tokens


class CeilingCounter:
    """`preheat.ports.TokenCounter` by `preheat.budget.count_tokens`.

    Attributes:
        name: Holds the version of the rules: other rules, another name.
    """

    name: str = "ceiling-1"

    def count(self, text: str) -> int:
        """Return a careful count of the tokens."""
        return count_tokens(text)
