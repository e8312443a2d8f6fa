"""Reports: every figure in them is one of the tables', and words follow verdicts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from hybrid_scheduler.experiments.energy import WEIGHTED, WEIGHTS, Energy
from hybrid_scheduler.experiments.registry import experiment_classes
from hybrid_scheduler.experiments.statistics import NOT_SHOWN
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.reports.catalogue import PLOTS, draw
from hybrid_scheduler.reports.content import build, command
from hybrid_scheduler.reports.pdf import compiled
from hybrid_scheduler.reports.report import PAGE, PDF, missing_extras, write_report
from hybrid_scheduler.reports.run_folder import NEEDED, POINT_NEEDED, Run, open_run
from hybrid_scheduler.reports.words import metric_words, summary

CELL = re.compile(r"(-?[\d.,e-]+)(?: \[(-?[\d.,e-]+), (-?[\d.,e-]+)\])?")


def test_every_experiment_names_plots_that_exist() -> None:
    for name, found in experiment_classes().items():
        assert set(found.plots) <= set(PLOTS), name
        assert found.plots, name


def test_the_figures_of_the_report_are_those_of_the_csv(mixed_run: Run, energy_run: Run) -> None:
    for run in (mixed_run, energy_run):
        table = pd.read_csv(run.folder / "summary.csv")
        figures = next(section for section in build(run, []).sections if section.title == "Figures")
        seen = 0
        for shown in figures.tables:
            for row in shown.rows:
                for head, cell in zip(shown.columns[1:], row[1:], strict=True):
                    words, metric = (head, head) if run.parameter is None else (shown.title, shown.title)
                    metric = words.split(", ")[0]
                    key = next(k for k in run.document["shown"] if metric_words(k).lower() == metric.lower())
                    rows = table[(table["scheduler"] == row[0]) & (table["metric"] == key)]
                    if run.parameter is not None:
                        rows = rows[rows[run.parameter] == head.split()[-1]]
                    assert len(rows) == 1
                    _same(cell, rows.iloc[0])
                    seen += 1
        points = 1 if run.parameter is None else len(run.points)
        assert seen == len(run.document["shown"]) * len(run.points[0].schedulers) * points


def test_the_front_of_the_report_is_that_of_the_csv(energy_run: Run, mixed_run: Run) -> None:
    table = pd.read_csv(energy_run.folder / "summary.csv")
    section = next(section for section in build(energy_run, []).sections if section.title == "Front")
    (shown,) = section.tables
    assert len(shown.rows) == len(WEIGHTED) * len(WEIGHTS) + len(Energy.schedulers) - len(WEIGHTED)
    for scheduler, weights, *figures, on_front in shown.rows:
        at = weights if weights != "–" else "time=1"
        rows = table[(table["scheduler"] == scheduler) & (table["weights"] == at)].set_index("metric")["mean"]
        for figure, metric in zip(figures, ("avg_response", "energy", "cost"), strict=True):
            assert float(figure.replace(",", "")) == pytest.approx(rows[metric], rel=1e-3)
        assert on_front in ("yes", "no")
    assert "Front" not in [section.title for section in build(mixed_run, []).sections]


def _same(cell: str, row: pd.Series) -> None:
    found = CELL.fullmatch(cell)
    assert found is not None, cell
    for words, column, digits in zip(found.groups(), ("mean", "low", "high"), (4, 3, 3), strict=True):
        value, shown = float(row[column]), float(words.replace(",", ""))
        assert shown == pytest.approx(value, rel=0.6 * 10 ** (1 - digits), abs=1e-12), (cell, column)


def test_the_differences_of_the_report_are_those_of_the_csv(mixed_run: Run) -> None:
    table = pd.read_csv(mixed_run.folder / "comparisons.csv")
    section = next(each for each in build(mixed_run, []).sections if each.title == "Comparisons")
    rows = [row for shown in section.tables for row in shown.rows]
    assert len(rows) == len(table)
    for shown, (_, row) in zip(rows, table.iterrows(), strict=True):
        assert (shown[0], shown[1], shown[5]) == (row["a"], row["b"], row["verdict"])
        found = CELL.fullmatch(shown[2].lstrip("+"))
        assert found is not None
        assert float(found.group(1).replace(",", "")) == pytest.approx(row["difference"], rel=1e-3, abs=1e-12)


def test_the_web_page_holds_every_cell_and_needs_nothing_else(mixed_run: Run, empty: Path) -> None:
    files = write_report(mixed_run, empty)
    page = (empty / PAGE).read_text()
    report = build(mixed_run, [])
    for section in report.sections:
        for table in section.tables:
            for row in table.rows:
                for cell in row:
                    assert f">{_escaped(cell)}<" in page, cell
    for sentence in report.summary:
        assert _escaped(sentence) in page
    assert page.count("data:image/png;base64,") == len(mixed_run.document["plots"])
    assert not re.search(r'(src|href)="(?!data:)', page), "nothing is fetched"
    assert {path.name for path in files} == {PDF, PAGE, *(f"{name}.png" for name in mixed_run.document["plots"])}
    assert (empty / PDF).read_bytes().startswith(b"%PDF")


def _escaped(words: str) -> str:
    return (
        words.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#x27;")
    )


def test_the_pdf_has_pages(energy_run: Run, empty: Path) -> None:
    pages = compiled(build(energy_run, draw(energy_run, empty)), "png")
    assert len(pages) >= 3
    assert all(page.startswith(b"\x89PNG") for page in pages)


def test_better_and_worse_only_where_the_verdict_says_so(mixed_run: Run, energy_run: Run) -> None:
    sentences = summary(mixed_run)
    for metric in mixed_run.document["compared"]:
        for each in mixed_run.points[0].comparisons:
            if each.metric != metric:
                continue
            (sentence,) = [s for s in sentences if s.startswith(f"By {metric_words(metric)}, {each.a}")]
            better, worse, rest = _parts(sentence)
            place = {"better": better, "worse": worse, NOT_SHOWN: rest}
            assert [verdict for verdict, names in place.items() if each.b in names] == [each.verdict], sentence
    for point in energy_run.points:
        for each in point.comparisons:
            if each.metric == energy_run.document["compared"][0]:
                (sentence,) = [s for s in summary(energy_run) if f"{each.a} against {each.b}:" in s]
                part = next(p for p in sentence.split("; ") if each.verdict in p)
                assert "at every" in sentence or str(point.value) in part


def _parts(sentence: str) -> list[set[str]]:
    found = []
    for pattern in (
        r"better than ([\w, ]+?)(?= and worse|;|\.$)",
        r"worse than ([\w, ]+?)(?=;|\.$)",
        r"against ([\w, ]+)\.$",
    ):
        match = re.search(pattern, sentence)
        found.append(set(re.split(r", | and ", match.group(1))) if match else set())
    return found


def test_a_run_without_differences_says_neither_word(mixed_run: Run) -> None:
    document = json.loads(json.dumps(mixed_run.document))
    for each in document["comparisons"]:
        each["verdict"] = NOT_SHOWN
    report = build(Run(mixed_run.folder, document), [])
    assert not any(re.search(r"\b(better|worse)\b", sentence) for sentence in report.summary)


def test_the_command_is_written_out(mixed_run: Run) -> None:
    words = "hms experiment mixed --seeds 3 --seed 1 --tasks 120 --train-tasks 200 --split concurrent"
    assert command(mixed_run) == words


def test_without_its_parts_a_run_still_has_a_report(mixed_run: Run, empty: Path) -> None:
    (empty / "result.json").write_text((mixed_run.folder / "result.json").read_text())
    files = {path.name for path in write_report(open_run(empty))}
    assert "makespan_comparison.png" in files
    assert "latency_cdf.png" not in files, "it needs every task's response"
    assert PDF in files


def test_bad_folders(tmp_path: Path, mixed_run: Run) -> None:
    with pytest.raises(InvalidInputError, match=r"no result\.json"):
        open_run(tmp_path)
    for text in ("{", "[1]", "3", '{"points": 3}', '{"points": [3]}', "[" * 100_000, "\x00"):
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(InvalidInputError, match="damaged"):
            open_run(tmp_path)
    (tmp_path / "result.json").write_text('{"experiment": "old"}')
    with pytest.raises(InvalidInputError, match="lacks compared, comparisons, configuration"):
        open_run(tmp_path)
    whole = json.loads((mixed_run.folder / "result.json").read_text())
    for key in whole:
        short = {name: value for name, value in whole.items() if name != key}
        (tmp_path / "result.json").write_text(json.dumps(short))
        if key in {*NEEDED, *POINT_NEEDED}:
            with pytest.raises(InvalidInputError, match=f"lacks {key}:"):
                open_run(tmp_path)
        else:
            assert build(open_run(tmp_path), []).summary
    with pytest.raises(UnknownNameError, match="did you mean 'latency_cdf'"):
        draw(mixed_run, tmp_path, ["latency_cfd"])


def test_nothing_is_missing_here() -> None:
    assert missing_extras() is None
