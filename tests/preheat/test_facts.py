"""Which facts still hold."""

from preheat.facts import Fact, latest


def test_latest__last_word_on_a_fact_counts() -> None:
    first, second = Fact("job", "Works on A.", (1,)), Fact("job", "Works on B.", (7,))

    assert latest([first, Fact("diet", "Eats no meat."), second]) == {
        "job": second,
        "diet": Fact("diet", "Eats no meat."),
    }


def test_latest__retirement_counts_even_without_a_text_and_an_empty_fact_does_not() -> None:
    gone = Fact("job", "", (1,), retired=True)

    assert latest([Fact("job", "Works on A.", (1,)), gone, Fact("nothing", " \n")]) == {"job": gone}
