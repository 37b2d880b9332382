"""Twins of the noisy votes: what each really guarantees, and that the suite has just that twin."""

import math

import pytest
from scipy import stats

from dpsumm.audit.settings import DELTA, EPSILON
from dpsumm.audit.suite import audits
from dpsumm.audit.votes import POINTS
from dpsumm.privacy.accounting import compose, gaussian_noise_multiplier
from dpsumm.privacy.events import Gaussian
from helpers.chance import FALSE_ALARM

# Of each twin: what divides its noise multiplier with 100 points and 100 parties, its exact epsilon
# then at a claim of (1, 0.01), and what divides it in the suite, of 20 points and 10 parties.
TWINS = {
    "1/M applied twice": (100, 1000, 9.26),  # 10, less what rounding adds to little noise
    "majority labels, noise for shares": (100, 1000, 5),  # a tie there gives both classes all
    "several classes with unit 1": (math.sqrt(2), 1.586, math.sqrt(2)),
    "rows with two ones": (math.sqrt(2), 1.586, math.sqrt(2)),
    "a constant appended after clipping": (math.sqrt(2), 1.586, 1.36),  # weights bend
    "noise anew on a retry": (math.sqrt(2), 1.586, math.sqrt(3)),  # three answers there, not two
    "the bound of other points": (2, 2.523, 2),
    "the mean of those that came": (2, 2.523, 1.5),  # 6 of 10 came there, in whole numbers
    "noise for one point": (10, 25.74, math.sqrt(POINTS)),
    "a solver that stops early": (5.86, 11.39, 5.85),
}
SUITE = {twin.name: twin.subject for audit in audits() for twin in audit.twins}


@pytest.mark.parametrize("name", TWINS)
def test_the_exact_epsilon_of_a_twin(name):
    divisor, epsilon, _ = TWINS[name]
    multiplier = gaussian_noise_multiplier(1, 0.01) / divisor
    exact = compose([(Gaussian(multiplier), 1)], 0.01)
    assert exact > epsilon if epsilon == 1000 else exact == pytest.approx(epsilon, rel=4e-4)


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_of_the_suite_has_just_that_mistake(name):
    """Its two worlds' means are as many standard deviations apart as the mistake makes them."""
    divisor = TWINS[name][2]
    honest = 1 / gaussian_noise_multiplier(EPSILON, DELTA)
    trials = 2500
    first, second = (SUITE[name].scores(world, trials) for world in (0, 1))
    found = abs(second.mean() - first.mean()) / math.sqrt((first.var() + second.var()) / 2)
    # Standard errors of the difference and of the deviation; one per cent for figures as rounded.
    error = math.sqrt(2 / trials + found**2 / (4 * trials))
    away = stats.norm.isf(FALSE_ALARM) * error + 0.01 * divisor * honest
    assert abs(found - divisor * honest) < away
    assert found - honest > away  # so an honest release would not pass for it
