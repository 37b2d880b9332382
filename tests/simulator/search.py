"""Searching for a plan that breaks something, from one seed, and shrinking what is found."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from simulator.oracles import Violation
from simulator.plan import How, Plan, plans
from simulator.systems.system import System
from simulator.world import census, simulate


@dataclass
class Searched:
    """What a search did.

    Attributes
    ----------
    system, number, examples
        As for `search`.
    simulated, lives
        Plans that were simulated, and lives of curators in them.
    faults
        How often what befell an act.
    plan, error
        The least plan found that breaks something, and what it breaks; None if none was found.
    """

    system: str
    number: int
    examples: int
    simulated: int = 0
    lives: int = 0
    faults: Counter[How] = field(default_factory=Counter)
    plan: Plan | None = None
    error: BaseException | None = None

    @property
    def again(self) -> str:
        """The command that searches so again, from the directory ``tests``."""
        return (
            f"python -m simulator --system {self.system} --seed {self.number} "
            f"--plans {self.examples}"
        )

    def check(self) -> None:
        """Raise an error that says what was found, and how to find it again."""
        if self.error is not None:
            raise Violation(f"{self.error}\n{self.plan!r}\n{self.again}") from self.error


def search(system: System, number: int, examples: int, *, shrink: bool = True) -> Searched:
    """Simulate so many plans, all drawn from one seed.

    Parameters
    ----------
    system
        Whose runs.
    number
        The seed: the same search, for the same versions of dpsumm and Hypothesis.
    examples
        Plans.
    shrink
        Look for a smaller plan when one is found.
    """
    done = Searched(system.name, number, examples)

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(plans(census(system)))
    def one(plan: Plan) -> None:
        if done.plan is None:
            done.simulated += 1
            done.lives += len(plan.lives)
            done.faults.update(fault.how for life in plan.lives for fault in life.faults)
        try:
            simulate(system, plan, number)
        except Exception as error:
            done.plan, done.error = plan, error
            raise

    try:
        one()
    except Exception as error:
        done.error = error
    return done
