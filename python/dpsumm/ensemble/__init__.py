"""Learning from parties' classifiers: noisy votes on unlabelled points, and students of them."""

from dpsumm.ensemble.compare import LearningComparison, compare
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.model import Model
from dpsumm.ensemble.paper import Published, published
from dpsumm.ensemble.plan import LearningPlan
from dpsumm.ensemble.saved import SavedModel, load_model
from dpsumm.ensemble.students import Argmax, Softmax, Spectral, Student

__all__ = [
    "Argmax",
    "LearningComparison",
    "LearningPlan",
    "Model",
    "NoisyVotes",
    "Published",
    "SavedModel",
    "Softmax",
    "Spectral",
    "Student",
    "compare",
    "load_model",
    "published",
]
