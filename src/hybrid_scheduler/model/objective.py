"""What a scheduler cares for: the weights of time, energy and money, and the one place where they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from numbers import Real
from typing import Any, Final, TypeGuard

from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.ranges import Range

GOALS: Final = ("time", "energy", "money")
ARGUMENTS: Final = ("energy_weight", "weights")
"""How arguments and keys are called that say what counts; one of them at most is given."""
WEIGHTS: Final = Range(0.0, 1e6)
"""What one weight may be before the three are scaled."""
ENERGY_WEIGHTS: Final = Range(0.0, 1.0)
EXAMPLE: Final = "time=0.6,energy=0.2,money=0.2"
ROUNDING: Final = 1e-12
"""Weights whose sum is as near to 1 as this are taken as they are, so that reading what was written changes nothing."""


@dataclass(frozen=True, slots=True)
class Objective:
    """The weights of the three goals, scaled so that they sum to 1.

    Each goal is measured by what is usual for a task, so that 0.5 and 0.5 means: ten percent more time is as bad as ten
    percent more energy.

    Attributes:
        time: Weight of the response time.
        energy: Weight of the energy.
        money: Weight of the cost.
    """

    time: float = 0.0
    energy: float = 0.0
    money: float = 0.0

    def __post_init__(self) -> None:
        for goal in GOALS:
            object.__setattr__(self, goal, _number(goal, getattr(self, goal)))
        total = self.time + self.energy + self.money
        if total == 0.0:
            raise InvalidInputError(f"weights are {self}, but at least one must be above 0; write e.g. {EXAMPLE}")
        if abs(total - 1.0) > ROUNDING:
            # By the largest first: a sum of very small weights would lose their ratios.
            largest = max(astuple(self))
            shares = [weight / largest for weight in astuple(self)]
            for goal, share in zip(GOALS, shares, strict=True):
                object.__setattr__(self, goal, share / sum(shares))

    @classmethod
    def of(cls, weights: Weights) -> Objective:
        """From text like ``time=0.6,energy=0.2,money=0.2``, or a mapping of goals to numbers; others count 0.

        Raises:
            InvalidInputError: Something breaks its rule; the message says what and how to write it.
        """
        if isinstance(weights, Objective):
            return weights
        pairs = _read(weights) if isinstance(weights, str) else weights
        if not isinstance(pairs, Mapping):
            raise InvalidInputError(
                f"weights is {weights!r}, but it must be text like {EXAMPLE} or a mapping of goals to numbers"
            )
        for goal in pairs:
            if goal not in GOALS:
                raise UnknownNameError("goal in weights", str(goal), GOALS)
        return cls(**pairs)

    @classmethod
    def of_energy_weight(cls, weight: float) -> Objective:
        """Between time (0) and energy (1), money left out.

        Raises:
            InvalidInputError: The weight is not a number from 0 to 1.
        """
        if not (_is_number(weight) and ENERGY_WEIGHTS.holds(weight)):
            raise InvalidInputError(f"energy_weight is {weight}, but it must be {ENERGY_WEIGHTS}")
        return cls(1.0 - weight, weight, 0.0)

    @classmethod
    def chosen(cls, weights: Weights | None, energy_weight: float | None) -> Objective | None:
        """From the weights or from the older energy weight, whichever is given; None when neither is.

        Raises:
            InvalidInputError: Both are given, or one breaks its rule.
        """
        if weights is not None and energy_weight is not None:
            raise InvalidInputError(
                f"weights ({weights}) and energy_weight ({energy_weight}) both say what counts; leave one out: "
                "energy_weight W is the same as weights time=1-W,energy=W"
            )
        if weights is not None:
            return cls.of(weights)
        return None if energy_weight is None else cls.of_energy_weight(energy_weight)

    def to_json(self) -> dict[str, float]:
        """The weights by goal."""
        return {goal: getattr(self, goal) for goal in GOALS}

    def __str__(self) -> str:
        return ",".join(f"{goal}={getattr(self, goal):.6g}" for goal in GOALS)


Weights = str | Mapping[str, float] | Objective
"""Ways to say what counts, see `Objective.of`."""


def overridden(parameters: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with changes; a change of what counts replaces both ways of saying it."""
    replaced = ARGUMENTS if any(changes.get(name) is not None for name in ARGUMENTS) else ()
    return {**{name: value for name, value in parameters.items() if name not in replaced}, **changes}


def _read(text: str) -> dict[str, float]:
    """Goals and numbers of a text."""
    pairs: dict[str, float] = {}
    for piece in text.split(","):
        goal, equals, number = (each.strip() for each in piece.partition("="))
        if not equals:
            raise InvalidInputError(f"weights {text!r}: {piece.strip()!r} is no goal=number; write e.g. {EXAMPLE}")
        if goal in pairs:
            raise InvalidInputError(f"weights {text!r} names {goal!r} twice; name each goal once")
        try:
            pairs[goal] = float(number)
        except ValueError as error:
            raise InvalidInputError(f"weights {text!r}: {goal} is {number!r}, but it must be {WEIGHTS}") from error
    return pairs


def _number(goal: str, value: object) -> float:
    if not (_is_number(value) and WEIGHTS.holds(value)):
        raise InvalidInputError(f"weights: {goal} is {value!r}, but it must be {WEIGHTS}")
    return float(value) + 0.0  # no negative zero


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


BALANCED: Final = Objective.of_energy_weight(0.5)
"""What learners care for unless somebody says otherwise."""
