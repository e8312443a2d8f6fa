"""Train two agents of Stable-Baselines3 on the race and compare them with schedulers on tasks they have not met."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm

from hybrid_scheduler.metrics.base import Value
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.environment import ENVIRONMENT_ID, RaceEnv

SCHEDULERS = ("gpu_only", "mct", "oracle")
TEST_SEED = 2026
"""Chooses the test tasks; training draws other ones."""


def train_dqn(env: gymnasium.Env[Any, Any], steps: int, seed: int) -> BaseAlgorithm:
    """A decision fills a queue for a while, so the future counts, but not a long one: hence the discount of 0.9."""
    model = DQN(
        "MlpPolicy",
        env,
        learning_rate=1e-3,
        gamma=0.9,
        learning_starts=500,
        train_freq=1,
        batch_size=64,
        target_update_interval=500,
        exploration_fraction=0.3,
        exploration_final_eps=0.02,
        seed=seed,
        device="cpu",
    )
    return model.learn(steps)


def train_ppo(env: gymnasium.Env[Any, Any], steps: int, seed: int) -> BaseAlgorithm:
    """PPO uses a step only a few times and so needs more of them; each is cheaper."""
    model = PPO(
        "MlpPolicy",
        env,
        learning_rate=1e-3,
        gamma=0.9,
        gae_lambda=0.9,
        n_steps=2000,
        batch_size=100,
        seed=seed,
        device="cpu",
    )
    return model.learn(3 * steps)


def play(env: RaceEnv, model: BaseAlgorithm) -> dict[str, Value]:
    """One episode on the test tasks; returns its metrics."""
    observation, info = env.reset(options={"workload_seed": TEST_SEED})
    over = False
    while not over:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, over, _, info = env.step(action)
    summary: dict[str, Value] = info["summary"]
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--steps", type=int, default=20_000, help="training steps of DQN; PPO takes three times as many"
    )
    parser.add_argument("--load", type=float, default=0.6, help="arrival rate as a share of the node's capacity")
    parser.add_argument("--tasks", type=int, default=10_000, help="test tasks")
    parser.add_argument("--seed", type=int, default=0, help="seed of the training")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # Faster than several for networks this small.

    console, results = Console(), {}
    test = RaceEnv(load=arguments.load, tasks=arguments.tasks)
    for name, train in (("SB3 DQN", train_dqn), ("SB3 PPO", train_ppo)):
        env = gymnasium.make(ENVIRONMENT_ID, load=arguments.load)
        began = perf_counter()
        model = train(env, arguments.steps, arguments.seed)
        console.print(f"{name}: {model.num_timesteps} steps in {perf_counter() - began:.0f} s")
        results[name] = play(test, model)
    for name in SCHEDULERS:
        results[name] = summarise(test.race().run(create_scheduler(name)))

    table = Table("policy", title=f"{arguments.tasks} tasks at load {arguments.load:g}")
    columns = {"avg_response": "mean response s", "p99_response": "p99 response s", "makespan": "makespan s"}
    for title in (*columns.values(), "of the oracle's"):
        table.add_column(title, justify="right")
    best = float(results["oracle"]["avg_response"])  # type: ignore[arg-type]
    for name in sorted(results, key=lambda name: results[name]["avg_response"]):  # type: ignore[arg-type, return-value]
        figures = np.array([results[name][key] for key in columns], dtype=float)
        table.add_row(name, *(f"{figure:.4g}" for figure in figures), f"{figures[0] / best:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
