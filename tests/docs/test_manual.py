"""The printable manual: the same pages, as one PDF."""

from __future__ import annotations

import pytest
from documentation.manual import Manual
from documentation.typst_markup import Markup, slug


@pytest.fixture(scope="module")
def manual() -> Manual:
    return Manual()


def _set(text: str) -> str:
    return Markup("page.md", 2, lambda place, address: f"{place}>{address}").page(text)


def test_is_a_pdf_with_every_page(manual: Manual) -> None:
    (pdf,) = manual.compiled()
    assert pdf.startswith(b"%PDF-")
    places = [place for pages in manual.parts.values() for place in pages]
    assert {"kitchen.md", "reference/api.md", "methodology.md", "service.md"} <= set(places)
    assert sum(place.startswith("adr/0") for place in places) >= 7
    source = manual.source()
    for place in places:
        assert f'#label("{place}")' in source, f"{place} has no heading of its own"


def test_text_cannot_be_mistaken_for_markup() -> None:
    assert _set('A #hash, a $sum$, "quotes" and a back\\\\slash') == (
        '#"A #hash, a $sum$, \\"quotes\\" and a back\\\\slash"\n'
    )


def test_blocks() -> None:
    assert _set("# Title") == '#heading(level: 2)[#"Title"]#label("page.md")\n'
    assert _set("## A *b*") == '#heading(level: 3)[#"A "#emph[#"b"]]#label("page.md#a-b")\n'
    assert _set("- a\n- b") == '#list([#"a"], [#"b"])\n'
    assert _set('```python title="x.py"\nprint(1)\n```') == (
        '#code-title("x.py")\n#raw("print(1)", block: true, lang: "python")\n'
    )
    assert 'table.header(strong[#"a"], strong[#"b"])' in _set("| a | b |\n| --- | --- |\n| 1 | `c_d` |")
    assert _set("[x](y.md#z)") == '#link(label("page.md>y.md#z"))[#"x"]\n'


def test_what_cannot_be_set_is_refused() -> None:
    with pytest.raises(ValueError, match=r"page\.md: the manual has no way to set a 'html_block'"):
        _set("<div>raw</div>")


def test_anchors_are_those_of_the_site() -> None:
    assert slug("POST /api/tasks/{task_id}") == "post-apitaskstask_id"
    assert slug("What a scheduler may see") == "what-a-scheduler-may-see"
