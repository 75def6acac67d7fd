"""The tables of the guide to persons and weights are those that were measured."""

from bench.studies import persons_page


def test_the_guide_has_the_tables_of_the_results():
    text = persons_page.PAGE.read_text()
    assert persons_page.persons() in text
    assert persons_page.intervals() in text
    assert persons_page.weights() in text


def test_intervals_of_persons_hold_as_often_as_they_say_and_others_do_not():
    found = list(persons_page.read("persons_intervals"))
    ours, ignored = (
        [float(row["coverage"]) for row in found if row["method"] == method] for method in ("person", "persons ignored")
    )
    assert len(ours) == len(ignored) == 12
    assert 0.93 <= min(ours) <= max(ours) <= 0.98
    assert all(less < right for less, right in zip(ignored, ours, strict=True))
    # At eps 1 and 5,000 persons noise is most of the error, and of that intervals know whatever the unit is.
    assert (
        max(float(row["coverage"]) for row in found if row["method"] == "persons ignored" and row["eps"] == "3.0")
        < 0.85
    )


def test_the_guide_says_what_the_results_say():
    """Weights of 1/m: below the noise of a group in every cell, and within their error of every other rule."""
    found = {
        (row["table"], row["delta"], row["eps"], row["rule"]): float(row["error"])
        for row in persons_page.read("persons")
    }
    cells = {key[:3] for key in found}
    assert len(cells) == 12
    for cell in cells:
        ours = found[*cell, "weights, k = 1"]
        others = {key[3]: value for key, value in found.items() if key[:3] == cell and key[3] != "row"}
        assert ours < others["group"]
        assert ours < 1.1 * min(others.values())
