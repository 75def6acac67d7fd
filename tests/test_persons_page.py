"""The tables of the guide to persons and weights are those that were measured."""

from bench.studies import persons_page


def test_the_guide_has_the_tables_of_the_results():
    text = persons_page.PAGE.read_text()
    assert persons_page.persons() in text
    assert persons_page.weights() in text


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
