import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXPORT_NAMES } from '#domain/outputs/exports.js';
import { IS_SOAK } from '../soak.js';
import { hasModule, openPythonUser, reportMissing, type PythonUser } from './python-user.js';

const hasPandas = hasModule('pandas');
const hasArrow = hasPandas && hasModule('pyarrow');
reportMissing("the Python client's frames", { pandas: hasPandas, pyarrow: hasArrow });

const NOTEBOOKS = resolve('data/notebooks');
/** A Jupyter kernel costs more processor time than running the code of the notebooks directly. */
const hasJupyter = IS_SOAK && hasPandas && hasModule('nbclient', 'ipykernel');
if (IS_SOAK && hasPandas && !hasJupyter) console.log('The notebooks are run as scripts: this machine has no nbclient.');

interface Notebook {
  /** Version of the notebook format. */
  readonly nbformat: number;
  readonly cells: readonly {
    readonly cell_type: string;
    readonly source: readonly string[];
    readonly outputs?: readonly unknown[];
  }[];
}

let user: PythonUser;
beforeAll(async () => {
  if (hasPandas) user = await openPythonUser();
});
afterAll(() => user?.close());

const runScript = (script: string) => user.runScript(script);

/** Returns the path and the number of rows of every list of objects, dated series and table in a response. */
function listTablesIn(value: unknown, location: string): [place: string, rows: number][] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.length > 0 && value.every(isObject) ? [[location, value.length]] : [];
  if ('index' in value && 'data' in value) return [[location, (value.index as unknown[]).length]];
  return Object.entries(value).flatMap(([name, member]) => listTablesIn(member, `${location}.${name}`));
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

describe.skipIf(!hasPandas)('with pandas', () => {
  test('loads pandas only for the first frame', async () => {
    const script = `
import sys
from divisor import Divisor
before = "pandas" in sys.modules
Divisor().request("GET", "/analytics/PY/levels")
print(before, "pandas" in sys.modules)`;
    const { out, err } = await user.python(['-c', script]);
    expect(out, err).toBe('False True\n');
  });

  test('reports an invalid frame before it is sent, and adjusted closes that are not used', async () => {
    const output = await runScript(`
import pandas, warnings
d = Divisor()
rows = pandas.DataFrame({"identifier": ["A", "A"], "date": ["2024-01-02", "2024-01-03"], "CLOSE": [1.0, float("inf")]})
levels = rows.assign(CLOSE=1.0, x="u", y="v").set_index(["identifier", "date", "x", "y"]).rename_axis([None, "date", None, None])
def refused(market):
    try:
        d.import_tables("X", {"market": market})
    except ValueError as failure:
        return str(failure)
said = [refused(rows), refused(rows.set_index("date")["CLOSE"]), refused(levels)]
finite = rows.assign(CLOSE=[1.0, 2.0])
stored = d.import_tables("Series", {"market": finite.set_index(["identifier", "date"])["CLOSE"]})["rows"]["market"]
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    d.import_tables("Yahoo", {"market": finite.assign(**{"Adj Close": 1.0})})
    d.import_tables("Meant", {"market": finite.assign(**{"Adj Close": 1.0})}, mapping={})
finite.rename(columns={"CLOSE": "Close"}).to_csv("B.csv", index=False)
try:
    d.import_file("B.feather")
except ValueError as failure:
    said.append(str(failure))
print(json.dumps([said, stored, [str(one.message)[:9] for one in warned], d.import_file("B.csv")["rows"]["market"]]))`);
    expect(output).toEqual([
      [
        expect.stringMatching(/^CLOSE of the table market is inf in row 2 /) as string,
        expect.stringMatching(/is a Series, which has no identifiers/) as string,
        expect.stringMatching(/has 4 levels, of which 3 would become the column identifier/) as string,
        expect.stringMatching(/^B\.feather must be one of \.xlsx, \.zip, \.csv/) as string,
      ],
      2,
      ['Adj Close'],
      2,
    ]);
  });

  test('cells without a value are None in small and large frames, and values that cannot be sent are reported', async () => {
    const output = await runScript(`
import decimal, pandas
import divisor.frames
d = Divisor()
days = pandas.date_range("2024-01-01", periods=4, freq="B")
frame = pandas.DataFrame({"identifier": "A", "date": days, "CLOSE": pandas.array([1.5, 2.5, 3.5, 4.5], dtype="Float64")})
frame["VOLUME"] = pandas.array([1, 2, 3, pandas.NA], dtype="Int64")
frame["EXACT"] = [decimal.Decimal("0.25"), None, decimal.Decimal("NaN"), decimal.Decimal("1.5")]
frame["GAP"] = pandas.Series([1.0, pandas.NA, pandas.NaT, None], dtype=object)
sent = divisor.frames.split("market", frame)["data"]
def rows_of(name):
    return d.import_tables(name, {"market": frame})["rows"]["market"]
small = rows_of("Small")
divisor.frames.LARGE_CELLS = 0
large = rows_of("Large")
divisor.frames.LARGE_CELLS = 100_000
def refused(**columns):
    try:
        d.import_tables("X", {"market": frame.assign(**columns)})
    except ValueError as failure:
        return str(failure)
print(json.dumps([[row[2:] for row in sent], small, large, refused(EXACT=[1, {"a": 1}, 2, 3]), refused(EXACT=[1, 2, 3, decimal.Decimal("Infinity")])]))`);
    expect(output).toEqual([
      [
        [1.5, 1, 0.25, 1],
        [2.5, 2, null, null],
        [3.5, 3, null, null],
        [4.5, null, 1.5, null],
      ],
      4,
      4,
      expect.stringMatching(/^EXACT of the table market is dict .*, which cannot be sent, in row 2 \(1\)\.$/) as string,
      expect.stringMatching(/^EXACT of the table market is Infinity, .* in row 4 \(3\)\.$/) as string,
    ]);
  });

  test('has every performance figure in one frame', async () => {
    const output = await runScript(`
d = Divisor()
frame = d.frames.statistics("PY")
answer = Divisor(frames=False).request("GET", "/analytics/PY/performance")
own = {**answer["metrics"], **answer["statistics"]}
same = [bool(frame.loc[name, "PY"] == value) for name, value in own.items() if value is not None]
against = answer["benchmark_statistics"] or {}
print(json.dumps([all(same), len(same) > 9, {"sortino_ratio", "cvar_95", "skewness", "hit_rate"} <= set(frame.index), all(name in frame.index for name in against)]))`);
    expect(output).toEqual([true, true, true, true]);
  });

  test('exports a table as a frame, equal to the frame that pandas reads from CSV', async () => {
    const output = await runScript(`
import pandas
d = Divisor()
frame = d.export("PY", "levels")
d.export("PY", "levels", "levels.csv")
read = pandas.read_csv("levels.csv", parse_dates=["date"], float_precision="round_trip")
print(json.dumps([list(frame.columns) == list(read.columns), bool((frame["level"] == read["level"]).all()), str(frame["date"].dtype).startswith("datetime64"), bool(frame["return"].isna().sum() == 1)]))`);
    expect(output).toEqual([true, true, true, true]);
  });

  const readers = { csv: true, arrow: hasArrow, xlsx: hasPandas && hasModule('openpyxl') };
  reportMissing('exports read back', { 'pyarrow for Arrow': readers.arrow, 'openpyxl for Excel': readers.xlsx });

  test('reads every table of an export from each format bit-identically to JSON', async () => {
    const formats = Object.entries(readers).flatMap(([format, isHere]) => (isHere ? [format] : []));
    const output = await runScript(`
import pandas
from datetime import date
readers = {
    "csv": lambda path: pandas.read_csv(path, float_precision="round_trip", keep_default_na=False, na_values=[""]),
    "xlsx": lambda path: pandas.read_excel(path, keep_default_na=False, na_values=[""]),
    "arrow": lambda path: __import__("pyarrow").ipc.open_stream(path).read_pandas(),
}
d = Divisor(frames=False)
differing = []
def plain(cell):
    return None if pandas.isna(cell) else cell.isoformat()[:10] if isinstance(cell, date) else cell
for table in ${JSON.stringify(EXPORT_NAMES.filter((name) => name !== 'proforma'))}:
    rows = [list(row.values()) for row in d.export("PY", table)]
    for format in ${JSON.stringify(formats)}:
        path = table + "." + format
        d.export("PY", table, path)
        read = readers[format](path)
        cells = [[plain(cell) for cell in row] for row in read.astype(object).values.tolist()]
        if not rows or cells != rows:
            differing.append(path)
print(json.dumps(differing))`);
    expect(output).toEqual([]);
  });

  test.skipIf(!hasArrow)('prices sent as Arrow are equal to the frame read from JSON', async () => {
    const output = await runScript(`
import pandas, divisor.arrow
d = Divisor()
name = d.request("GET", "/data/identifiers", query={"limit": 1})["identifiers"][0]["identifier"]
heard = []
answer = d.transport.answer
d.transport.answer = lambda *words: (heard.append(words[5]), answer(*words))[1]
arrow = d.prices(name, start="2020-01-02", columns=["CLOSE", "VOLUME"])
divisor.arrow.pyarrow = divisor.arrow.polars = None
plain = d.prices(name, start="2020-01-02", columns=["CLOSE", "VOLUME"])
print(json.dumps([heard[0], heard[1] == heard[0], list(arrow.columns), len(arrow), isinstance(arrow.index, pandas.DatetimeIndex), list(arrow.index) == list(plain.index), bool((arrow["CLOSE"] == plain["CLOSE"]).all()), list(map(str, arrow.dtypes)) == list(map(str, plain.dtypes))]))`);
    expect(output).toEqual([
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

  test('the tables of answers are frames, and the identities of their figures hold', async () => {
    const output = await runScript(`
import numpy
from divisor import tables
d = Divisor()
f = d.frames
d.put_index({**d.api.get_index("PY"), "id": "PY-2"})
d.backtest("PY-2")
path = "/document/pipeline/weighting/type"
sweep = f.sweep({"index_id": "PY", "grid": {path: ["EqualWeight", "MarketCapWeight"]}})
attribution, total = f.attribution("PY"), d.api.get_attribution("PY")["total_return"]
levels, drawdown = f.levels("PY")["PY"], d.api.get_overview("PY")["metrics"]["max_drawdown"]
exposures, rolling = f.exposures("PY", by="SECTOR"), f.rolling("PY")
months = f.monthly_returns("PY")
changes = f.what_if("PY", {"pipeline": {"weighting": {"type": "MarketCapWeight"}}})
name = f.weights("PY").index[0]
windows = [{"name": "March", "window": {"start": "2020-03-02", "end": "2020-03-31"}}, {"name": name, "shocks": {name: -0.1}}]
shocked, of_name = f.scenarios("PY", windows, as_of="2020-06-30")["return"], tables(d.api.run_scenarios("PY", {"scenarios": windows, "as_of": "2020-06-30"}))["scenarios.by_name"]
d.estimate_risk_model("frames", index_id="PY")
validated = f.risk_validation("frames", {"sessions": 60, "horizon": 5, "random": 2, "eigenportfolios": 1})
laws = {
    "scenarios": abs(shocked - of_name.groupby("scenarios.name")["contribution"].sum()).max(),
    "validation": abs(validated["bias_low"] - (1 - (2 / validated["observations"]) ** 0.5)).max(),
    "weights": abs(f.weights("PY")["weight"].sum() - 1),
    "preview": abs(f.preview("PY")["weight"].sum() - 1),
    "attribution": abs(attribution["contribution"].sum() - total),
    "drawdown": abs((levels / levels.cummax() - 1).min() - drawdown),
    "months": abs((1 + months.stack()).prod() - 1 - d.api.get_overview("PY")["metrics"]["total_return"]),
    "exposures": abs(exposures.sum(axis=1) - 1).max(),
    "changes": abs(changes["change"].sum()),
    "compare": abs(f.compare("PY", "PY-2").iloc[0] - 100).max(),
    "benchmark": abs(f.compare("PY", benchmark="PY-2") - f.compare("PY", "PY-2")).max().max(),
    "metrics": abs(f.metrics(["PY"]).loc["max_drawdown", "PY"] - drawdown),
    "performance": abs(f.performance("PY")["level"].iloc[-1] / 100 - 1 - d.api.get_overview("PY")["metrics"]["total_return"]),
    "drawdowns": abs(f.drawdowns("PY")["depth"].min() - f.performance("PY")["drawdown"].min()),
    "correlations": abs(f.correlations("PY", "PY-2").loc["PY", "PY"] - 1),
    "sweep": abs(sweep[sweep[path] == "EqualWeight"]["max_drawdown"].iloc[0] - drawdown),
    "trades": abs(f.rebalance("PY", f.rebalances("PY").index[-1])["after"].sum() - 1),
    "prices": abs(f.prices(name)["CLOSE"] - d.prices(name)["CLOSE"]).max(),
}
broken = {law: float(off) for law, off in laws.items() if not off < 1e-9}
places = tables(d.api.get_attribution("PY"))
print(json.dumps([broken, list(sweep["rank"]), list(rolling.columns), str(levels.index.dtype)[:10], list(places),
    bool((places["contributions"]["contribution"] == attribution["contribution"]).all()), list(f.reference(name, fields=["SECTOR"]).columns)]))`);
    expect(output).toEqual([
      {},
      [1, 2],
      ['volatility', 'index_volatility', 'tracking_error', 'beta', 'correlation'],
      'datetime64',
      ['contributions'],
      true,
      ['SECTOR'],
    ]);
  });

  test('every table of every answer is a frame with the same number of rows', async () => {
    const answers = JSON.parse(readFileSync('dist/answers.json', 'utf8')) as Record<string, unknown>;
    const expected = Object.entries(answers).flatMap(([operation, answer]) => listTablesIn(answer, operation));
    expect(expected.length).toBeGreaterThan(100);
    const output = (await runScript(`
import pandas
from divisor import tables
answers = json.load(open(${JSON.stringify(resolve('dist/answers.json'))}))
rows = {(operation + "." + place).rstrip("."): len(table) for operation, answer in answers.items() for place, table in tables(answer).items()}
state = tables(answers["getLimits"])["state"]
groups = tables(answers["getExposures"])["groups.weights"]
shocks = tables(answers["runScenarios"])["scenarios.by_name"]
months = tables(answers["getPerformance"])["monthly_returns"]
print(json.dumps([rows, [str(state.index.dtype)[:10], list(state.columns), str(state["move"].dtype), [pandas.isna(one) or isinstance(one, str) for one in state["nearest"]][:3]], [list(groups.columns) == [one["group"] for one in answers["getExposures"]["groups"]], len(groups)],
    list(shocks.columns[:2]), str(months.dtype)]))`)) as [Record<string, number>, ...unknown[]];
    const [rows, ...otherRows] = output;
    expect(expected.filter(([location, length]) => rows[location] !== length)).toEqual([]);
    expect(otherRows).toEqual([
      ['datetime64', ['headroom', 'nearest', 'move'], 'float64', [true, true, true]],
      [true, 3],
      ['scenarios.name', 'weight'],
      'float64',
    ]);
  });

  test('returns series and tables as pandas objects, and accepts frames', async () => {
    const output = await runScript(`
import pandas
d = Divisor()
level = d.levels("PY")
frame = d.prices(d.request("GET", "/data/identifiers", query={"limit": 1})["identifiers"][0]["identifier"])
table = pandas.DataFrame({"identifier": ["A", "A"], "date": pandas.to_datetime(["2024-01-02", "2024-01-03"]), "CLOSE": [1.0, 2.0], "VOLUME": [float("nan"), 3.0]})
imported = d.import_tables("Frame", {"market": table}, store_id="frame")
wide = table.assign(B=[3.0, 4.0]).rename(columns={"CLOSE": "A"})[["date", "A", "B"]].set_index("date")
try:
    d.import_tables("Across", {"market": wide})
except ValueError as hint:
    hinted = "2 other columns" in str(hint) and "{'layout': 'wide', 'field': 'CLOSE'}" in str(hint)
mapped = d.import_tables("Across", {"market": wide}, mapping={"layout": "wide", "field": "CLOSE"})
print(json.dumps([isinstance(level, pandas.Series), isinstance(level.index, pandas.DatetimeIndex), isinstance(frame, pandas.DataFrame), "CLOSE" in frame.columns, imported["rows"]["market"], hinted, mapped["rows"]["market"]]))`);
    expect(output).toEqual([true, true, true, true, 2, true, 4]);
  });

  test('a large frame arrives complete, with identifiers and dates in columns, in the index or in the header', async () => {
    const output = await runScript(`
import numpy, pandas, divisor.frames, divisor.parquet
divisor.frames.LARGE_CELLS, divisor.parquet.GROUP_ROWS = 100, 1000
d = Divisor()
names, days = [f"N{i}" for i in range(30)], pandas.bdate_range("2021-01-04", periods=80, tz="Europe/London")
index = pandas.MultiIndex.from_product([days, names], names=["Date", "Ticker"])
values = numpy.random.default_rng(7).uniform(1, 2, (len(index), 3))
frame = pandas.DataFrame(values, index=index, columns=["CLOSE", "VOLUME", "SHARES"])
frame.iloc[5, 1] = numpy.nan
wide = frame.unstack("Ticker")
above = wide.rename_axis(columns=[None, None])  # fields above names without a word which is which, and the other way round
shapes = {"columns": frame.reset_index().rename(columns={"Date": "date", "Ticker": "identifier"}), "index": frame, "wide": wide,
    "field, name": above, "name, field": above.swaplevel(axis=1)}
stores = [d.import_tables(name, {"market": shape}) for name, shape in shapes.items()]
sectors = pandas.DataFrame({"SECTOR": ["Energy"] * 30}, index=pandas.Index(names, name="identifier"))
both = d.import_tables("both", {"reference": sectors, "market": frame}, activate=True)
held = d.prices("N7", columns=["CLOSE"])["CLOSE"]
try:
    d.import_tables("torn", {"market": frame, "reference": sectors.assign(identifier=[""] * 30)})
except DivisorError as refused:
    torn = refused.code
print(json.dumps([len({answer["store"]["content_hash"] for answer in stores}), both["rows"]["market"], both["rows"]["reference"],
    list(held) == list(frame["CLOSE"].xs("N7", level="Ticker")), str(held.index[0].date()), d.reference(["N7"], ["SECTOR"]), torn,
    [store["store_id"] for store in d.request("GET", "/data/stores")["stores"] if store["store_id"] == "torn"]]))
`);
    await user.service.job('/data/stores/market/activate');
    expect(output).toEqual([1, 2400, 30, true, '2021-01-04', { N7: { SECTOR: 'Energy' } }, 'VALIDATION_FAILED', []]);
  });

  const notebooks = readdirSync(NOTEBOOKS).filter((name) => name.endsWith('.ipynb'));
  test.each(notebooks.map((name, i) => [name, i] as const))('%s runs to its end', async (name, i) => {
    const file = `${NOTEBOOKS}/${name}`;
    const { cells, nbformat } = JSON.parse(readFileSync(file, 'utf8')) as Notebook;
    const code = cells.filter((cell) => cell.cell_type === 'code');
    const inKernel = `import nbclient, nbformat\nnbclient.NotebookClient(nbformat.read(${JSON.stringify(file)}, 4), timeout=120).execute()`;
    const { status, err } =
      hasJupyter && i === 0
        ? await user.python(['-c', inKernel])
        : await user.run(code.map(({ source }) => source.join('')).join('\n\n'));
    expect([status, nbformat], err).toEqual([0, 4]);
    // An output saved in a cell would contain the date of its run.
    expect(code.filter(({ outputs }) => outputs!.length > 0)).toEqual([]);
  });
});
