"""Arrow streams of the service as pandas frames."""

from __future__ import annotations

from typing import Any

from .frames import with_dates
from .optional import package

pandas = package("pandas")
pyarrow = package("pyarrow")
polars = package("polars")


def can_read() -> bool:
    """True if a package is installed that reads Arrow."""
    return pyarrow is not None or polars is not None


def frame_of(content: bytes) -> Any:
    """Reads a stream with pyarrow, or else with polars. Counts are floats if some are missing."""
    if pyarrow is not None:
        frame = pyarrow.ipc.open_stream(content).read_all().to_pandas(date_as_object=False)
    else:
        columns = polars.read_ipc_stream(content)
        frame = pandas.DataFrame({one.name: one.to_list() if one.dtype == polars.String else one.to_numpy() for one in columns})
    return with_dates(frame, frame.select_dtypes("datetime").columns)
