"""What the ports say of themselves."""

from dataclasses import replace

from tests.world import World


class Characters:
    """Counts each character as a token."""

    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


def test_model__names_the_tokenizer_too(world: World) -> None:
    other = replace(world.ports, counter=Characters())

    assert world.ports.model == "fake+ceiling-1"
    assert other.model == "fake+characters"


def test_count__is_of_the_text_that_the_engine_gets(world: World) -> None:
    ports = replace(world.ports, counter=Characters())

    assert ports.count("<|im_end|>") == len("< |im_end|>")
