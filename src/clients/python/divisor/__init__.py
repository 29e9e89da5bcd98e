"""A client of Divisor. `Divisor` is a running service; `divisor.contract` has the types of its responses,
`divisor.codes` an exception for every error code."""

from .client import Divisor, progress_bar
from .errors import DivisorError, JobCancelled, JobFailed, LateAnswer, Unreachable
from .frames import Series, Table, tables, to_frame, to_series
from .jobs import Job
from .version import VERSION as __version__

__all__ = [
    "Divisor",
    "DivisorError",
    "Job",
    "JobCancelled",
    "JobFailed",
    "LateAnswer",
    "Series",
    "Table",
    "Unreachable",
    "__version__",
    "progress_bar",
    "tables",
    "to_frame",
    "to_series",
]
