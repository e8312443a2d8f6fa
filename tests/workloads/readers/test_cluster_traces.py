"""Job tables of GPU clusters: Philly and Alibaba."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_files import ALIBABA, NODES, PHILLY, put

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.physics.cost import FormulaCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.workloads.readers.alibaba import AlibabaPodsReader
from hybrid_scheduler.workloads.readers.alibaba_nodes import AlibabaNodesReader
from hybrid_scheduler.workloads.readers.philly import PhillyReader
from hybrid_scheduler.workloads.readers.registry import recognise


def test_philly_is_sorted_and_takes_its_time_on_a_gpu(tmp_path: Path) -> None:
    file = PhillyReader().read(put(tmp_path, "p.csv", PHILLY), 3)
    assert file.tasks.arrival_time.tolist() == [0.0, 115.0]
    assert file.tasks.width.tolist() == [4, 1]
    whole = FormulaCost().times(file.tasks, ClusterSpec.default(1)).sum(axis=1)
    assert whole[:, 1].tolist() == pytest.approx([30.5, 66.0])
    assert (whole[:, 0] > whole[:, 1]).all()
    said = {assumption.rule: assumption for assumption in file.assumed}
    assert said["dropped"].tasks == 2
    assert said["cpu_time_from_gpu_time"].tasks == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("07:01:55", "07:61:55", r"p\.csv, line 2, column timestamp: '2017-10-09 07:61:55' must be a date and time"),
        ("30.5", "long", r"p\.csv, line 3, column duration: 'long' must be a number, or empty"),
        (",4,", ",0,", r"p\.csv, line 3, column num_gpus: '0' must be a number of GPUs from 1"),
    ],
)
def test_philly_errors(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PhillyReader().read(put(tmp_path, "p.csv", PHILLY.replace(old, new)), 1)
    with pytest.raises(InvalidInputError, match="no job ran"):
        PhillyReader().read(put(tmp_path, "p.csv", "timestamp,duration,num_gpus\n2017-10-09 07:00:00,0,1\n"), 1)


def test_alibaba_pods(tmp_path: Path) -> None:
    file = AlibabaPodsReader().read(put(tmp_path, "a.csv", ALIBABA), 3)
    assert file.tasks.arrival_time.tolist() == [0.0, 50.0, 150.0]
    assert [task.kind for task in file.tasks] == ["gpu_pod", "gpu_pod", "cpu_pod"]
    assert file.tasks.width.tolist() == [8, 1, 1]
    whole = FormulaCost().times(file.tasks, ClusterSpec.default(1)).sum(axis=1)
    assert whole[:2, 1].tolist() == pytest.approx([500.0, 150.0])
    assert whole[2, 0] == pytest.approx(50.0)
    texts = [str(assumption) for assumption in file.assumed]
    assert sum(text.endswith("(dropped)") for text in texts) == 3
    assert any(text.startswith("1 pods asked for a part of a GPU") for text in texts)


def test_alibaba_errors(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"a\.csv, line 3, column gpu_milli: 'x' must be a number"):
        AlibabaPodsReader().read(put(tmp_path, "a.csv", ALIBABA.replace("460", "x")), 1)
    lines = ALIBABA.splitlines(keepends=True)
    with pytest.raises(InvalidInputError, match="no pod has a creation_time and ran"):
        AlibabaPodsReader().read(put(tmp_path, "a.csv", lines[0] + lines[5]), 1)


def test_alibaba_pods_of_an_early_window_are_kept(tmp_path: Path) -> None:
    lines = ALIBABA.splitlines(keepends=True)
    assert len(AlibabaPodsReader().read(put(tmp_path, "a.csv", lines[0] + lines[1]), 1).tasks) == 1


def test_alibaba_nodes_can_be_looked_at_but_not_raced(tmp_path: Path) -> None:
    path = put(tmp_path, "n.csv", NODES)
    assert recognise(path) == "alibaba_nodes"
    (nodes,) = AlibabaNodesReader().stream(path, 1)
    assert nodes.figures["cores"].tolist() == [32.0, 96.0]
    assert nodes.figures["gpus"].tolist() == [0.0, 8.0]
    assert nodes.kinds == {"without a GPU": 1, "V100M32": 1}
    with pytest.raises(InvalidInputError, match="this is a list of nodes, and there is no task in it"):
        AlibabaNodesReader().read(path, 1)
