import type { OverviewView, PerformanceView } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { PERCENT } from '../../components/chart/series.js';
import { Choice } from '../../components/choice.js';
import { Heatmap } from '../../components/heatmap.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { Answered } from '../../components/wait.js';
import { parameter, setParameters } from '../../state/place.js';
import { chooseRange, chosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service, troubleOf } from '../../state/service.js';
import { runKey, shownRun } from '../../state/shown-run.js';
import { returnText, withReturn } from '../../words/returns.js';
import { count, percent } from '../../words/numbers.js';
import { againstBenchmark, againstParent, figuresOf, statisticsOf, subjectOf } from './figures.js';
import { DivisorChart } from './divisor-chart.js';
import { chosenVariant, LevelChart, type Variant } from './level-chart.js';

interface PerformanceProps {
  readonly id: string;
  readonly run: OverviewView;
  /** The index that the run tracks: of a strategy the one that it follows. */
  readonly tracked: string;
}

const MEASURED = [
  { value: 'index', text: 'Index', help: 'Without costs' },
  { value: 'portfolio', text: 'Portfolio', help: 'After the costs of the run' },
] as const;
type Measured = PerformanceView['of'];

/** Levels, what became of a range of dates, and the returns of months and years: of the index or of the portfolio. */
export function Performance({ id, run, tracked }: PerformanceProps) {
  const range = chosenRange();
  const usual = tracked === id ? 'index' : 'portfolio';
  const of = MEASURED.find(({ value }) => value === parameter('of'))?.value ?? usual;
  const variant = chosenVariant();
  const query = { ...shownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const measured = useResource(
    `performance ${runKey(id)} ${range?.from} ${range?.to} ${of} ${variant}`,
    (signal) => measure({ id, of, variant, query, signal }),
    { keeps: true, isLater: true },
  );
  return (
    <div class="performance">
      <RangeBar start={run.start} end={run.end} />
      <Answered resource={measured} what="the figures of the range" skeleton={<FiguresSkeleton />}>
        {(view) => (
          <>
            <div class="part-bar">
              <p>
                <strong>{subjectOf(view, tracked)}</strong>{' '}
                <span class="quiet">
                  {view.start} to {view.end}
                </span>
                <Instead view={view} variant={variant} />
              </p>
              <Choice
                label="Figures of"
                options={MEASURED}
                value={of}
                onChoose={(chosen) => setParameters({ of: chosen === usual ? null : chosen })}
              />
            </div>
            <Metrics label={`Figures from ${view.start} to ${view.end}`} metrics={figuresOf(view)} />
          </>
        )}
      </Answered>
      {measured.trouble === null && (
        <LevelChart id={id} tracked={tracked} run={run} performance={measured.data ?? null} />
      )}
      {measured.data !== undefined && measured.trouble === null && (
        <>
          <Drawdown view={measured.data} subject={subjectOf(measured.data, tracked)} />
          {tracked === id && <DivisorChart id={id} />}
          <More view={measured.data} run={run} subject={subjectOf(measured.data, tracked)} />
        </>
      )}
    </div>
  );
}

interface Asked {
  readonly id: string;
  readonly of: Measured;
  readonly variant: Variant;
  readonly query: { readonly start?: string; readonly end?: string };
  readonly signal: AbortSignal;
}

/** The requested return variant if the run has it: a portfolio has only the variant of its run. */
async function measure({ id, of, variant, query, signal }: Asked): Promise<PerformanceView> {
  const params = { index_id: id };
  const ask = (asked: { readonly variant?: Exclude<Variant, 'own'> }) =>
    service.value.call('getPerformance', { params, query: { ...query, of, ...asked }, signal });
  if (of === 'portfolio' || variant === 'own') return ask({});
  try {
    return await ask({ variant });
  } catch (thrown) {
    if (troubleOf(thrown).code !== 'VARIANT_NOT_AVAILABLE') throw thrown;
    return ask({});
  }
}

/** Said where the figures are not of the return that was chosen. */
function Instead({ view, variant }: { readonly view: PerformanceView; readonly variant: Variant }) {
  if (variant === 'own' || variant === view.return_variant) return null;
  const why =
    view.of === 'portfolio'
      ? 'a portfolio has only the return variant of its run'
      : `this run has no ${returnText(variant)}`;
  return (
    <span class="quiet">
      . Figures and drawdown are not of the {returnText(variant)}: {why}.
    </span>
  );
}

interface ShownProps {
  readonly view: PerformanceView;
  /** Subject of the figures. */
  readonly subject: string;
}

function Drawdown({ view, subject }: ShownProps) {
  return (
    <Section title="Drawdown" aside={`${subject}, against its peak within the range`}>
      <Chart
        label="Drawdown"
        dates={view.drawdown.index}
        lines={[{ id: 'drawdown', label: 'Drawdown', values: view.drawdown.data, colour: 7, isFilled: true }]}
        height={140}
        hasZero
        sync="index"
        range={null}
        onRange={(range) => chooseRange(range)}
        unit={PERCENT}
      />
    </Section>
  );
}

/** Monthly returns, drawdowns, the distribution of returns, and comparisons. */
function More({ view, run, subject }: ShownProps & { readonly run: OverviewView }) {
  const { benchmark, benchmark_variant: variant } = view;
  const window = `${subject}, ${view.start} to ${view.end}`;
  const relative = againstBenchmark(view);
  const parent = againstParent(run);
  return (
    <>
      <Section title="Returns by month" aside={window}>
        <Heatmap label="Returns by month" values={view.monthly_returns} totals={view.annual_returns} />
      </Section>
      {relative.length > 0 && benchmark !== null && (
        <Section title={`Against the benchmark ${withReturn(benchmark, variant)}`} aside={window}>
          <Metrics label="Figures against the benchmark" metrics={relative} />
        </Section>
      )}
      {parent.length > 0 && (
        <Section
          title={`Against the parent ${run.parent!.index_id}`}
          aside={`Portfolio after costs, the whole run, ${run.start} to ${run.end}`}
        >
          <Metrics label="Figures against the parent" metrics={parent} />
        </Section>
      )}
      <Section title="Daily returns" aside={window}>
        <Metrics label="Statistics of the daily returns" metrics={statisticsOf(view)} />
      </Section>
      {view.drawdowns.length > 0 && (
        <Section title="Deepest drawdowns" aside={window}>
          <Table
            label="deepest drawdowns"
            name="falls"
            columns={FALLS}
            rows={view.drawdowns}
            keyOf={({ peak }) => peak}
            sort={{ column: 'depth', direction: 'asc' }}
          />
        </Section>
      )}
    </>
  );
}

const FALLS: readonly Column<PerformanceView['drawdowns'][number]>[] = [
  {
    id: 'depth',
    title: 'Depth',
    help: 'Lowest level divided by the high, minus 1',
    width: 84,
    align: 'right',
    value: ({ depth }) => depth,
    show: ({ depth }) => percent(depth),
  },
  { id: 'peak', title: 'High', help: 'Last date at the high', width: 100, grow: 1, value: ({ peak }) => peak },
  { id: 'trough', title: 'Low', help: 'Date of the lowest level', width: 100, grow: 1, value: ({ trough }) => trough },
  {
    id: 'recovery',
    title: 'Recovered',
    help: 'First date at the high again',
    width: 124,
    grow: 1,
    priority: 2,
    value: ({ recovery }) => recovery ?? 'not yet',
  },
  {
    id: 'sessions',
    title: 'Sessions',
    help: 'From the high to the recovery, or to the last date',
    width: 84,
    priority: 3,
    align: 'right',
    value: ({ sessions }) => sessions,
    show: ({ sessions }) => count(sessions),
  },
];
