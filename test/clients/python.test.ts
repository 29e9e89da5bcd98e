import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '#domain/limits.js';
import { liveService, type LiveService } from '../real/live.js';

const runs = (command: string, ...words: string[]) => spawnSync(command, words).status === 0;
/** The first Python with pandas: a system's packages are often there for its own Python alone. */
const PYTHONS = ['python3', '/usr/bin/python3'].filter((command) => runs(command, '--version'));
const PYTHON = PYTHONS.find((command) => runs(command, '-c', 'import pandas')) ?? PYTHONS[0] ?? '';
const isPythonHere = PYTHON !== '';
const has = (module: string) => isPythonHere && runs(PYTHON, '-c', `import ${module}`);
const hasPandas = has('pandas');
const hasArrow = hasPandas && has('pyarrow');
const hasMypy = runs('mypy', '--version');
const canBuild = has('pip') && has('setuptools, wheel');
const missing = (is: boolean, what: string) => (is ? [] : [what]);
const absent = !isPythonHere
  ? ['python3']
  : [
      ...missing(hasPandas, 'pandas'),
      ...missing(hasArrow, 'pyarrow'),
      ...missing(hasMypy, 'mypy'),
      ...missing(canBuild, 'setuptools, wheel and pip'),
    ];
if (absent.length > 0) console.log(`Tests of the Python client are skipped that need ${absent.join(', or ')}.`);

const CLIENTS = resolve('src/clients/python');
const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };

let service: LiveService;
let folder: string;
beforeAll(async () => {
  if (!isPythonHere) return;
  service = await liveService();
  folder = await mkdtemp(join(tmpdir(), 'divisor-python-'));
  await service.job('/data/synthetic', { store_id: 'market', assets: 10, start: '2019-01-02', end: '2020-12-31' });
  await service.ok('PUT', '/indices/PY', {
    id: 'PY',
    name: 'Python',
    calendar: 'XNYS',
    base_date: '2020-01-02',
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  await service.job('/analytics/PY/backtest', { transaction_cost_bps: 5 });
});
afterAll(async () => {
  if (!isPythonHere) return;
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs Python as its user would; the service answers in this process meanwhile. */
function python(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return new Promise((done, reject) => {
    const child = spawn(PYTHON, words, {
      cwd: folder,
      env: {
        ...process.env,
        PYTHONPATH: CLIENTS,
        DIVISOR_URL: service.url,
        PYTHONDONTWRITEBYTECODE: '1',
        ...environment,
      },
    });
    const texts = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => void (texts.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => void (texts.err += text));
    child.on('error', reject).on('close', (status) => done({ status, ...texts }));
  });
}

/** What a script says as JSON on its last line. */
async function outputOf(script: string): Promise<unknown> {
  const { status, out, err } = await python([
    '-c',
    `import json\nfrom divisor import *\nd = Divisor(frames=False)\n${script}`,
  ]);
  expect(status, err).toBe(0);
  return JSON.parse(out.trimEnd().split('\n').at(-1)!);
}

describe.skipIf(!isPythonHere)('the Python client', () => {
  test('backtests, and its numbers are those of the service', async () => {
    const said = await outputOf(`
seen = []
run = d.backtest("PY", progress=lambda job: seen.append((job["status"], job["progress"])), transaction_cost_bps=5)
print(json.dumps([run["metrics"], len(run["level"]), run["level"].last, seen[-1]]))`);
    const overview = await service.ok<{ metrics: unknown; level: { data: number[] } }>('GET', '/analytics/PY/overview');
    expect(said).toEqual([overview.metrics, overview.level.data.length, overview.level.data.at(-1), ['succeeded', 1]]);
  });

  test('has the result of a current run at once', async () => {
    const said = await outputOf(`
seen = []
run = d.backtest("PY", progress=lambda job: seen.append(job["status"]), transaction_cost_bps=5, if_stale=True)
print(json.dumps([run["metrics"]["total_return"], seen]))`);
    const overview = await service.ok<{ metrics: { total_return: number } }>('GET', '/analytics/PY/overview');
    expect(said).toEqual([overview.metrics.total_return, []]);
  });

  test('reads prices, reference data and weights', async () => {
    const said = await outputOf(`
name = d.request("GET", "/data/identifiers", query={"limit": 1})["identifiers"][0]["identifier"]
prices = d.prices(name, start="2020-12-30", columns=["CLOSE"])
held = d.weights("PY", as_of="2020-06-30")["weights"]
print(json.dumps([prices.column("CLOSE") == [row[0] for row in prices["data"]], list(d.reference([name, "NOBODY"], ["NAME"])) == [name], round(sum(row["weight"] for row in held), 12)]))`);
    expect(said).toEqual([true, true, 1]);
  });

  test('exports a table as rows, and as a file in the format of its ending', async () => {
    const said = await outputOf(`
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
    expect(said).toEqual([true, true, 'PK', ['VALIDATION_FAILED', 'INDEX_NOT_FOUND'], ['weights.csv', 'weights.xlsx']]);
  });

  test.skipIf(!hasPandas)('exports a table as a frame, the same that pandas reads from CSV', async () => {
    const said = await outputOf(`
import pandas
d = Divisor()
frame = d.export("PY", "levels")
d.export("PY", "levels", "levels.csv")
read = pandas.read_csv("levels.csv", parse_dates=["date"], float_precision="round_trip")
print(json.dumps([list(frame.columns) == list(read.columns), bool((frame["level"] == read["level"]).all()), str(frame["date"].dtype).startswith("datetime64"), bool(frame["return"].isna().sum() == 1)]))`);
    expect(said).toEqual([true, true, true, true]);
  });

  test('imports rows, dates and lists of dictionaries', async () => {
    const said = await outputOf(`
from datetime import date
rows = [{"identifier": "A", "date": date(2024, 1, day), "CLOSE": 100 + day} for day in (2, 3, 4)]
print(json.dumps(d.import_tables("Rows", {"market": rows}, store_id="rows")["rows"]["market"]))`);
    expect(said).toBe(3);
  });

  test('raises refusals with their code and every finding', async () => {
    const said = await outputOf(`
try:
    d.put_index({"id": "BAD", "name": "", "calendar": "XNYS", "base_date": "2024-02-30", "pipeline": {"weighting": {"type": "EqualWeight"}}})
except DivisorError as refused:
    print(json.dumps([refused.code, refused.status, [f["path"] for f in refused.findings], "BAD_DATE" in str(refused)]))`);
    expect(said).toEqual(['VALIDATION_FAILED', 422, ['base_date', 'name'], true]);
  });

  test('raises the error of a failed job, and nobody at the address as such', async () => {
    const said = await outputOf(`
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
print(json.dumps(codes))`);
    expect(said).toEqual(['RISK_INSUFFICIENT_DATA', 'Nothing answers at http://127.0.0.1:9.']);
  });

  test('prices a future as worked by hand', async () => {
    const said = await outputOf(
      'print(d.price_future(spot=4000, as_of="2024-01-02", expiry="2024-03-15", risk_free_rate=0.05, dividend_yield=0.015, borrow_rate=0.002)["fair_value"])',
    );
    expect(said).toBeCloseTo(4000 * Math.exp((0.05 - 0.015 - 0.002) * 0.2), 9);
  });

  test.skipIf(!hasArrow)('prices that travel as Arrow are the frame that JSON makes', async () => {
    const said = await outputOf(`
import pandas, divisor.client
d = Divisor()
name = d.request("GET", "/data/identifiers", query={"limit": 1})["identifiers"][0]["identifier"]
heard = []
answer = d.transport.answer
d.transport.answer = lambda *words: (heard.append(words[-1]), answer(*words))[1]
arrow = d.prices(name, start="2020-01-02", columns=["CLOSE", "VOLUME"])
divisor.client.pyarrow = None
plain = d.prices(name, start="2020-01-02", columns=["CLOSE", "VOLUME"])
print(json.dumps([heard[0], heard[1] == heard[0], list(arrow.columns), len(arrow), isinstance(arrow.index, pandas.DatetimeIndex), list(arrow.index) == list(plain.index), bool((arrow["CLOSE"] == plain["CLOSE"]).all()), list(map(str, arrow.dtypes)) == list(map(str, plain.dtypes))]))`);
    expect(said).toEqual([
      'application/vnd.apache.arrow.stream',
      false,
      ['CLOSE', 'VOLUME'],
      253,
      true,
      true,
      true,
      true,
    ]);
  });

  test.skipIf(!hasPandas)('hands over series and tables as pandas objects, and takes frames', async () => {
    const said = await outputOf(`
import pandas
d = Divisor()
level = d.levels("PY")
frame = d.prices(d.request("GET", "/data/identifiers", query={"limit": 1})["identifiers"][0]["identifier"])
table = pandas.DataFrame({"identifier": ["A", "A"], "date": pandas.to_datetime(["2024-01-02", "2024-01-03"]), "CLOSE": [1.0, 2.0], "VOLUME": [float("nan"), 3.0]})
imported = d.import_tables("Frame", {"market": table}, store_id="frame")
print(json.dumps([isinstance(level, pandas.Series), isinstance(level.index, pandas.DatetimeIndex), isinstance(frame, pandas.DataFrame), "CLOSE" in frame.columns, imported["rows"]["market"]]))`);
    expect(said).toEqual([true, true, true, true, 2]);
  });

  test.skipIf(!hasPandas)(
    'a large frame arrives whole, its names and dates in columns, in the index or above the columns',
    async () => {
      const said = await outputOf(`
import numpy, pandas
d = Divisor()
names, days = [f"N{i}" for i in range(60)], pandas.bdate_range("2021-01-04", periods=700, tz="Europe/London")
index = pandas.MultiIndex.from_product([days, names], names=["Date", "Ticker"])
values = numpy.random.default_rng(7).uniform(1, 2, (len(index), 3))
frame = pandas.DataFrame(values, index=index, columns=["CLOSE", "VOLUME", "SHARES"])
frame.iloc[5, 1] = numpy.nan
wide = frame.unstack("Ticker")
shapes = {"columns": frame.reset_index().rename(columns={"Date": "date", "Ticker": "identifier"}), "index": frame, "wide": wide}
stores = [d.import_tables(name, {"market": shape}) for name, shape in shapes.items()]
sectors = pandas.DataFrame({"SECTOR": ["Energy"] * 60}, index=pandas.Index(names, name="identifier"))
both = d.import_tables("both", {"reference": sectors, "market": frame}, activate=True)
held = d.prices("N7", columns=["CLOSE"])["CLOSE"]
try:
    d.import_tables("torn", {"market": frame, "reference": sectors.assign(identifier=[""] * 60)})
except DivisorError as refused:
    torn = refused.code
print(json.dumps([len({answer["store"]["content_hash"] for answer in stores}), both["rows"]["market"], both["rows"]["reference"],
    list(held) == list(frame["CLOSE"].xs("N7", level="Ticker")), str(held.index[0].date()), d.reference(["N7"], ["SECTOR"]), torn,
    [store["store_id"] for store in d.request("GET", "/data/stores")["stores"] if store["store_id"] == "torn"]]))
`);
      await service.job('/data/stores/market/activate');
      expect(said).toEqual([1, 42_000, 60, true, '2021-01-04', { N7: { SECTOR: 'Energy' } }, 'VALIDATION_FAILED', []]);
    },
  );

  test('an operation answers what the service answers; a job is waited for, or its result is there at once', async () => {
    const said = await outputOf(`
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
    expect(said).toEqual(['backtest:PY', 'succeeded', null, true, true, true, ['caught-up'], true]);
  });

  test('an error has the exception of its code, that of a failed job too', async () => {
    const said = await outputOf(`
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
    expect(said).toEqual([
      ['INDEX_NOT_FOUND', false, 404],
      ['PRECONDITION_FAILED', false, 412],
      ['RISK_INSUFFICIENT_DATA', true, null],
    ]);
  });

  test('what the service refuses for now is asked again after the pause it names; what it refuses for good is not', async () => {
    const said = await outputOf(`
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
    expect(said).toEqual([
      ['1', 'NO_DATA_SOURCE'],
      ['/health', '/health', '/health', '/data/coverage'],
    ]);
  });

  test('a body that is too large is called that', async () => {
    const said = await outputOf(`
try:
    d.import_tables("Large", {"market": {"index": [], "columns": ["identifier"], "data": [["A" * (1 << 26)]]}})
except DivisorError as refused:
    print(json.dumps([refused.code, refused.detail["limit"]]))`);
    expect(said).toEqual(['BODY_TOO_LARGE', LIMITS.MAX_IMPORT_BYTES]);
  });

  test.skipIf(!hasMypy)('its types hold, strictly, for Python 3.9 too', () => {
    const { status, stdout } = spawnSync(
      'mypy',
      [
        '--strict',
        '--python-version',
        '3.9',
        '--cache-dir',
        join(folder, 'mypy'),
        '--config-file',
        'pyproject.toml',
        'divisor',
      ],
      { cwd: CLIENTS, encoding: 'utf8' },
    );
    expect(status, stdout).toBe(0);
  });

  test.skipIf(!canBuild)('it is a typed wheel, made without a network', async () => {
    const source = join(folder, 'source');
    cpSync(CLIENTS, source, { recursive: true });
    const words = ['-m', 'pip', 'wheel', '--no-build-isolation', '--no-index', '--no-deps', '-w', 'wheels', source];
    const { status, err } = await python(words);
    expect(status, err).toBe(0);
    const [wheel, ...others] = readdirSync(join(folder, 'wheels'));
    expect([wheel, others]).toEqual([`divisor_client-${VERSION}-py3-none-any.whl`, []]);
    // A wheel is a zip that Python imports from.
    const ran = await python(['-c', 'import divisor; print(divisor.__file__, divisor.Divisor().health()["version"])'], {
      PYTHONPATH: join(folder, 'wheels', wheel!),
    });
    expect([ran.err, ran.out.includes('.whl/divisor'), ran.out.trim().endsWith(VERSION)]).toEqual(['', true, true]);
    const held = await python(['-m', 'zipfile', '-l', join(folder, 'wheels', wheel!)]);
    expect(held.out).toContain('divisor/py.typed');
  });

  test('its example ends in a chart', async () => {
    const { status, out, err } = await python([join(CLIENTS, 'example.py')]);
    expect(status, err).toBe(0);
    const chart = /Chart written to (\S+)/.exec(out)![1]!;
    expect(existsSync(join(folder, chart))).toBe(true);
    if (chart.endsWith('.svg')) expect(readFileSync(join(folder, chart), 'utf8').match(/<polyline/g)).toHaveLength(2);
    expect(err.match(/100%/g)!.length).toBeGreaterThanOrEqual(3);
  });
});
