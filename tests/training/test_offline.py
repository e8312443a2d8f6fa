from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from hybrid_scheduler.learning.features import FEATURE_NAMES, feature_matrix
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.model import InvalidInputError, UnknownNameError
from hybrid_scheduler.training.offline import OfflineTrainer
from hybrid_scheduler.workloads import WorkloadGenerator

TASKS = WorkloadGenerator(7).generate("mixed", 2000, 1.0)


def test_a_forest_learns_the_best_fraction(tmp_path: Path) -> None:
    trainer = OfflineTrainer(seed=1, n_estimators=30)
    found = trainer.run_full_pipeline(TASKS, tmp_path / "models" / "scheduler_model.pkl")
    assert found["training_results"]["test_r2"] > 0.95
    assert found["training_results"]["mae"] < 0.05
    assert set(found["feature_importances"]) == set(FEATURE_NAMES)
    assert next(iter(found["feature_importances"])) == "intensity"
    loaded = RandomForestPredictor.load(found["model_path"])
    loaded.require_target("gpu_fraction")
    new = trainer.label(WorkloadGenerator(8).generate("mixed", 500, 1.0))
    assert np.abs(loaded.predict(feature_matrix(new.tasks)) - new.gpu_fraction).mean() < 0.05


def test_takes_a_generator_that_holds_a_workload(tmp_path: Path) -> None:
    generator = WorkloadGenerator(7)
    with pytest.raises(InvalidInputError, match="there is no workload yet"):
        OfflineTrainer(Ridge).run_full_pipeline(generator, model_output_path=tmp_path / "m.pkl")
    generator.generate("mixed", 2000, 1.0)
    found = OfflineTrainer(Ridge).run_full_pipeline(generator, model_output_path=tmp_path / "m.pkl")
    assert found == OfflineTrainer(Ridge).run_full_pipeline(TASKS, tmp_path / "m.pkl")


def test_the_node_decides_what_is_best() -> None:
    assert OfflineTrainer(num_gpus=0).label(TASKS).gpu_fraction.max() == 0.0
    assert OfflineTrainer(num_gpus=1).label(list(TASKS[:50])).gpu_fraction.max() > 0.5


@pytest.mark.parametrize("model_type", ["LinearRegression", Ridge, Ridge(alpha=2.0), KNeighborsRegressor])
def test_any_regressor_by_name_class_or_object(model_type: object, tmp_path: Path) -> None:
    found = OfflineTrainer(model_type).run_full_pipeline(TASKS, tmp_path / "m.pkl")
    assert found["training_results"]["test_r2"] > 0.1
    assert (found["feature_importances"] == {}) == (model_type is KNeighborsRegressor)


def test_unknown_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'random_forest'"):
        OfflineTrainer("random_forrest")
    with pytest.raises(InvalidInputError, match="must be one of"):
        OfflineTrainer(3)
    with pytest.raises(InvalidInputError, match="already made"):
        OfflineTrainer(Ridge(), alpha=3.0)
    with pytest.raises(InvalidInputError, match="too few"):
        OfflineTrainer().run_full_pipeline(TASKS[:3], tmp_path / "m.pkl")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="the model cannot be written"):
        OfflineTrainer(Ridge).run_full_pipeline(TASKS, tmp_path / "file" / "m.pkl")
