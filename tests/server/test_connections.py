"""Who is connected, who must leave, what is said of it, and whose turn it is."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from typing import Any

import pytest

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.connections import HEALTH_PLACES, Connections, Refusals, network_of
from hybrid_scheduler.server.file_limits import room_for
from hybrid_scheduler.server.turns import Turns


class Transport:
    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


class Client:
    """A connection as `Connections` sees it."""

    def __init__(self, connections: Connections, address: str = "10.0.0.1", deadline: float = math.inf) -> None:
        self.transport: Any = Transport()
        self.address, self.deadline, self.was_late = address, deadline, 0
        self.welcome = connections.enter(self)

    def late(self) -> None:
        self.was_late += 1


@pytest.fixture
def counted() -> Counter[str]:
    return Counter()


def _connections(counted: Counter[str], most: int = 4, spare: int = 2, per_address: int = 0) -> Connections:
    refusals = Refusals(lambda reason: counted.update([reason]))
    return Connections(most, spare, per_address, lambda address: address == "10.9.9.9", refusals)


def test_who_is_silent_longest_makes_room_for_who_asks(counted: Counter[str]) -> None:
    connections = _connections(counted)
    silent = [Client(connections) for _ in range(4 + HEALTH_PLACES)]
    asking = Client(connections)
    assert connections.ask(asking), "only one asks"
    connections.make_room()
    assert [each.transport.aborted for each in silent] == [True] + [False] * (3 + HEALTH_PLACES)
    assert not asking.transport.aborted
    assert counted == {"no_room": 1}
    connections.wait(silent[1])  # it was answered, and is the last to have asked
    Client(connections)
    connections.make_room()
    assert [each.transport.aborted for each in silent[:3]] == [True, False, True]


def test_newcomers_have_a_moment_to_say_what_they_want(counted: Counter[str]) -> None:
    connections = _connections(counted, most=4, spare=2)
    first = [Client(connections) for _ in range(4 + HEALTH_PLACES + 2)]
    assert not counted
    for each in first[:4]:
        connections.ask(each)
    Client(connections)
    assert [each.transport.aborted for each in first[:6]] == [False] * 4 + [True, False]


def test_when_all_are_busy_there_is_room_for_health_only(counted: Counter[str]) -> None:
    connections = _connections(counted)
    busy = [Client(connections) for _ in range(4)]
    assert all(connections.ask(each) for each in busy)
    late = [Client(connections) for _ in range(HEALTH_PLACES + 3)]
    assert not connections.ask(late[-1])
    connections.make_room()
    assert not any(each.transport.aborted for each in [*busy, late[-1]])
    assert sum(each.transport.aborted for each in late) == 3
    connections.wait(late[-1])  # it was told so
    connections.wait(busy[0])
    assert connections.ask(late[-2])


def test_places_are_given_back_once(counted: Counter[str]) -> None:
    connections = _connections(counted, per_address=1)
    client = Client(connections)
    connections.upgrade(client)
    connections.sweep(math.inf)
    assert client.was_late == 0, "a WebSocket has a patience of its own"
    for _ in range(2):
        connections.leave(client.transport)
        connections.forget(client)
    assert len(connections) == 0
    assert Client(connections).welcome


def test_one_address_has_so_many_and_a_proxy_any_number(counted: Counter[str]) -> None:
    connections = _connections(counted, most=100, per_address=2)
    assert [Client(connections, "10.0.0.1").welcome for _ in range(3)] == [True, True, False]
    assert [Client(connections, "10.0.0.2").welcome for _ in range(2)] == [True, True]
    assert all(Client(connections, "10.9.9.9").welcome for _ in range(5))
    networks = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"]
    assert [Client(connections, each).welcome for each in networks] == [True, True, False, True]


def test_patience_ends_at_its_deadline(counted: Counter[str]) -> None:
    connections = _connections(counted)
    first, second = Client(connections, deadline=10.0), Client(connections, deadline=20.0)
    connections.sweep(9.9)
    connections.sweep(10.0)
    assert (first.was_late, second.was_late) == (1, 0)


def test_refusals_are_one_line_however_many(caplog: pytest.LogCaptureFixture) -> None:
    counted: list[str] = []
    refusals = Refusals(counted.append)
    with caplog.at_level(logging.INFO):
        for _ in range(1000):
            refusals.add("malformed")
        refusals.add("silent")
        refusals.tell()
        refusals.tell()
        refusals.add("silent")
        refusals.tell()
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("WARNING", "connections refused or cut: 1000 malformed, 1 silent"),
        ("INFO", "connections refused or cut: 1 silent"),
    ]
    assert Counter(counted) == {"malformed": 1000, "silent": 2}


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::1", "::1"),
        ("testclient", "testclient"),
    ],
)
def test_a_client_is_an_address_or_an_ipv6_network(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.parametrize("files", [64, 1024, 4096, 10**6, None])
def test_connections_fit_into_the_files_there_may_be(files: int | None) -> None:
    room = room_for(ServiceSettings(_env_file=None), files)
    assert 1 <= room.connections <= 2000
    if files is not None and files > 256:
        assert room.connections + 2 * room.backlog + HEALTH_PLACES < files
    assert bool(room.warning) == (room.connections < 2000)
    assert not room.warning or f"may open {files} files" in room.warning


def test_a_burst_takes_turns_and_others_come_in_between() -> None:
    began: list[int | str] = []

    async def burst() -> None:
        turns = Turns(at_once=3)
        for number in range(8):
            turns.take(lambda number=number: began.append(number))  # type: ignore[misc]
        assert began == [0, 1, 2], "few begin at once"
        for _ in range(4):
            await asyncio.sleep(0)
            began.append("other")
        turns.take(lambda: began.append("later"))
        assert began[-1] == "later"

    asyncio.run(burst())
    assert [each for each in began if isinstance(each, int)] == list(range(8))
    assert began.index("other") < began.index(7)
