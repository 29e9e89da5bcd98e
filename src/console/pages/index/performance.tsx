import '../../components/heatmap.css';
import { useRef, useState } from 'preact/hooks';
import type { IndexDocument, OverviewView, PerformanceView } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { type Line, PERCENT_UNIT, type Unit } from '../../components/chart/series.js';
import { Choice } from '../../components/controls/choice.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered, FiguresSkeleton } from '../../components/feedback.js';
import { Metrics } from '../../components/layout/facts.js';
import { getPartName, Section, useWidth } from '../../components/layout/page.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { getParameter, setParameters } from '../../state/location.js';
import { formatRunKey, readShownRun } from '../../state/runs.js';
import { createTrouble, service, useResource } from '../../state/service.js';
import { addReturn, returnText } from '../../words/labels.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatPercent,
  getSignClass,
} from '../../words/numbers.js';
import { sumByYear } from '../../words/statistics.js';
import {
  createBenchmarkFigures,
  createFigures,
  createParentFigures,
  createStatistics,
  formatDayReturn,
  formatRelation,
  formatSubject,
  type RiskControl,
} from './figures.js';
import { getChosenVariant, LevelChart, type Variant } from './level-chart.js';
import { useDefinitionRun } from './run-settings.js';

interface HeatmapProps {
  readonly label: string;
  /** Returns as fractions, by month (YYYY-MM). */
  readonly values: Readonly<Record<string, number>>;
  /** Returns as fractions, by year. */
  readonly totals: Readonly<Record<string, number>>;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;
/** Absolute return at which the colour is strongest. */
const FULL_COLOUR_RETURN = 0.08;

/** Renders returns by year and month. The colour only repeats the sign and size of each number. */
function Heatmap({ label, values, totals }: HeatmapProps) {
  const years = Object.keys(totals).toSorted((a, b) => Number(b) - Number(a));
  return (
    <div class="frame heatmap" data-part={getPartName(label)} tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">Year</th>
            <th scope="col">Annual</th>
            {MONTHS.map((month) => (
              <th key={month} scope="col">
                {month}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {years.map((year) => (
            <tr key={year}>
              <th scope="row">{year}</th>
              <td class={`heatmap-total ${getSignClass(totals[year])}`}>{formatChange(totals[year])}</td>
              {MONTHS.map((month, m) => (
                <Cell key={month} value={values[`${year}-${String(m + 1).padStart(2, '0')}`]} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ value }: { readonly value: number | undefined }) {
  if (value === undefined) return <td class="quiet">–</td>;
  const strength = Math.round(Math.min(1, Math.abs(value) / FULL_COLOUR_RETURN) * 34);
  const colour = value >= 0 ? 'var(--up)' : 'var(--down)';
  return (
    <td style={{ background: `color-mix(in srgb, ${colour} ${strength}%, transparent)` }}>{formatChange(value, 1)}</td>
  );
}

interface Divisors {
  readonly dates: readonly string[];
  readonly divisor: readonly (number | null)[];
  /**
   * Dividend points added up within each calendar year. Empty if dividends are reinvested in the securities that pay
   * them.
   */
  readonly points: readonly Line[];
}

/**
 * Renders the divisor of the index and its ordinary dividends in index points. The data is loaded when the section is
 * opened.
 */
function DivisorChart({ id }: { readonly id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Divisor and dividend points</summary>
      {isOpen && <Charts id={id} />}
    </details>
  );
}

function Charts({ id }: { readonly id: string }) {
  const table = useResource(`divisor ${formatRunKey(id)}`, (signal) => readDivisors(id, signal), { keeps: true });
  const range = findChosenRange();
  const linked = { height: 180, sync: 'index', range, onRange: chooseRange };
  return (
    <Section title="Divisor" aside={<ExportMenu id={id} table="events" text="events" />}>
      <Answered resource={table} what="the divisor">
        {({ dates, divisor, points }) => (
          <>
            <Chart
              label={`Divisor of ${id}`}
              dates={dates}
              lines={[{ id: 'divisor', label: 'Divisor', values: divisor, colour: 1 }]}
              unit={createUnit(divisor)}
              {...linked}
            />
            {points.length > 0 ? (
              <Chart label={`Dividend points of ${id} in each year`} dates={dates} lines={points} {...linked} />
            ) : (
              <p class="quiet">This run has no dividend points: dividends buy more of the security that pays them.</p>
            )}
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Number of significant digits of a divisor. With it, small changes at a rebalance are visible. */
const DIGITS = 8;
const DECIMALS_MAX = 12;

function createUnit(divisor: readonly (number | null)[]): Unit {
  const largestDivisor = divisor.reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  const digits = largestDivisor === 0 ? 0 : Math.ceil(Math.log10(largestDivisor));
  return { of: 'number', digits: Math.min(DECIMALS_MAX, Math.max(2, DIGITS - digits)) };
}

async function readDivisors(id: string, signal: AbortSignal): Promise<Divisors> {
  const { columns, data } = await service.value.call('exportRun', {
    params: { index_id: id, table: 'levels' },
    query: { ...readShownRun(), format: 'json' },
    signal,
  });
  const listValues = (name: string) => {
    const position = columns.indexOf(name);
    return data.map((row) => row[position] as number | null); // every cell is a number or null
  };
  const dates = data.map((row) => String(row[columns.indexOf('date')]));
  const series = [
    { id: 'points', label: 'Dividend points of the year', column: 'dividend_points', colour: 2 },
    { id: 'net', label: 'After withholding tax', column: 'net_dividend_points', colour: 4 },
  ];
  const points = series.flatMap(({ column, ...line }): Line[] => {
    const paid = listValues(column);
    return paid.every((value) => value === null) ? [] : [{ ...line, values: sumByYear(dates, paid) }];
  });
  return { dates, divisor: listValues('divisor'), points };
}

export interface MoreProps {
  readonly view: PerformanceView;
  readonly run: OverviewView;
}

/** Renders monthly returns, drawdowns, the distribution of returns, and comparisons. */
function MoreFigures({ view, run }: MoreProps) {
  const { benchmark, benchmark_variant: variant } = view;
  const relative = createBenchmarkFigures(view);
  const parent = createParentFigures(run);
  return (
    <>
      <Section title="Returns by month">
        <Heatmap label="Returns by month" values={view.monthly_returns} totals={view.annual_returns} />
      </Section>
      {relative.length > 0 && benchmark !== null && (
        <Section title={`Against the benchmark ${addReturn(benchmark, variant)}`}>
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
      <Section title="Daily returns">
        <Metrics label="Statistics of the daily returns" metrics={createStatistics(view)} />
      </Section>
      {view.drawdowns.length > 0 && (
        <Section title="Deepest drawdowns">
          <Table
            label="deepest drawdowns"
            name="falls"
            columns={DRAWDOWN_COLUMNS}
            rows={view.drawdowns}
            getKey={({ peak }) => peak}
            sort={{ column: 'depth', direction: 'asc' }}
          />
        </Section>
      )}
    </>
  );
}

const DRAWDOWN_COLUMNS: readonly Column<PerformanceView['drawdowns'][number]>[] = [
  {
    id: 'depth',
    title: 'Depth',
    help: 'Lowest level divided by the high, minus 1',
    width: 84,
    align: 'right',
    value: ({ depth }) => depth,
    show: ({ depth }) => formatPercent(depth),
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
    show: ({ sessions }) => formatCount(sessions),
  },
];

interface RiskControlQuery {
  readonly id: string;
  readonly stale: OverviewView['stale'];
  readonly overlay: IndexDocument['overlay'];
  /** Date of the exposure; null until it is known. */
  readonly date: string | null;
}

/**
 * Returns the state of the risk control of an index on a date. Returns null if the index has no risk control overlay.
 */
function useRiskControl({ id, stale, overlay, date }: RiskControlQuery): RiskControl | null {
  const isControlled = overlay?.type === 'risk_control';
  const run = useDefinitionRun(id, isControlled ? stale : null);
  const preview = useResource(
    !isControlled || run === null || date === null ? null : `exposure ${id} ${date} ${run.run_id ?? ''}`,
    (signal) => service.value.call('previewIndex', { params: { index_id: id }, body: { as_of: date, ...run }, signal }),
    { keeps: true, isLater: true },
  );
  if (!isControlled) return null;
  const { exposure = null, volatility = null } = preview.data?.overlay?.exposure ?? {};
  const isStored = run !== null && run.run_id === undefined;
  return {
    target: isStored ? overlay.target : null,
    maxExposure: isStored ? overlay.max_leverage : null,
    exposure,
    volatility,
  };
}

interface PerformanceProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Index that the run follows. For a strategy, this is the index of the strategy. */
  readonly tracked: string;
  /** Index below an overlay; null without an overlay. */
  readonly underlying: string | null;
  readonly overlay?: IndexDocument['overlay'];
}

const MEASURED_OPTIONS = [
  { value: 'index', text: 'Index', help: 'Without costs' },
  { value: 'portfolio', text: 'Portfolio', help: 'After the costs of the run' },
] as const;
type MeasuredSide = PerformanceView['of'];

/**
 * Renders the levels, the figures of a date range, and the returns by month and year. They are those of the index or of
 * the portfolio.
 */
export function Performance({ id, run, tracked, underlying, overlay }: PerformanceProps) {
  const range = findChosenRange();
  const usual = tracked === id ? 'index' : 'portfolio';
  const measuredVariant = MEASURED_OPTIONS.find(({ value }) => value === getParameter('of'))?.value ?? usual;
  const variant = getChosenVariant();
  const query = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const performance = useResource(
    `performance ${formatRunKey(id)} ${range?.from} ${range?.to} ${measuredVariant} ${variant}`,
    (signal) => measure({ id, of: measuredVariant, variant, query, signal }),
    { keeps: true, isLater: true },
  );
  const control = useRiskControl({ id, stale: run.stale, overlay, date: performance.data?.end ?? null });
  const element = useRef<HTMLDivElement>(null);
  // In a narrow window the chart comes before the figures. Its line is then on the first screen.
  const isNarrow = useWidth(element) < NARROW;
  const figuresBar = (
    <>
      {performance.data !== undefined && (
        <p class="part-subject quiet">
          {formatSubject(performance.data, tracked) + formatConstituents(run)}
          <Instead view={performance.data} variant={variant} />
        </p>
      )}
      <Choice
        label="Figures of"
        options={MEASURED_OPTIONS}
        value={measuredVariant}
        onChoose={(chosen) => setParameters({ of: chosen === usual ? null : chosen })}
      />
    </>
  );
  const figures = (
    <Answered key="figures" resource={performance} what="the figures of the range" skeleton={<FiguresSkeleton />}>
      {(view) => (
        <Metrics
          label={`Figures from ${view.start} to ${view.end}`}
          metrics={createFigures(view, tracked, control).slice(isNarrow ? 1 : 0)}
        />
      )}
    </Answered>
  );
  const chart = performance.trouble === null && (
    <LevelChart key="chart" {...{ id, tracked, underlying, run, isNarrow }} performance={performance.data ?? null} />
  );
  return (
    <div class="stack gap-4 index-part" ref={element}>
      <div class="flow spread gap-2">
        <RangeBar start={run.start} end={run.end} />
        {!isNarrow && figuresBar}
      </div>
      {isNarrow && <CurrentLevel view={performance.data} tracked={tracked} control={control} />}
      {isNarrow && chart}
      {isNarrow && <div class="flow spread gap-2">{figuresBar}</div>}
      {figures}
      {!isNarrow && chart}
      {performance.data !== undefined && performance.trouble === null && (
        <>
          <Drawdown view={performance.data} />
          {tracked === id && <DivisorChart id={id} />}
          <MoreFigures view={performance.data} run={run} />
        </>
      )}
    </div>
  );
}

/** States the number of constituents of an optimised index; an empty text for others. */
const formatConstituents = ({ parent, concentration }: OverviewView): string =>
  parent === undefined ? '' : `, ${countValues(concentration.constituents, 'constituent')}`;

interface CurrentLevelProps {
  readonly view: PerformanceView | undefined;
  /** Index that the run follows. */
  readonly tracked: string;
  readonly control: RiskControl | null;
}

/**
 * Renders the level at the end of the range and the return of that session. A second line has the state of a risk
 * control, or the tracking error to the reference. The first line keeps its height while loading.
 */
const CurrentLevel = ({ view, tracked, control }: CurrentLevelProps) => (
  <p class="index-now">
    {view !== undefined && (
      <>
        <strong>{formatDecimal(view.end_level)}</strong>{' '}
        <span class={getSignClass(view.day_return)}>{formatDayReturn(view)}</span>
        <span class="quiet">{control === null ? formatRelation(view, tracked) : formatControl(control, view)}</span>
      </>
    )}
  </p>
);

const formatControl = ({ exposure, target }: RiskControl, { metrics: { volatility } }: PerformanceView): string =>
  `Exposure ${formatPercent(exposure, 1)} · volatility ${formatPercent(volatility)}${target === null ? '' : `, target ${formatPercent(target)}`}`;

/** Minimum width in pixels at which the controls of the chart fit into one row. */
const NARROW = 980;

interface RequestedView {
  readonly id: string;
  readonly of: MeasuredSide;
  readonly variant: Variant;
  readonly query: { readonly start?: string; readonly end?: string };
  readonly signal: AbortSignal;
}

/**
 * Reads the performance in a return variant. If the run does not have it, reads the variant of the run. A portfolio has
 * only that variant.
 */
async function measure({ id, of, variant, query, signal }: RequestedView): Promise<PerformanceView> {
  const params = { index_id: id };
  const ask = (terms: { readonly variant?: Exclude<Variant, 'own'> }) =>
    service.value.call('getPerformance', { params, query: { ...query, of, ...terms }, signal });
  if (of === 'portfolio' || variant === 'own') return ask({});
  try {
    return await ask({ variant });
  } catch (thrown) {
    if (createTrouble(thrown).code !== 'VARIANT_NOT_AVAILABLE') throw thrown;
    return ask({});
  }
}

/** Renders a note if the figures are not in the chosen return variant. */
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

function Drawdown({ view }: { readonly view: PerformanceView }) {
  return (
    <Section title="Drawdown" aside="against the peak within the range">
      <Chart
        label="Drawdown"
        dates={view.drawdown.index}
        lines={[{ id: 'drawdown', label: 'Drawdown', values: view.drawdown.data, colour: 7, isFilled: true }]}
        height={140}
        hasZero
        sync="index"
        range={null}
        onRange={(range) => chooseRange(range)}
        unit={PERCENT_UNIT}
      />
    </Section>
  );
}
