"""Two salts part at the first letters."""

import itertools

from infra.local.model.salt import Message, plain_text, salt_text, salted

SYSTEM: Message = {"role": "system", "content": "Be brief."}
USER: Message = {"role": "user", "content": "Hello"}


def test_salt_text__is_the_same_letters_each_time() -> None:
    assert salt_text("tenant-a") == salt_text("tenant-a") == "cmiaihqwqicnaqhq"


def test_salt_text__differs_early_between_salts() -> None:
    texts = [salt_text(str(number)) for number in range(200)]

    assert len({text[:6] for text in texts}) == 200


def test_salted__puts_the_salt_before_the_system_text() -> None:
    assert salted([SYSTEM, USER], "a") == [{"role": "system", "content": f"{salt_text('a')}\nBe brief."}, USER]


def test_salted__inserts_a_system_message_where_none_is_first() -> None:
    assert salted([USER], "a") == [{"role": "system", "content": salt_text("a")}, USER]


def test_salted__puts_the_salt_before_the_first_part() -> None:
    part: Message = {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}

    assert plain_text(salted([part, USER], "a")) == plain_text(salted([SYSTEM, USER], "a"))


def test_salted__leaves_the_input_as_it_was() -> None:
    salted([SYSTEM, USER], "a")

    assert SYSTEM == {"role": "system", "content": "Be brief."}


def test_plain_text__of_two_salts_parts_in_the_first_letters() -> None:
    texts = [plain_text(salted([SYSTEM, USER], salt)) for salt in ("a", "b", "c")]

    for one, other in itertools.combinations(texts, 2):
        assert one[:12] != other[:12]
