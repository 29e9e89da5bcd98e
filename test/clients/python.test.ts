import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import { CLIENTS, isPythonHere, openPythonUser, reportMissing, type PythonUser } from './python-user.js';

reportMissing('the Python client', { python3: isPythonHere });

let user: PythonUser;
beforeAll(async () => {
  if (isPythonHere) user = await openPythonUser();
});
afterAll(() => user?.close());

const runScript = (script: string) => user.runScript(script);

describe.skipIf(!isPythonHere)('the Python client', () => {
  test('backtests, and returns the figures of the service', async () => {
    const output = await runScript(`
seen = []
run = d.backtest("PY", progress=lambda job: seen.append((job["status"], job["progress"])), transaction_cost_bps=5)
print(json.dumps([run["metrics"], len(run["level"]), run["level"].last, seen[-1]]))`);
    const overview = await user.service.ok<{ metrics: unknown; level: { data: number[] } }>(
      'GET',
      '/analytics/PY/overview',
    );
    expect(output).toEqual([
      overview.metrics,
      overview.level.data.length,
      overview.level.data.at(-1),
      ['succeeded', 1],
    ]);
  });

  test('returns the result of a current run at once', async () => {
    const output = await runScript(`
seen = []
run = d.backtest("PY", progress=lambda job: seen.append(job["status"]), transaction_cost_bps=5, if_stale=True)
print(json.dumps([run["metrics"]["total_return"], seen]))`);
    const overview = await user.service.ok<{ metrics: { total_return: number } }>('GET', '/analytics/PY/overview');
    expect(output).toEqual([overview.metrics.total_return, []]);
  });

  test('backtests many indices, and returns the outcome of each', async () => {
    const output = await runScript(`
run = d.backtest("PY", transaction_cost_bps=5)
rows = d.backtests(["PY", "NOBODY"], transaction_cost_bps=5)
again = d.backtests(["PY"], transaction_cost_bps=5, if_stale=True)
print(json.dumps([[(row["index_id"], row["outcome"]) for row in rows + again], rows[0]["total_return"] == run["metrics"]["total_return"], rows[1]["error"]["code"]]))`);
    expect(output).toEqual([
      [
        ['PY', 'done'],
        ['NOBODY', 'refused'],
        ['PY', 'current'],
      ],
      true,
      'INDEX_NOT_FOUND',
    ]);
  });

  test('imports a risk model that the service has exported', async () => {
    const output = await runScript(`
import pathlib, tempfile
names = [row["identifier"] for row in d.request("GET", "/data/identifiers", query={"limit": 2})["identifiers"]]
d.run("/risk-models/inside/estimate", {"identifiers": names})
exported = d.request("GET", "/risk-models/inside/export")
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder, "model.json")
    file.write_text(json.dumps(exported))
    first = d.import_risk_file("outside", file)
    file = pathlib.Path(folder, "model.csv")
    file.write_text("identifier,{0},{1}\\n{0},0.04,0.01\\n{1},0.01,0.09\\n".format(*names))
    second = d.import_risk_file("csv", file, units="annual", date="2020-06-30")
again = d.request("GET", "/risk-models/outside/export")
print(json.dumps([first["assets"], again == exported, second["imported"]["dates"][0]["date"]]))`);
    expect(output).toEqual([2, true, '2020-06-30']);
  });

  test('reads prices, reference data and weights', async () => {
    const output = await runScript(`
name = d.request("GET", "/data/identifiers", query={"limit": 1})["identifiers"][0]["identifier"]
prices = d.prices(name, start="2020-12-30", columns=["CLOSE"])
held = d.weights("PY", as_of="2020-06-30")["weights"]
print(json.dumps([prices.column("CLOSE") == [row[0] for row in prices["data"]], list(d.reference([name, "NOBODY"], ["NAME"])) == [name], round(sum(row["weight"] for row in held), 12)]))`);
    expect(output).toEqual([true, true, 1]);
  });

  test('exports a table as rows, and as a file in the format of its extension', async () => {
    const output = await runScript(`
import csv, os
rows = d.export("PY", "weights", start="2020-06-01", end="2020-06-30")
d.export("PY", "weights", "weights.csv", start="2020-06-01", end="2020-06-30")
d.export("PY", "weights", "weights.xlsx")
with open("weights.csv", newline="") as file:
    read = list(csv.DictReader(file))
same = [(row["date"], row["identifier"], row["weight"]) for row in rows] == [(row["date"], row["identifier"], float(row["weight"])) for row in read]
codes = []
for path in ("weights.pdf", "nobody.csv"):
    try:
        d.export("NOBODY" if path == "nobody.csv" else "PY", "weights", path)
    except DivisorError as refused:
        codes.append(refused.code)
with open("weights.xlsx", "rb") as file:
    begins = file.read(2).decode()
print(json.dumps([len(rows) > 100, same, begins, codes, sorted(name for name in os.listdir(".") if name.startswith(("weights", "nobody")))]))`);
    expect(output).toEqual([
      true,
      true,
      'PK',
      ['VALIDATION_FAILED', 'INDEX_NOT_FOUND'],
      ['weights.csv', 'weights.xlsx'],
    ]);
  });

  test('imports rows, dates and lists of dictionaries', async () => {
    const output = await runScript(`
from datetime import date
rows = [{"identifier": "A", "date": date(2024, 1, day), "CLOSE": 100 + day} for day in (2, 3, 4)]
print(json.dumps(d.import_tables("Rows", {"market": rows}, store_id="rows")["rows"]["market"]))`);
    expect(output).toBe(3);
  });

  test('warns of the findings of a stored definition, and returns them', async () => {
    const output = await runScript(`
import warnings
held = {"id": "NINE", "name": "Nine", "calendar": "XNYS", "base_date": "2020-01-02", "currency": "EUR", "pipeline": {"weighting": {"type": "EqualWeight"}}}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    stored = d.put_index(held)
codes = [finding["code"] for finding in stored.findings if finding["severity"] != "info"]
print(json.dumps([stored["id"], codes, [str(warning.message).split(" ")[0] for warning in caught]]))`);
    expect(output).toEqual(['NINE', ['FX_MISSING'], ['FX_MISSING']]);
  });

  test('raises refusals with their code and every finding', async () => {
    const output = await runScript(`
try:
    d.put_index({"id": "BAD", "name": "", "calendar": "XNYS", "base_date": "2024-02-30", "pipeline": {"weighting": {"type": "EqualWeight"}}})
except DivisorError as refused:
    print(json.dumps([refused.code, refused.status, [f["path"] for f in refused.findings], "BAD_DATE" in str(refused)]))`);
    expect(output).toEqual(['VALIDATION_FAILED', 422, ['base_date', 'name'], true]);
  });

  test('raises the error of a failed job, and an unavailable service as such', async () => {
    const output = await runScript(`
codes = []
name = d.request("GET", "/data/identifiers", query={"limit": 1})["identifiers"][0]["identifier"]
try:
    d.estimate_risk_model("short", identifiers=[name], start="2020-12-28")
except JobFailed as failed:
    codes.append(failed.code)
try:
    Divisor("http://127.0.0.1:9").health()
except Unreachable as gone:
    codes.append(str(gone))
try:
    d.import_file("absent.parquet")
except FileNotFoundError as absent:
    codes.append(absent.filename)
print(json.dumps(codes))`);
    expect(output).toEqual(['RISK_INSUFFICIENT_DATA', 'Nothing answers at http://127.0.0.1:9.', 'absent.parquet']);
  });

  test('optimises, validates a risk model and runs scenarios, as the operations do', async () => {
    const output = await runScript(`
d.request("PUT", "/optimise/constraint-sets/py", {"id": "py", "name": "py", "constraints": [{"id": "cap", "type": "PositionBounds", "params": {"upper": 0.4}}]})
run = d.optimise("PY", "py", objective="min_variance")
d.estimate_risk_model("py", index_id="PY")
validated = d.validate_risk_model("py", sessions=60, horizon=5, random=2, eigenportfolios=1)
windows = [{"name": "March", "window": {"start": "2020-03-02", "end": "2020-03-31"}}]
shown = d.scenarios("PY", windows, as_of="2020-06-30")["scenarios"]
same = d.api.run_scenarios("PY", {"scenarios": windows, "as_of": "2020-06-30"})["scenarios"]
print(json.dumps([run["objective_type"], round(sum(row["weight"] for row in run["weights"]), 9), max(row["weight"] for row in run["weights"]) <= 0.4 + 1e-9,
    validated["model_id"], validated["horizon"], [row["name"] for row in shown], shown[0]["return"] == same[0]["return"]]))`);
    expect(output).toEqual(['min_variance', 1, true, 'py', 5, ['March'], true]);
  });

  test('prices a future as computed by hand', async () => {
    const output = await runScript(
      'print(d.price_future(spot=4000, as_of="2024-01-02", expiry="2024-03-15", risk_free_rate=0.05, dividend_yield=0.015, borrow_rate=0.002)["fair_value"])',
    );
    expect(output).toBeCloseTo(4000 * Math.exp((0.05 - 0.015 - 0.002) * 0.2), 9);
  });

  test('an operation returns the response of the service; a job is awaited, or its result is returned at once', async () => {
    const output = await runScript(`
api = d.api
job = api.start_backtest("PY", {"transaction_cost_bps": 5})
seen = []
run = job.wait(lambda status: seen.append(status["status"]))
again = api.start_backtest("PY", {"transaction_cost_bps": 5, "if_stale": True})
weights = api.get_weights("PY", as_of="2020-06-30")["weights"]
lines = api.export_run_content("PY", "weights", "text/csv", end="2020-06-30").decode().strip().splitlines()
rows = api.export_run("PY", "weights", end="2020-06-30")["data"]
print(json.dumps([job.job_id, seen[-1], again.job_id, again.wait() == run, abs(sum(row["weight"] for row in weights) - 1) < 1e-12,
    len(lines) == len(rows) + 1, [event.event for event in api.follow_jobs(seconds=0)], "# HELP" in api.get_metrics()]))`);
    expect(output).toEqual(['backtest:PY', 'succeeded', null, true, true, true, ['caught-up'], true]);
  });

  test('an error has the exception type of its code, also for a failed job', async () => {
    const output = await runScript(`
from divisor.codes import IndexNotFound, PreconditionFailed, RiskInsufficientData
caught = []
name = d.api.search_identifiers(limit=1)["identifiers"][0]["identifier"]
for kind, call in (
    (IndexNotFound, lambda: d.api.get_index("NOBODY")),
    (PreconditionFailed, lambda: d.api.put_index("PY", d.api.get_index("PY"), if_match="older")),
    (RiskInsufficientData, lambda: d.api.estimate_risk_model("short", {"identifiers": [name], "start": "2020-12-28"}).wait()),
):
    try:
        call()
    except kind as failure:
        caught.append([failure.code, isinstance(failure, JobFailed), failure.status])
print(json.dumps(caught))`);
    expect(output).toEqual([
      ['INDEX_NOT_FOUND', false, 404],
      ['PRECONDITION_FAILED', false, 412],
      ['RISK_INSUFFICIENT_DATA', true, null],
    ]);
  });

  test('a temporary refusal is retried after the pause that it states; a permanent one is not', async () => {
    const output = await runScript(`
import http.server, threading
asked = []
class Busy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        code = "NO_DATA_SOURCE" if self.path == "/data/coverage" else "OVERLOADED" if len(asked) < 3 else None
        body = json.dumps({"error": {"code": code, "message": "", "detail": None}} if code else {"version": "1"}).encode()
        self.send_response(503 if code else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Busy)
threading.Thread(target=server.serve_forever, daemon=True).start()
import divisor.transport
divisor.transport.PAUSE_SECONDS = 0
busy = Divisor(f"http://127.0.0.1:{server.server_port}")
codes = [busy.health()["version"]]
try:
    busy.api.get_coverage()
except DivisorError as refused:
    codes.append(refused.code)
print(json.dumps([codes, asked]))`);
    expect(output).toEqual([
      ['1', 'NO_DATA_SOURCE'],
      ['/health', '/health', '/health', '/data/coverage'],
    ]);
  });

  test('a job is followed by its events, resumes from the last event after a disconnection, and is polled where no events arrive', async () => {
    const output = await runScript(`
import http.server, threading
asked = []
job = {"job_id": "risk:x", "kind": "risk", "status": "running", "progress": 0, "message": "", "error": None, "result": None}
class Breaking(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append([self.path.split("?")[0], self.headers.get("Last-Event-ID")])
        turn = sum(path == asked[-1][0] for path, _ in asked)
        if self.path.endswith("/events"):
            body = f"event: status\\nid: {turn}\\ndata: {json.dumps({**job, 'progress': turn / 10})}\\n\\n" if turn < 3 else "no events"
            self.answer(200 if turn < 3 else 404, "text/event-stream", body)
        elif turn == 1:
            self.answer(200, "application/json", json.dumps({**job, "progress": 0.15}))
        elif turn == 2:
            self.answer(503, "application/json", json.dumps({"error": {"code": "DRAINING", "message": "", "detail": None}}))
        else:
            over = turn > 3
            self.answer(200, "application/json", json.dumps({**job, "status": "succeeded" if over else "running", "result": 7 if over else None, "progress": 1 if over else 0.3}))
    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Breaking)
threading.Thread(target=server.serve_forever, daemon=True).start()
import divisor.transport
divisor.transport.PAUSE_SECONDS = 0
seen = []
result = Job(Divisor(f"http://127.0.0.1:{server.server_port}").transport, job).wait(lambda status: seen.append(status["progress"]))
print(json.dumps([result, seen, [last for path, last in asked if path.endswith("/events")]]))`);
    expect(output).toEqual([7, [0, 0.1, 0.15, 0.2, 0.3, 1], [null, '1', '2']]);
  });

  test('a wait that exceeds its limit ends, and the job continues', async () => {
    const output = await runScript(`
job = d.api.start_backtest("PY", {"transaction_cost_bps": 9})
given = []
for progress in (None, lambda status: None):
    try:
        Job(d.transport, {**job.status, "status": "running", "result": None}).wait(progress, timeout=0)
    except TimeoutError as late:
        given.append(job.job_id in str(late))
job.wait()
print(json.dumps([given, job.status["status"]]))`);
    expect(output).toEqual([[true, true], 'succeeded']);
  });

  test('a body that is too large is reported as too large', async () => {
    const output = await runScript(`
try:
    d.import_tables("Large", {"market": {"index": [], "columns": ["identifier"], "data": [["A" * (1 << 26)]]}})
except DivisorError as refused:
    print(json.dumps([refused.code, refused.detail["limit"], "Parquet" in str(refused)]))`);
    expect(output).toEqual(['BODY_TOO_LARGE', LIMITS.MAX_IMPORT_BYTES, true]);
  });

  test('its example ends in a chart', async () => {
    const { status, out, err } = await user.python([join(CLIENTS, 'example.py')]);
    expect(status, err).toBe(0);
    const chartPath = /Chart written to (\S+)/.exec(out)![1]!;
    expect(existsSync(join(user.folder, chartPath))).toBe(true);
    if (chartPath.endsWith('.svg'))
      expect(readFileSync(join(user.folder, chartPath), 'utf8').match(/<polyline/g)).toHaveLength(2);
    expect(err.match(/100%/g)!.length).toBeGreaterThanOrEqual(3);
  });
});
