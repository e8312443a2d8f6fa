"""What a package with a learner should test: the contract, and what is special about its own learning."""

import json

import pytest
from hms_bandit import PACKAGED, Bandit

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import SCHEDULER_CHECKS
from hybrid_scheduler.workloads import WorkloadGenerator


@pytest.mark.parametrize("check", SCHEDULER_CHECKS, ids=lambda check: check.__name__)
def test_contract(check):
    check(Bandit)


def test_registered():
    assert create_scheduler("bandit", energy_weight=0.5).energy_weight == 0.5


def race(seed=1):
    return Race(WorkloadGenerator(seed).generate("mixed", 1500, arrival_rate=15.0), seed=seed)


def test_it_learns():
    found = race()
    rule = found.run(create_scheduler("gpu_only")).response_time.mean()
    bandit = Bandit()
    own = found.run(bandit).response_time
    assert own[500:].mean() < rule
    assert bandit.updates == 1500


def test_its_objective():
    time, energy = Bandit(energy_weight=0.0), Bandit(energy_weight=1.0)
    assert race().run(energy).energy.sum() < race().run(time).energy.sum()


def test_saved_and_loaded_it_decides_the_same(tmp_path):
    one, two = Bandit(), Bandit()
    race().run(one)
    one.save_model(tmp_path / "m.bandit")
    two.load_model(tmp_path / "m.bandit")
    assert two.updates == one.updates == 1500
    later = race(seed=2)
    assert later.run(one).finish_time.tolist() == later.run(two).finish_time.tolist()


@pytest.mark.parametrize(
    "damage", [{"version": 2}, {"means": [[1.0]]}, {"second": 0.0}, {"tries": None}, {"joule": "x"}]
)
def test_damaged_files_are_refused(tmp_path, damage):
    path = tmp_path / "m.bandit"
    path.write_text(json.dumps({**json.loads(PACKAGED.read_text()), **damage}))
    with pytest.raises(InvalidInputError, match="not a readable bandit"):
        Bandit().load_model(path)
