"""Imports one large frame again and again by the Python client, and prints its phases as JSON, in ms."""

import json
import sys
import time

import numpy
import pandas
from divisor import Divisor
from divisor.parquet import parquet

url, names, days, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
rng = numpy.random.default_rng(7)
dates = pandas.bdate_range("2015-01-01", periods=days)
close = 50 * numpy.exp(numpy.cumsum(rng.normal(0, 0.01, (days, names)), axis=0)).ravel()
frame = pandas.DataFrame(
    {
        "identifier": numpy.tile([f"ID{n:04d}" for n in range(names)], days),
        "date": numpy.repeat(dates, names),
        "OPEN": close * 0.999,
        "HIGH": close * 1.01,
        "LOW": close * 0.99,
        "CLOSE": close,
        "VWAP": close * 1.001,
        "VOLUME": rng.integers(1, 10**6, days * names).astype(float),
    }
)


def timed(work):
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)


client = Divisor(url)
for number in range(rounds):
    pieces, encoding, encoding_processor = timed(lambda: list(parquet(frame)))
    fields = {"store_id": f"kept-{number}", "activate": False}
    _, stored, stored_processor = timed(lambda: client.import_tables("kept", {"market": frame}, **fields))
    fields = {"store_id": f"served-{number}", "activate": True}
    _, served, _ = timed(lambda: client.import_tables("served", {"market": frame}, **fields))
    print(
        json.dumps(
            {
                "rows": len(frame),
                "columns": len(frame.columns),
                "bytes": sum(map(len, pieces)),
                "encoding": encoding,
                "client": stored_processor,
                "stored": stored,
                "served": served,
            }
        ),
        flush=True,
    )
    sys.stdin.readline()  # the service is measured between rounds
