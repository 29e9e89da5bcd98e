import '../designer/designer.css';
import './compare.css';
import { useMemo } from 'preact/hooks';
import type { BacktestRecordCollection, CompareView, PerformanceView } from '#clients/typescript/divisor.js';
import { Chart, isLogarithmic, ScaleChoice } from '../../components/chart/chart.js';
import { getColour, layerCovered, limitToRange, type Line, listLineCells } from '../../components/chart/series.js';
import { Toggles } from '../../components/controls/choice.js';
import { TableExport } from '../../components/controls/menu.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import {
  Answered,
  Badge,
  createLazyComponent,
  EmptyState,
  Findings,
  Problem,
  Wait,
} from '../../components/feedback.js';
import { Field } from '../../components/form/field.js';
import { addPoints, addSign } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { type Column, createNumericColumn, listCells } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { service, useList, useResource, worldVersion } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { addStale } from '../../words/freshness.js';
import { addReturn, returnText } from '../../words/labels.js';
import { formatDecimal, formatPercent } from '../../words/numbers.js';

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
  createNumericColumn({
    id: 'total',
    title: 'Return',
    help: 'Return of the portfolio after costs over the range. The page of an index shows its line before costs.',
    width: 92,
    of: ({ entry }) => entry.total_return,
    write: addSign,
  }),
  createNumericColumn({
    id: 'annual',
    title: 'Annualised',
    help: 'Return per 252 sessions of the run, or per 365 on a calendar with weekends',
    width: 96,
    priority: 2,
    of: ({ entry }) => entry.annualised_return,
    write: addSign,
  }),
  createNumericColumn({
    id: 'volatility',
    title: 'Volatility',
    help: 'Realised over the range, annualised',
    width: 88,
    of: ({ entry }) => entry.volatility,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'sharpe',
    title: 'Sharpe',
    width: 76,
    priority: 3,
    of: ({ entry }) => entry.sharpe_ratio,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'drawdown',
    title: 'Max drawdown',
    width: 116,
    priority: 4,
    of: ({ entry }) => entry.max_drawdown,
    write: formatPercent,
  }),
];

/** Columns if there is no benchmark: how far each portfolio differs from the index that it follows. */
const OWN_INDEX_COLUMNS: readonly Column<Row>[] = [
  createNumericColumn({
    id: 'error',
    title: 'TE to own index',
    help: 'Realised annualised tracking error of the portfolio after costs to the index that it follows, not to the other runs',
    width: 120,
    priority: 5,
    of: ({ performance }) => performance?.metrics.tracking_error ?? null,
    write: formatPercent,
  }),
];

/** Returns the columns relative to the benchmark. */
const createBenchmarkColumns = (benchmark: string): readonly Column<Row>[] => [
  createNumericColumn({
    id: 'excess',
    title: 'Excess return',
    help: `Return minus that of ${benchmark}, not annualised`,
    width: 108,
    priority: 1,
    of: ({ entry }) => entry.benchmark_statistics?.excess_return ?? null,
    write: addPoints,
  }),
  createNumericColumn({
    id: 'error',
    title: 'Realised TE',
    help: `Realised, annualised: to ${benchmark}`,
    width: 108,
    priority: 2,
    of: ({ entry }) => entry.benchmark_statistics?.tracking_error ?? null,
    write: formatPercent,
  }),
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

const RunComparison = createLazyComponent<{ readonly view: CompareView }>(
  'the comparison',
  async () => (await import('./together.js')).Together,
);

/** Maximum number of runs that can be compared. There are no more distinct colours. */
const COMPARED_MAX = 11;

/** Page that compares several runs on their common dates. */
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
          <RunComparison view={data} />
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

/** Renders the figures of all runs over the same dates. */
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
