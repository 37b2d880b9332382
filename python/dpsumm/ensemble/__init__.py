"""Learning from parties by noisy votes on unlabelled points or by private updates."""

from typing import TYPE_CHECKING

from dpsumm.basics.lazy import names_of

if TYPE_CHECKING:
    from dpsumm.ensemble.classifier import PrivateEnsembleClassifier
    from dpsumm.ensemble.comparison import LearningComparison, compare
    from dpsumm.ensemble.messages import NoisyVotes
    from dpsumm.ensemble.model import Model
    from dpsumm.ensemble.plan import LearningPlan
    from dpsumm.ensemble.saved import SavedModel, load_model
    from dpsumm.ensemble.students import Argmax, Spectral, Student

__all__ = [
    "Argmax",
    "LearningComparison",
    "LearningPlan",
    "Model",
    "NoisyVotes",
    "PrivateEnsembleClassifier",
    "SavedModel",
    "Spectral",
    "Student",
    "compare",
    "load_model",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "classifier": "PrivateEnsembleClassifier",
        "comparison": "LearningComparison compare",
        "messages": "NoisyVotes",
        "model": "Model",
        "plan": "LearningPlan",
        "saved": "SavedModel load_model",
        "students": "Argmax Spectral Student",
    },
)
