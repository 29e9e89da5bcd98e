import '../designer/designer.css';
import './compare.css';
import { useMemo } from 'preact/hooks';
import type { BacktestRecordCollection, CompareView, PerformanceView } from '#clients/typescript/divisor.js';
import { Chart, isLogarithmic, ScaleChoice } from '../../components/chart/chart.js';
import {
  getColour,
  layerCovered,
  limitToRange,
  type Line,
  listLineCells,
  PERCENT_UNIT,
  type ValueRange,
  type NumberFormat,
} from '../../components/chart/series.js';
import { Toggles, Choice, Select } from '../../components/controls/choice.js';
import { TableExport } from '../../components/controls/menu.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered, Badge, EmptyState, Findings, Problem, Wait } from '../../components/feedback.js';
import { Field } from '../../components/form/field.js';
import { addPoints, addSign } from '../../components/layout/facts.js';
import { Page, Section, getPartName } from '../../components/layout/page.js';
import { type Column, listCells } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { service, useList, useResource, worldVersion } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { addStale } from '../../words/freshness.js';
import { addReturn, returnText } from '../../words/labels.js';
import { formatDecimal, formatPercent, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { formatFileName } from '../../state/files.js';
import { isCash } from '../../state/market.js';
import {
  compareWith,
  computeCalendarYears,
  computeDrawdowns,
  computeRolling,
  countOverlap,
  countSessionsOfYear,
  type Relative,
  type RollingMeasure,
} from '../../words/statistics.js';

type Entry = CompareView['entries'][number];

interface Row {
  /** Position of the entry. It identifies the row, because a benchmark can have the same id as a run. */
  readonly at: number;
  readonly entry: Entry;
  /** Performance of a run; null for a benchmark that is not a run. */
  readonly performance: PerformanceView | null;
}

/** Describes the levels of an entry, for example `total return, USD`. */
const formatKind = ({ return_variant: variant, currency }: Entry): string => `${returnText(variant)}, ${currency}`;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'id',
    title: 'Run',
    width: 120,
    grow: 2,
    value: ({ entry }) => entry.index_id,
    show: ({ entry, performance }) => (
      <>
        {performance === null ? (
          <strong>{entry.index_id}</strong>
        ) : (
          <a class="compare-run" href={formatIndexAddress(entry.index_id)}>
            {entry.index_id}
          </a>
        )}{' '}
        {performance === null && <Badge>benchmark</Badge>}
        {entry.stale !== null && (
          <Badge kind="warning" title={entry.stale.reasons.join(' ')}>
            stale
          </Badge>
        )}
      </>
    ),
  },
  {
    id: 'variant',
    title: 'In',
    help: 'Return variant and currency of the levels',
    width: 150,
    priority: 2,
    value: ({ entry }) => formatKind(entry),
  },
  {
    id: 'total',
    title: 'Return',
    help: 'Return of the portfolio after costs over the range. The page of an index shows its line before costs.',
    width: 92,
    value: ({ entry }) => entry.total_return,
    write: addSign,
  },
  {
    id: 'annual',
    title: 'Annualised',
    help: 'Return per 252 sessions of the run, or per 365 on a calendar with weekends',
    width: 96,
    priority: 2,
    value: ({ entry }) => entry.annualised_return,
    write: addSign,
  },
  {
    id: 'volatility',
    title: 'Volatility',
    help: 'Realised over the range, annualised',
    width: 88,
    value: ({ entry }) => entry.volatility,
    write: formatPercent,
  },
  {
    id: 'sharpe',
    title: 'Sharpe',
    width: 76,
    priority: 3,
    value: ({ entry }) => entry.sharpe_ratio,
    write: formatDecimal,
  },
  {
    id: 'drawdown',
    title: 'Max drawdown',
    width: 116,
    priority: 4,
    value: ({ entry }) => entry.max_drawdown,
    write: formatPercent,
  },
];

/** Columns if there is no benchmark: how far each portfolio differs from the index that it follows. */
const OWN_INDEX_COLUMNS: readonly Column<Row>[] = [
  {
    id: 'error',
    title: 'TE to own index',
    help: 'Realised annualised tracking error of the portfolio after costs to the index that it follows, not to the other runs',
    width: 120,
    priority: 5,
    value: ({ performance }) => performance?.metrics.tracking_error ?? null,
    write: formatPercent,
  },
];

const createBenchmarkColumns = (benchmark: string): readonly Column<Row>[] => [
  {
    id: 'excess',
    title: 'Excess return',
    help: `Return minus that of ${benchmark}, not annualised`,
    width: 108,
    priority: 1,
    value: ({ entry }) => entry.benchmark_statistics?.excess_return ?? null,
    write: addPoints,
  },
  {
    id: 'error',
    title: 'Realised TE',
    help: `Realised, annualised: to ${benchmark}`,
    width: 108,
    priority: 2,
    value: ({ entry }) => entry.benchmark_statistics?.tracking_error ?? null,
    write: formatPercent,
  },
];

/** Tracking error that is shown as 0.00%. */
const ERROR_MIN = 0.00005;

/**
 * Returns the columns of the figures. If there is a benchmark, the figures are relative to it. The tracking error to the
 * own index is left out if it is zero for all runs, which is usual without transaction costs.
 */
function createColumns(benchmark: string | null, rows: readonly Row[]): readonly Column<Row>[] {
  if (benchmark !== null) return [...COLUMNS, ...createBenchmarkColumns(benchmark)];
  const differs = rows.some(({ performance }) => (performance?.metrics.tracking_error ?? 0) >= ERROR_MIN);
  return differs ? [...COLUMNS, ...OWN_INDEX_COLUMNS] : COLUMNS;
}

/** Maximum number of runs that can be compared. There are no more distinct colours. */
const COMPARED_MAX = 11;

export function ComparePage() {
  const runs = useList('backtests');
  return (
    <Page title="Compare" subtitle="Compares runs after costs on their shared dates">
      <Answered resource={runs} what="the runs">
        {({ backtests }) => <ChosenRuns runs={backtests} />}
      </Answered>
    </Page>
  );
}

function ChosenRuns({ runs }: { readonly runs: BacktestRecordCollection['backtests'] }) {
  const ids = runs.map(({ index_id: id }) => id);
  const requestedIds = getParameter('ids');
  const chosenIds = (requestedIds === null ? ids.slice(0, 4) : requestedIds.split(','))
    .filter((id) => ids.includes(id))
    .slice(0, COMPARED_MAX);
  const benchmark = getParameter('benchmark');
  // If a run is also the benchmark, it is drawn only as the benchmark.
  const comparedIds = chosenIds.filter((id) => id !== benchmark);
  const unknownIds = (requestedIds?.split(',') ?? []).filter((id) => id !== '' && !ids.includes(id));
  if (ids.length === 0)
    return <EmptyState title="Nothing to compare yet">Run an index or a strategy first.</EmptyState>;
  return (
    <>
      <div class="wrap compare-choice">
        <Toggles
          label="Runs compared"
          values={ids}
          chosen={chosenIds}
          most={COMPARED_MAX}
          chooseColour={(id) => getColour(id === benchmark ? comparedIds.length + 1 : comparedIds.indexOf(id) + 1)}
          onChoose={(next) => setParameters({ ids: next.join(',') })}
        />
        <Benchmark value={benchmark} offered={areOnOneStore(runs, comparedIds) ? comparedIds[0] : undefined} />
      </div>
      {unknownIds.length > 0 && <p class="quiet">There is no run of {unknownIds.join(', ')}.</p>}
      {comparedIds.length + Number(benchmark !== null) < 2 || comparedIds.length === 0 ? (
        <p class="quiet">Choose two or more runs, or one run and a benchmark.</p>
      ) : (
        <ComparedRuns ids={comparedIds} benchmark={benchmark} />
      )}
    </>
  );
}

/** Returns true if runs are of one data store. A benchmark is computed on the data store of the runs. */
const areOnOneStore = (runs: BacktestRecordCollection['backtests'], ids: readonly string[]): boolean =>
  new Set(runs.filter(({ index_id: id }) => ids.includes(id)).map(({ store_id: store }) => store)).size <= 1;

interface BenchmarkProps {
  readonly value: string | null;
  /** Run that is offered as the benchmark. */
  readonly offered: string | undefined;
}

/** Renders the index or security that the runs are compared with. */
function Benchmark({ value, offered }: BenchmarkProps) {
  const indices = useList('indices');
  const series = useList('series');
  return (
    <div class="pile gap-3 compare-benchmark">
      <Field
        spec={{
          name: 'benchmark',
          label: 'Benchmark',
          kind: 'text',
          help: 'An index, or a security or series of the data store.',
          otherwise: 'none',
          suggestions: [
            ...(indices.data?.indices ?? []).map(({ id }) => id),
            ...(series.data?.series ?? []).map(({ identifier }) => identifier),
          ],
        }}
        value={value ?? undefined}
        findings={[]}
        onChange={(typed) => setParameters({ benchmark: typeof typed === 'string' ? typed : null })}
      />
      {value === null && offered !== undefined && <a href={addQuery({ benchmark: offered })}>Relative to {offered}</a>}
    </div>
  );
}

interface ComparedRunsProps {
  readonly ids: readonly string[];
  readonly benchmark: string | null;
}

/** Compares the runs over a date range. Default: all dates that the runs share. */
const compare = ({ ids, benchmark }: ComparedRunsProps, range: { readonly start?: string; readonly end?: string }) =>
  service.value.call('compareRuns', { query: { ids, ...(benchmark === null ? {} : { benchmark }), ...range } });

function ComparedRuns({ ids, benchmark }: ComparedRunsProps) {
  const view = useOneAtATime(`${ids.join()} ${benchmark} ${worldVersion.value}`, () => compare({ ids, benchmark }, {}));
  const { data, trouble, isBehind } = view;
  return (
    <div aria-busy={isBehind} class={isBehind ? 'stack gap-3 live-answer is-behind' : 'stack gap-3 live-answer'}>
      {isBehind && data === undefined && <Wait what="the comparison" />}
      {trouble !== null && <Problem trouble={trouble} />}
      {data !== undefined && trouble === null && (
        <>
          <RangeBar start={data.start} end={data.end} />
          {data.findings.length > 0 && <Findings findings={data.findings} />}
          <Levels view={data} runs={ids.length} />
          <Figures ids={ids} benchmark={benchmark} view={data} />
          <Together view={data} />
        </>
      )}
    </div>
  );
}

interface LevelsProps {
  readonly view: CompareView;
  /** Number of runs among the entries. A benchmark comes after the runs. */
  readonly runs: number;
}

function Levels({ view, runs }: LevelsProps) {
  const range = findChosenRange();
  const dates = view.entries[0]?.level.index ?? [];
  const variants = new Set(view.entries.map(({ return_variant: variant }) => variant));
  const hasBenchmark = runs < view.entries.length;
  const lines = useMemo(() => {
    const [first] = limitToRange(dates, range);
    const drawn = view.entries.map(({ index_id: id, level, stale, return_variant: variant }, k): Line => {
      const base = level.data[first] ?? null;
      const values =
        base === null ? level.data : level.data.map((value) => (value === null ? null : (100 * value) / base));
      const isRun = k < runs;
      // All runs are after costs, as the subtitle states. Only a benchmark is not.
      const name = addStale(`${id}${isRun && hasBenchmark ? ' after costs' : ''}`, stale);
      const label = variants.size > 1 ? addReturn(name, variant) : name;
      return { id: String(k), label, values, colour: k + 1, ...(!isRun && { reference: id }) };
    });
    return layerCovered(drawn);
  }, [view, runs, range?.from, range?.to]);
  const [first, last] = limitToRange(dates, range);
  const isLog = isLogarithmic(lines, first, last);
  return (
    <Section
      title="Level"
      aside={
        <>
          {variants.size === 1 && `${returnText(view.entries[0]!.return_variant)}, `}100 at the first date
          <ScaleChoice isLog={isLog} />
          <TableExport
            label="levels"
            fileName="compared-levels"
            listCells={() => listLineCells({ dates, lines, first, last })}
          />
        </>
      }
    >
      <Chart
        label="Levels compared"
        dates={dates}
        lines={lines}
        isLog={isLog}
        height={280}
        range={range}
        onRange={chooseRange}
        hasBrush
        compares
        hasReference={hasBenchmark}
      />
    </Section>
  );
}

interface FiguresProps extends ComparedRunsProps {
  readonly view: CompareView;
}

function Figures({ ids, benchmark, view }: FiguresProps) {
  const range = findChosenRange();
  const query = { start: range?.from ?? view.start, end: range?.to ?? view.end };
  const figures = useResource(
    `compare figures ${ids.join()} ${benchmark} ${query.start} ${query.end}`,
    (signal) =>
      Promise.all([
        compare({ ids, benchmark }, query),
        Promise.all(ids.map((id) => service.value.call('getPerformance', { params: { index_id: id }, query, signal }))),
      ]),
    { keeps: true },
  );
  return (
    <Answered resource={figures} what="the figures">
      {([compared, all]) => {
        const rows = compared.entries.map((entry, at): Row => ({ at, entry, performance: all[at] ?? null }));
        return (
          <FigureTable
            columns={createColumns(benchmark, rows)}
            rows={rows}
            range={`${compared.start} to ${compared.end}`}
          />
        );
      }}
    </Answered>
  );
}

interface FigureTableProps {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly range: string;
}

const FigureTable = ({ columns, rows, range }: FigureTableProps) => (
  <Section
    title="Figures"
    aside={
      <>
        {range}
        <TableExport label="figures" fileName="compared-figures" listCells={() => listCells(columns, rows)} />
      </>
    }
  >
    <Table
      label="figures of the runs compared"
      name="runs"
      columns={columns}
      rows={rows}
      getKey={({ at }) => String(at)}
    />
  </Section>
);

interface MatrixProps {
  readonly title: string;
  readonly note: string;
  /** Name of the table for screen readers and on a dashboard. */
  readonly label: string;
  readonly ids: readonly string[];
  /** Returns the figure of a pair; null if there is none. */
  getValue(row: number, column: number): number | null;
  format(value: number): string;
}

/** Renders a figure for each pair of runs. An id may occur several times. */
function Matrix({ title, note, ...table }: MatrixProps) {
  const { ids, getValue } = table;
  const listCells = () => ({
    header: ['Run', ...ids],
    rows: ids.map((id, row) => [id, ...ids.map((_, column) => getValue(row, column))]),
  });
  return (
    <Section
      title={title}
      aside={
        <>
          {note}
          <TableExport label={title.toLowerCase()} fileName={formatFileName(title)} listCells={listCells} />
        </>
      }
    >
      <MatrixTable {...table} />
    </Section>
  );
}

function MatrixTable({ label, ids, getValue, format }: Omit<MatrixProps, 'title' | 'note'>) {
  const formatPair = (row: number, column: number) => {
    const value = getValue(row, column);
    return value === null ? MISSING_TEXT : format(value);
  };
  return (
    <div class="compare-correlations" data-part={getPartName(label)} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Run</span>
            </th>
            {ids.map((id, column) => (
              <th key={column} scope="col">
                {id}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ids.map((id, row) => (
            <tr key={row}>
              <th scope="row">{id}</th>
              {ids.map((_, column) => (
                <td key={column}>{formatPair(row, column)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ComparisonRow extends Relative {
  readonly id: string;
}

const COMPARISON_COLUMNS: readonly Column<ComparisonRow>[] = [
  { id: 'id', title: 'Run', width: 120, grow: 2 },
  { id: 'beta', title: 'Beta', width: 76, write: formatDecimal },
  { id: 'correlation', title: 'Correlation', width: 92, write: formatDecimal },
  {
    id: 'error',
    title: 'Realised TE',
    help: 'Annualised standard deviation of the return differences to the reference',
    width: 92,
    value: (row) => row.trackingErrorAnnual,
    write: formatPercent,
  },
  {
    id: 'up',
    title: 'Up capture',
    help: "Geometric mean return over the reference's, on its sessions above 0",
    width: 92,
    value: (row) => row.upCapture,
    write: formatPercent,
  },
  {
    id: 'down',
    title: 'Down capture',
    help: "Geometric mean return over the reference's, on its sessions below 0",
    width: 108,
    value: (row) => row.downCapture,
    write: formatPercent,
  },
];

interface RunLevels {
  readonly id: string;
  /** Id, with a mark if the run is stale. */
  readonly label: string;
  readonly levels: readonly (number | null)[];
  /** Returns per year, by which the volatility is annualised. */
  readonly periodsPerYear: number;
}

interface RelativeFiguresProps {
  readonly series: readonly RunLevels[];
  /** Sessions of a year. */
  readonly sessions: number;
  readonly reference: string;
}

/** Renders beta, correlation, tracking error and capture of each run relative to a reference. */
function RelativeFigures({ series, sessions, reference }: RelativeFiguresProps) {
  const rows = useMemo(() => {
    const base = series.find(({ id }) => id === reference)?.levels ?? [];
    return series
      .filter(({ id }) => id !== reference)
      .map(({ id, levels }): ComparisonRow => ({ id, ...compareWith(levels, base, sessions) }));
  }, [series, reference, sessions]);
  return (
    <Section
      title={`Against ${reference}`}
      aside={
        <>
          daily returns of the range
          <TableExport
            label={`measures against ${reference}`}
            fileName={`measures-against-${reference}`}
            listCells={() => listCells(COMPARISON_COLUMNS, rows)}
          />
        </>
      }
    >
      <Table
        label={`measures against ${reference}`}
        name="against"
        columns={COMPARISON_COLUMNS}
        rows={rows}
        getKey={({ id }) => id}
      />
    </Section>
  );
}

interface LevelsInRange {
  readonly dates: readonly string[];
  readonly series: readonly RunLevels[];
  readonly sessions: number;
}

/** Returns the levels of the runs within the date range in the address. */
function cutLevels({ entries }: CompareView, range: ReturnType<typeof findChosenRange>): LevelsInRange {
  const allDates = entries[0]?.level.index ?? [];
  const [first, last] = limitToRange(allDates, range);
  const dates = allDates.slice(first, last + 1);
  const series = entries.map(({ index_id: id, stale, level, periods_per_year: periodsPerYear }) => ({
    id,
    label: addStale(id, stale),
    levels: level.data.slice(first, last + 1),
    periodsPerYear,
  }));
  return { dates, series, sessions: countSessionsOfYear(dates) };
}

/**
 * Renders runs side by side: drawdowns, calendar years, rolling measures, figures relative to a reference, and figures
 * of pairs.
 */
function Together({ view }: { readonly view: CompareView }) {
  const range = findChosenRange();
  const data = useMemo(() => cutLevels(view, range), [view, range?.from, range?.to]);
  const all = useMemo(() => cutLevels(view, null), [view]);
  const ids = data.series.map(({ id }) => id);
  // A benchmark comes after the runs.
  const initialId = (view.entries.at(-1)?.run_id === null ? ids.at(-1) : ids[0]) ?? '';
  const referenceId = ids.includes(getParameter('to') ?? '') ? getParameter('to')! : initialId; // the parameter `to` is in `ids`
  return (
    <>
      <Drawdowns data={data} />
      <Years data={data} reference={referenceId} />
      <Rolling all={all} range={range} reference={referenceId} ids={ids} />
      <RelativeFigures series={data.series} sessions={data.sessions} reference={referenceId} />
      <Pairs data={data} entries={view.entries} />
    </>
  );
}

function Drawdowns({ data: { dates, series } }: { readonly data: LevelsInRange }) {
  const lines = useMemo(
    () =>
      layerCovered(
        series.map(({ label, levels }, k): Line => ({
          id: String(k),
          label,
          values: computeDrawdowns(levels),
          colour: k + 1,
        })),
      ),
    [series],
  );
  return (
    <Section title="Drawdowns" aside="against the peak within the range">
      <Chart
        label="Drawdowns compared"
        dates={dates}
        lines={lines}
        height={220}
        hasZero
        unit={PERCENT_UNIT}
        onRange={chooseRange}
      />
    </Section>
  );
}

interface Year {
  readonly year: string;
  readonly returns: readonly (number | null)[];
}

interface YearsProps {
  readonly data: LevelsInRange;
  readonly reference: string;
}

function Years({ data: { dates, series }, reference }: YearsProps) {
  const rows = useMemo(() => {
    const all = series.map(({ levels }) => computeCalendarYears(dates, levels));
    const years = [...new Set(dates.map((date) => date.slice(0, 4)))];
    return years.map((year): Year => ({ year, returns: all.map((own) => own.get(year) ?? null) }));
  }, [dates, series]);
  const columns: readonly Column<Year>[] = [
    { id: 'year', title: 'Year', width: 72 },
    ...series.map(({ label }, k): Column<Year> => ({
      id: `run-${k}`,
      title: label,
      width: 96,
      grow: 1,
      value: ({ returns }) => returns[k] ?? null,
      write: addSign,
    })),
    ...(series.length === 2 ? [createDifferenceColumn(series, reference)] : []),
  ];
  return (
    <Section
      title="Calendar years"
      aside={
        <>
          the first and the last year within the range only
          <TableExport label="calendar years" fileName="calendar-years" listCells={() => listCells(columns, rows)} />
        </>
      }
    >
      <Table
        label="returns by calendar year"
        name="years"
        columns={columns}
        rows={rows}
        getKey={({ year }) => year}
        sort={{ column: 'year', direction: 'desc' }}
        height={460}
      />
    </Section>
  );
}

/** Returns the column of the return of one of two runs less that of the reference. */
function createDifferenceColumn(series: readonly RunLevels[], reference: string): Column<Year> {
  const base = series[0]?.id === reference ? 0 : 1;
  return {
    id: 'difference',
    title: `${series[1 - base]?.id} \u2212 ${series[base]?.id}`,
    width: 96,
    grow: 1,
    value: ({ returns }) => {
      const [own, other] = [returns[1 - base], returns[base]];
      return own == null || other == null ? null : own - other;
    },
    write: addPoints,
  };
}

const MEASURES = [
  { value: 'volatility', text: 'Volatility' },
  { value: 'correlation', text: 'Correlation' },
  { value: 'beta', text: 'Beta' },
] as const;

const WINDOWS = [
  { value: '63', text: '3 months' },
  { value: '252', text: '1 year' },
] as const;

const PLAIN_UNIT: NumberFormat = { of: 'number', digits: 2 };

interface RollingProps {
  /** Levels of all dates. A window can begin before the range. */
  readonly all: LevelsInRange;
  readonly range: ValueRange | null;
  readonly reference: string;
  readonly ids: readonly string[];
}

function Rolling({ all: { dates, series }, range, reference, ids }: RollingProps) {
  const measure: RollingMeasure =
    MEASURES.find(({ value }) => value === getParameter('rolling'))?.value ?? 'volatility';
  const window = WINDOWS.find(({ value }) => value === getParameter('window'))?.value ?? '252';
  const lines = useMemo(() => {
    const base = series.find(({ id }) => id === reference)?.levels ?? [];
    const drawn = series.flatMap(({ id, label, levels, periodsPerYear }, k): Line[] => {
      if (measure !== 'volatility' && id === reference) return [];
      const terms = { reference: base, window: Number(window), sessions: periodsPerYear };
      return [{ id: String(k), label, values: computeRolling(measure, levels, terms), colour: k + 1 }];
    });
    return layerCovered(drawn);
  }, [series, reference, measure, window]);
  return (
    <Section
      title="Rolling measures"
      aside={
        <>
          <Select
            label="Reference"
            isLabelShown
            options={ids.map((id) => ({ value: id, text: id }))}
            value={reference}
            onChoose={(to) => setParameters({ to })}
          />
          <Choice
            label="Measure"
            options={MEASURES}
            value={measure}
            onChoose={(chosen) => setParameters({ rolling: chosen === 'volatility' ? null : chosen })}
          />
          <Choice
            label="Window"
            options={WINDOWS}
            value={window}
            onChoose={(chosen) => setParameters({ window: chosen === '252' ? null : chosen })}
          />
        </>
      }
    >
      <Chart
        label={`Rolling ${measure}`}
        dates={dates}
        lines={lines}
        height={220}
        unit={measure === 'volatility' ? PERCENT_UNIT : PLAIN_UNIT}
        range={range}
        onRange={chooseRange}
      />
    </Section>
  );
}

interface PairsProps {
  readonly data: LevelsInRange;
  readonly entries: readonly Entry[];
}

/**
 * Renders the correlation, the tracking error and the common weight of each pair of runs. Common weights are those of
 * the last date.
 */
function Pairs({ data: { dates, series, sessions }, entries }: PairsProps) {
  const ids = series.map(({ id }) => id);
  const weights = useResource(
    `compare weights ${ids.join()}`,
    (signal) => Promise.all(entries.map((entry) => readWeights(entry, signal))),
    {
      isLater: true,
    },
  );
  const pairs = useMemo(
    () => series.map(({ levels }) => series.map((other) => compareWith(levels, other.levels, sessions))),
    [series, sessions],
  );
  const stores = new Set(weights.data?.flatMap((own) => own?.store ?? []));
  return (
    <div class="pile gap-5 side-by-side">
      <Matrix
        title="Correlations"
        note={`${formatCount(dates.length - 1)} daily returns`}
        label="Correlations of returns"
        ids={ids}
        getValue={(row, column) => pairs[row]?.[column]?.correlation ?? null}
        format={formatDecimal}
      />
      <Matrix
        title="Realised tracking error"
        note="annualised"
        label="Tracking error of each pair"
        ids={ids}
        getValue={(row, column) => (row === column ? null : (pairs[row]?.[column]?.trackingErrorAnnual ?? null))}
        format={formatPercent}
      />
      {weights.data !== undefined && (
        <Matrix
          title="Overlap of weights"
          note={`latest weights${stores.size > 1 ? ', none between data stores' : ''}`}
          label="Overlap of each pair"
          ids={ids}
          getValue={(row, column) => {
            const [own, other] = [weights.data?.[row], weights.data?.[column]];
            return row === column || own == null || other == null || !mayShareStore(own, other)
              ? null
              : countOverlap(own.weights, other.weights);
          }}
          format={(value) => formatPercent(value, 1)}
        />
      )}
    </div>
  );
}

interface LatestWeights {
  /** Data store of the run; null if it is unknown. */
  readonly store: string | null;
  readonly weights: ReadonlyMap<string, number>;
}

/** Returns false if two runs are of different data stores, on which equal tickers are different securities. */
const mayShareStore = (own: LatestWeights, other: LatestWeights): boolean =>
  own.store === null || other.store === null || own.store === other.store;

/** Returns the latest weights of a run; null for a benchmark that is not a run. */
async function readWeights({ index_id: id }: Entry, signal: AbortSignal): Promise<LatestWeights | null> {
  const view = await service.value.call('getWeights', { params: { index_id: id }, signal }).catch(() => null);
  if (view === null) return null;
  const securities = view.weights.filter(({ identifier }) => !isCash(identifier));
  const weights = new Map(securities.map(({ identifier, weight }) => [identifier, weight]));
  return { store: view.store_id, weights };
}
