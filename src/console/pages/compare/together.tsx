import { useMemo } from 'preact/hooks';
import type { CompareView } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import {
  layerCovered,
  limitToRange,
  type Line,
  PERCENT_UNIT,
  type ValueRange,
  type Unit,
} from '../../components/chart/series.js';
import { Choice, Select } from '../../components/controls/choice.js';
import { TableExport } from '../../components/controls/menu.js';
import { chooseRange, findChosenRange } from '../../components/controls/range.js';
import { addPoints, addSign } from '../../components/layout/facts.js';
import { getPartName, Section } from '../../components/layout/page.js';
import { type Column, createNumericColumn, listCells } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { formatFileName } from '../../state/files.js';
import { getParameter, setParameters } from '../../state/location.js';
import { isCash } from '../../state/market.js';
import { service, useResource } from '../../state/service.js';
import { addStale } from '../../words/freshness.js';
import { formatCount, formatDecimal, formatPercent, MISSING_TEXT } from '../../words/numbers.js';
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
  { id: 'id', title: 'Run', width: 120, grow: 2, value: ({ id }) => id },
  createNumericColumn({ id: 'beta', title: 'Beta', width: 76, of: ({ beta }) => beta, write: formatDecimal }),
  createNumericColumn({
    id: 'correlation',
    title: 'Correlation',
    width: 92,
    of: (row) => row.correlation,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'error',
    title: 'Realised TE',
    help: 'Annualised standard deviation of the return differences to the reference',
    width: 92,
    of: (row) => row.trackingErrorAnnual,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'up',
    title: 'Up capture',
    help: "Geometric mean return over the reference's, on its sessions above 0",
    width: 92,
    of: (row) => row.upCapture,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'down',
    title: 'Down capture',
    help: "Geometric mean return over the reference's, on its sessions below 0",
    width: 108,
    of: (row) => row.downCapture,
    write: formatPercent,
  }),
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

type Entry = CompareView['entries'][number];

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
export function Together({ view }: { readonly view: CompareView }) {
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
    { id: 'year', title: 'Year', width: 72, value: ({ year }) => year },
    ...series.map(({ label }, k) =>
      createNumericColumn<Year>({
        id: `run-${k}`,
        title: label,
        width: 96,
        grow: 1,
        of: ({ returns }) => returns[k] ?? null,
        write: addSign,
      }),
    ),
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
  return createNumericColumn({
    id: 'difference',
    title: `${series[1 - base]?.id} \u2212 ${series[base]?.id}`,
    width: 96,
    grow: 1,
    of: ({ returns }) => {
      const [own, other] = [returns[1 - base], returns[base]];
      return own == null || other == null ? null : own - other;
    },
    write: addPoints,
  });
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

const PLAIN_UNIT: Unit = { of: 'number', digits: 2 };

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
