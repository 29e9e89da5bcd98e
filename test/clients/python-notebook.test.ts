import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasModule, isPythonHere, openPythonUser, reportMissing, type PythonUser } from './python-user.js';

const hasPandas = hasModule('pandas');
const hasPlots = hasPandas && hasModule('matplotlib');
const hasTqdm = hasModule('tqdm');
reportMissing('Python in notebooks', {
  Python: isPythonHere,
  pandas: hasPandas,
  'pyarrow and polars': hasPandas && hasModule('pyarrow', 'polars'),
  matplotlib: hasPlots,
  tqdm: hasTqdm,
});

let user: PythonUser;
beforeAll(async () => {
  if (isPythonHere) user = await openPythonUser();
});
afterAll(() => user?.close());

describe.skipIf(!isPythonHere)('Python', () => {
  test('queries by SQL: rows, a file, and the position of an error', async () => {
    const output = await user.runScript(`
rows = d.sql("SELECT date, level FROM levels WHERE index_id = 'PY' ORDER BY date")
expected = [{"date": row["date"], "level": row["level"]} for row in d.export("PY", "levels")]
d.sql("SELECT date FROM levels WHERE index_id = 'PY'", "dates.csv")
try:
    d.sql("SELECT levl FROM levels")
except DivisorError as refused:
    message = refused.findings[0]["message"]
print(json.dumps([rows == expected, len(open("dates.csv").read().split()) - 1 == len(rows), message[:20]]))`);
    expect(output).toEqual([true, true, 'Line 1, column 8: Bi']);
  });

  test('writes an export as Parquet', async () => {
    expect(
      await user.runScript(`
d.export("PY", "weights", "weights.parquet")
content = open("weights.parquet", "rb").read()
print(json.dumps([content[:4].decode(), content[-4:].decode()]))`),
    ).toEqual(['PAR1', 'PAR1']);
  });

  test('displays indices, findings, runs and jobs as tables with text cells', async () => {
    const output = await user.runScript(`
html = d.indices()._repr_html_()
findings = d.validate({**d.api.get_index("PY"), "calendar": "<b>"})
run = d.backtest("PY", if_stale=True)
job = d.api.start_backtest("PY", {"if_stale": True})
print(json.dumps(["<td>PY</td>" in html, "<b>" in findings._repr_html_(), "total_return" in run._repr_html_(), "<table>" in job._repr_html_(), d.indices() == d.request("GET", "/indices")["indices"], "<td>base_date</td>" in d.index("PY")._repr_html_()]))`);
    expect(output).toEqual([true, false, true, true, true, true]);
  });

  test('runs several calls concurrently on an event loop', async () => {
    const output = await user.runScript(`
import asyncio
from divisor.aio import AsyncDivisor
async def main():
    service = AsyncDivisor(frames=False)
    answers = await asyncio.gather(service.sql("SELECT 1 AS one"), service.api.get_liveness(), service.export("PY", "rebalances"))
    return [answers[0], answers[1]["status"], answers[2] == d.export("PY", "rebalances")]
print(json.dumps(asyncio.run(main())))`);
    expect(output).toEqual([[{ one: 1 }], 'live', true]);
  });

  test('follows jobs and events on an event loop, and has the methods that its types declare', async () => {
    const output = await user.runScript(`
import ast, asyncio, pathlib, divisor.aio
from divisor.aio import AsyncDivisor
async def main():
    service = AsyncDivisor(frames=False)
    job = await service.api.start_backtest("PY", {})
    seen = [status["status"] async for status in job.follow()]
    result = await job.wait(timeout=60)
    events = [event.event async for event in await service.api.follow_jobs(seconds=0)]
    return [seen[-1:], job.is_over, result["metrics"] is not None, "caught-up" in events]
said = asyncio.run(main())
stub = ast.parse(pathlib.Path(divisor.aio.__file__).with_suffix(".pyi").read_text("utf8"))
of = {"AsyncOperations": d.api, "AsyncDivisor": d, "AsyncFrames": None}
methods = [(node.name, f.name) for node in stub.body if isinstance(node, ast.ClassDef) and node.name in of for f in node.body if isinstance(f, ast.AsyncFunctionDef)]
said.append([name for owner, name in methods if of[owner] is not None and not callable(getattr(of[owner], name))])
said.append([len([1 for owner, _ in methods if owner == each]) > 25 for each in of])
print(json.dumps(said))`);
    expect(output).toEqual([['succeeded'], true, true, true, [], [true, true, true]]);
  });

  test.skipIf(!hasPandas)('has equal frames of SQL and exports from JSON, and from Arrow by each reader', async () => {
    const output = await user.runScript(`
import divisor.arrow, pandas
readers = {name: getattr(divisor.arrow, name) for name in ("pyarrow", "polars")}
query = "SELECT date, identifier, weight, CASE WHEN weight > 0.1 THEN NULL ELSE date END AS day, CASE WHEN weight > 0.1 THEN NULL ELSE identifier END AS name FROM weights WHERE index_id = 'PY' ORDER BY ALL"
def frames_by(reader):
    for name, module in readers.items():
        setattr(divisor.arrow, name, module if name == reader else None)
    return d.frames.sql(query), d.frames.export("PY", "weights")
frame, exported = frames_by(None)
for reader in [name for name, module in readers.items() if module is not None]:
    for own, plain in zip(frames_by(reader), (frame, exported)):
        pandas.testing.assert_frame_equal(own, plain)
print(json.dumps([str(frame["day"].dtype), str(frame["weight"].dtype), bool(frame["day"].isna().any()), len(exported) == len(frame) > 0]))`);
    expect(output).toEqual(['datetime64[ns]', 'float64', true, true]);
  });

  test.skipIf(!hasPlots)('plots the content of its frames', async () => {
    const output = await user.runScript(`
import matplotlib
matplotlib.use("agg")
from divisor import notebook
levels = notebook.plot_levels(d, "PY").get_lines()[0].get_ydata()
depth = notebook.plot_drawdowns(d, "PY").get_lines()[0].get_ydata().min()
bars = notebook.plot_weights(d, "PY", count=3).patches
groups = notebook.plot_exposures(d, "PY").collections
print(json.dumps([levels[0], bool(abs(depth - d.api.get_overview("PY")["metrics"]["max_drawdown"]) < 1e-9), len(bars), len(groups) == len(d.frames.exposures("PY").columns)]))`);
    expect(output).toEqual([100, true, 3, true]);
  });

  test.skipIf(!hasTqdm)('shows progress with tqdm', async () => {
    const { err } = await user.run(`
from divisor import *
Divisor(progress=progress_bar, frames=False).backtest("PY", start="2020-03-02")`);
    expect(err).toContain('backtest:PY');
    expect(err).toContain('100');
  });
});
