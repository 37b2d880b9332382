"""Students, which a consumer learns from noisy votes by post-processing."""

from dpsumm.ensemble.students.estimators import Argmax, Soft
from dpsumm.ensemble.students.spectral import Spectral
from dpsumm.ensemble.students.student import Candidate, Fitted, Student

__all__ = ["Argmax", "Candidate", "Fitted", "Soft", "Spectral", "Student"]
