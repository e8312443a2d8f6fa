"""`hms schedulers`, and `hms` by itself."""

from __future__ import annotations

from cli_answer import Hms

from hybrid_scheduler.schedulers.registry import scheduler_class, scheduler_names


def test_the_list(hms: Hms) -> None:
    found = hms("schedulers", "--json", "-").document["schedulers"]
    assert sorted(found) == scheduler_names()
    assert {name: found[name]["sees"] for name in ("greedy", "mct", "oracle")} == {
        "greedy": "queues",
        "mct": "estimates",
        "oracle": "truth",
    }
    assert found["random"]["parameters"] == {"seed": 0}
    assert found["greedy"]["parameters"] == {}
    for name, facts in found.items():
        assert facts["summary"] == scheduler_class(name).summary()
        assert facts["compiled"] is (scheduler_class(name).kernel is not None)


def test_the_table_names_everybody(hms: Hms) -> None:
    answer = hms("schedulers", "--json", "list.json")
    assert (answer.code, answer.err) == (0, "")
    first_words = [line.split(" ")[0] for line in answer.out.splitlines()]
    assert [word for word in first_words if word in scheduler_names()] == scheduler_names()
    assert max(map(len, answer.out.splitlines())) <= 80


def test_alone_it_explains_itself(hms: Hms) -> None:
    assert hms().out == hms("--help").out
    assert hms().code == 0
