import '../../components/heatmap.css';
import { useRef, useState, useMemo } from 'preact/hooks';
import type {
  IndexDocument,
  OverviewView,
  PerformanceView,
  Finding,
  LevelsView,
  RebalanceRow,
} from '#clients/typescript/divisor.js';
import { Chart, isLogarithmic, ScaleChoice } from '../../components/chart/chart.js';
import {
  type Line,
  PERCENT_UNIT,
  type NumberFormat,
  layerCovered,
  limitToRange,
  type Mark,
  type ValueRange,
} from '../../components/chart/series.js';
import { Choice, AddSelect, type Option, Select } from '../../components/controls/choice.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered, FiguresSkeleton } from '../../components/feedback.js';
import { Metrics } from '../../components/layout/facts.js';
import { getPartName, Section, useWidth } from '../../components/layout/page.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { getParameter, setParameters, addQuery } from '../../state/location.js';
import { formatRunKey, readShownRun, formatShownRunPath } from '../../state/runs.js';
import { createTrouble, service, useAnswer, useList, useResource } from '../../state/service.js';
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
  listMainFigures,
  createParentFigures,
  createStatistics,
  formatDayReturn,
  formatRelation,
  formatSubject,
  type RiskControl,
} from './figures.js';
import { useDefinitionRun } from './run-settings.js';
import type { ShadedPeriod } from '../../components/chart/plot.js';
import { Button, Popover } from '../../components/controls/button.js';
import { formatRebalanceAddress } from '../../words/addresses.js';

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

function createUnit(divisor: readonly (number | null)[]): NumberFormat {
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
  { id: 'depth', title: 'Depth', help: 'Lowest level divided by the high, minus 1', width: 84, write: formatPercent },
  { id: 'peak', title: 'High', help: 'Last date at the high', width: 100, grow: 1 },
  { id: 'trough', title: 'Low', help: 'Date of the lowest level', width: 100, grow: 1 },
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
    write: formatCount,
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
  const preview = useAnswer(
    'previewIndex',
    !isControlled || run === null || date === null ? null : { params: { index_id: id }, body: { as_of: date, ...run } },
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
          metrics={listMainFigures(view, tracked, control).slice(isNarrow ? 1 : 0)}
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

/** Returns the warnings about rebalances that were not executed. Their first date is that of the rebalance. */
export const listHeldRebalances = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ code }) => code === 'REBALANCE_HELD');

/** Returns the date of the last rebalance of the run, executed or not. */
export const findLastScheduled = (
  rebalances: readonly RebalanceRow[],
  findings: readonly Finding[],
): string | undefined =>
  [...rebalances.map(({ date }) => date), ...listHeldRebalances(findings).flatMap(({ last_date: date }) => date ?? [])]
    .toSorted()
    .at(-1);

/** Renders how many rebalances were not executed, and their dates. Renders nothing if all were executed. */
function HeldRebalances({ findings }: { readonly findings: readonly Finding[] }) {
  const held = listHeldRebalances(findings);
  if (held.length === 0) return null;
  const dates = held.flatMap(({ first_date: date }) => date ?? []);
  return (
    <p class="quiet">
      {countValues(held.length, 'rebalance')} {held.length === 1 ? 'was' : 'were'} not executed, and the previous
      weights stayed: {dates.slice(0, DATES_MAX).join(', ')}
      {dates.length > DATES_MAX && ` and ${countValues(dates.length - DATES_MAX, 'more date')}`}.{' '}
      <a href={addQuery({ tab: 'rebalances' })}>Reasons</a>
    </p>
  );
}

/** Maximum number of dates in the sentence. */
const DATES_MAX = 6;

/** Maximum number of other indices in the chart. */
const OTHERS_MAX = 6;

/** Value of the parameter `with` after the user removed the underlying index of an overlay. */
const NO_OTHERS = 'none';

/**
 * Returns the other indices in the chart. The default for an overlay is the index below it, unless that is already the
 * benchmark.
 */
function listOthers(underlying: string | null, performance: PerformanceView | null): readonly string[] {
  const chosenText = getParameter('with');
  if (chosenText !== null)
    return chosenText === NO_OTHERS ? [] : chosenText.split(',').filter(Boolean).slice(0, OTHERS_MAX);
  return underlying === null || performance === null || performance.benchmark === underlying ? [] : [underlying];
}

function removeOther(others: readonly string[], removed: string): void {
  const remainingIds = others.filter((other) => other !== removed);
  setParameters({ with: remainingIds.length === 0 ? NO_OTHERS : remainingIds.join(',') });
}

/** Renders a selector that adds another index with a run. */
function OtherIndices({ id, others }: { readonly id: string; readonly others: readonly string[] }) {
  const runs = useList('backtests', {
    isLater: true,
  });
  const free = (runs.data?.backtests ?? []).filter(({ index_id: one }) => one !== id && !others.includes(one));
  if (free.length === 0 || others.length >= OTHERS_MAX) return null;
  return (
    <AddSelect
      label="Add an index"
      prompt="+ Index"
      options={free.map(({ index_id: one }) => ({ value: one, text: one }))}
      onAdd={(one) => setParameters({ with: [...others, one].join(','), unit: null })}
    />
  );
}

/** Renders the first line divided by another line. The result is rebased to 100 at the first date of the range. */
function RelativePane({ dates, lines }: { readonly dates: readonly string[]; readonly lines: readonly Line[] }) {
  const range = findChosenRange();
  const other = lines.slice(1).find(({ id }) => id === getParameter('relative'));
  const [own] = lines;
  const ratio = useMemo(() => {
    if (own === undefined || other === undefined) return null;
    const [first] = limitToRange(dates, range);
    const values = own.values.map((value, t) => {
      const base = other.values[t] ?? null;
      return value === null || base === null || base === 0 ? null : value / base;
    });
    return [{ id: 'relative', label: `${own.label} / ${other.label}`, values: rebaseTo100(values, first), colour: 5 }];
  }, [own, other, dates, range?.from, range?.to]);
  if (ratio === null || other === undefined) return null;
  return (
    <Chart
      label={`Level relative to ${other.label}`}
      dates={dates}
      lines={ratio}
      height={140}
      sync="index"
      range={range}
      onRange={chooseRange}
    />
  );
}

/**
 * Rebases values to 100 at the first value on or after a position. Only for display: the service computes all figures.
 */
export function rebaseTo100(values: readonly (number | null)[], first: number): readonly (number | null)[] {
  const base = values.slice(first).find((value) => value !== null) ?? null;
  return base === null ? values : values.map((value) => (value === null ? null : (100 * value) / base));
}

interface LevelChartProps {
  readonly id: string;
  /** Index tracked by the run. */
  readonly tracked: string;
  /** Index below an overlay; null without an overlay. */
  readonly underlying: string | null;
  readonly run: OverviewView;
  /** Performance of the run. Null until it is loaded; the chart then has no benchmark. */
  readonly performance: PerformanceView | null;
  /** True if the controls do not fit into one row. They are then in a panel, and the chart is lower. */
  readonly isNarrow: boolean;
}

const VARIANTS = [
  { value: 'own', text: 'As defined', help: 'The return variant of the definition' },
  { value: 'price', text: 'Price', help: 'Without dividends' },
  { value: 'total', text: 'Total', help: 'With dividends' },
  { value: 'net', text: 'Net', help: 'With dividends after tax' },
] as const satisfies readonly Option<string>[];
type Variant = (typeof VARIANTS)[number]['value'];

const getChosenVariant = (): Variant => VARIANTS.find(({ value }) => value === getParameter('variant'))?.value ?? 'own';

const UNITS = [
  { value: 'rebased', text: 'Rebased', help: 'Every line is 100 at the first date of the range' },
  { value: 'points', text: 'Points', help: 'Index points' },
] as const;

/** Renders the levels of the index, of the portfolio that follows it, of the benchmark, and of other indices. */
function LevelChart(props: LevelChartProps) {
  const { id, tracked, underlying, performance, isNarrow } = props;
  const variant = getChosenVariant();
  const otherIndices = listOthers(underlying, performance);
  const unit = getParameter('unit') === 'points' ? 'points' : 'rebased';
  const range = findChosenRange();
  const { dates, lines, trouble } = useLines(props, unit, variant, unit === 'points' ? [] : otherIndices);
  const [first, last] = limitToRange(dates, range);
  const isLog = isLogarithmic(lines, first, last);
  const falls = performance?.drawdowns ?? NO_FALLS;
  const bands = useBands(falls);
  const { marks, findings } = useRebalanceMarks(id);
  const controls = (
    <Controls {...{ id, others: otherIndices, unit, variant, isLog, lines }} hasDrawdowns={falls.length > 0} />
  );
  return (
    <Section
      title="Level"
      aside={
        <>
          {isNarrow ? (
            <Popover label="Options of the chart" title="Options">
              {() => <div class="pile gap-3 level-options">{controls}</div>}
            </Popover>
          ) : (
            controls
          )}
          <ExportMenu id={id} table="levels" />
        </>
      }
    >
      {trouble !== null && <p role="alert">{trouble.message}</p>}
      {unit === 'points' && (
        <p class="quiet">
          Points are those of {tracked} alone: {[...otherIndices, 'the portfolio', 'a benchmark'].join(', ')} are drawn
          when rebased.
        </p>
      )}
      <Chart
        label={`Level of ${id}`}
        dates={dates}
        lines={lines}
        height={isNarrow ? 250 : 300}
        isLog={isLog}
        marks={marks}
        marksAre="rebalances"
        sync="index"
        range={range}
        onRange={chooseRange}
        bands={bands}
        subject={id}
        hasBrush
        compares={unit === 'rebased'}
        onRemoveLine={(removed) => removeOther(otherIndices, removed)}
      />
      <HeldRebalances findings={findings} />
      <RelativePane dates={dates} lines={lines} />
    </Section>
  );
}

/** Returns the lines of the chart on the dates of the run. */
function useLines(
  { id, tracked, underlying, run, performance }: LevelChartProps,
  unit: 'rebased' | 'points',
  variant: Variant,
  others: readonly string[],
) {
  const range = findChosenRange();
  const read = useResource(
    `levels ${formatRunKey(id)} ${variant} ${others.join()}`,
    (signal) => readAllLevels(id, others, variant, signal),
    { keeps: true },
  );
  const { levels = NO_LEVELS, refusal = null } = read.data ?? {};
  const { dates, lines } = useMemo(
    () => draw({ id, tracked, underlying, run, performance, levels, unit, range }),
    [id, tracked, underlying, run, performance, levels, unit, range?.from, range?.to],
  );
  return { dates, lines, trouble: read.trouble ?? refusal };
}

const NO_LEVELS: readonly Levels[] = [];

/** Returns a mark for each day on which a rebalance is traded, and the warnings about rebalances. */
function useRebalanceMarks(id: string): { readonly marks: readonly Mark[]; readonly findings: readonly Finding[] } {
  const rebalances = useAnswer(
    'listRebalances',
    { params: { index_id: id }, query: readShownRun() },
    { isLater: true },
  );
  const marks = useMemo<readonly Mark[]>(
    () =>
      (rebalances.data?.rebalances ?? []).flatMap(({ date, traded_on: day }) =>
        day === null
          ? []
          : [{ date: day, label: `Rebalance ${date}`, address: formatShownRunPath(formatRebalanceAddress(id, date)) }],
      ),
    [id, rebalances.data],
  );
  return { marks, findings: rebalances.data?.findings ?? [] };
}

const NO_FALLS: PerformanceView['drawdowns'] = [];

/** Returns the shaded drawdowns; none unless the address asks for them. */
function useBands(falls: PerformanceView['drawdowns']): readonly ShadedPeriod[] {
  const isShaded = getParameter('shade') === 'drawdowns';
  return useMemo(() => (isShaded ? falls.map(createBand) : []), [isShaded, falls]);
}

/** Returns the period of a drawdown to shade: from its peak to its recovery, or to the last date. */
const createBand = ({ peak, trough, recovery }: PerformanceView['drawdowns'][number]): ShadedPeriod => ({
  from: peak,
  to: recovery ?? '9999-12-31',
  label: `Drawdown, lowest on ${trough}`,
});

interface ControlsProps {
  readonly lines: readonly Line[];
  readonly hasDrawdowns: boolean;
  readonly id: string;
  readonly others: readonly string[];
  readonly unit: 'rebased' | 'points';
  readonly variant: Variant;
  readonly isLog: boolean;
}

function Controls({ id, others, unit, variant, isLog, lines, hasDrawdowns }: ControlsProps) {
  const isShaded = getParameter('shade') === 'drawdowns';
  return (
    <>
      {lines.length > 1 && (
        <div class="level-relative">
          <Select
            label="Relative to"
            options={[
              { value: '', text: 'Relative to …' },
              ...lines.slice(1).map((line) => ({ value: line.id, text: `Relative to ${line.label}` })),
            ]}
            value={getParameter('relative') ?? ''}
            onChoose={(chosen) => setParameters({ relative: chosen === '' ? null : chosen })}
          />
        </div>
      )}
      {hasDrawdowns && (
        <Button
          aria-pressed={isShaded}
          title="Shade the deepest drawdowns of the range"
          onClick={() => setParameters({ shade: isShaded ? null : 'drawdowns' })}
        >
          Drawdowns
        </Button>
      )}
      <OtherIndices id={id} others={others} />
      <Choice
        label="Unit"
        options={UNITS}
        value={unit}
        onChoose={(chosen) => setParameters({ unit: chosen === 'points' ? chosen : null })}
      />
      <Choice
        label="Return"
        options={VARIANTS}
        value={variant}
        onChoose={(chosen) => setParameters({ variant: chosen === 'own' ? null : chosen })}
      />
      <ScaleChoice isLog={isLog} />
    </>
  );
}

interface Levels {
  readonly id: string;
  readonly variant: LevelsView['variant'];
  readonly index: readonly string[];
  readonly data: readonly (number | null)[];
}

/**
 * Reads the levels of a run.
 * @param run query of the run. Default: the latest run
 */
async function readLevels(id: string, variant: Variant, signal: AbortSignal, run = {}): Promise<Levels> {
  const query = variant === 'own' ? run : { ...run, variant };
  const { levels, variant: statedVariant } = await service.value.call('getLevels', {
    params: { index_id: id },
    query,
    signal,
  });
  return { id, variant: statedVariant, index: levels.index, data: levels.data };
}

/**
 * Reads the levels in the requested return variant. If the prices do not support it, reads them in the variant of the
 * definition.
 */
async function readNearestLevels(id: string, variant: Variant, signal: AbortSignal): Promise<Levels> {
  try {
    return await readLevels(id, variant, signal);
  } catch (thrown) {
    if (createTrouble(thrown).code !== 'VARIANT_NOT_AVAILABLE') throw thrown;
    return readLevels(id, 'own', signal);
  }
}

/** Reads the levels of the displayed run and of other indices. An index that cannot be read is left out. */
async function readAllLevels(id: string, others: readonly string[], variant: Variant, signal: AbortSignal) {
  const levels = [readLevels(id, variant, signal, readShownRun())];
  const all = await Promise.allSettled([...levels, ...others.map((one) => readNearestLevels(one, variant, signal))]);
  const refused = all.find((one) => one.status === 'rejected');
  if (all[0]!.status === 'rejected') throw all[0]!.reason; // the first request is that of the displayed run
  return {
    levels: all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    refusal: refused === undefined ? null : createTrouble(refused.reason),
  };
}

interface LevelChartInput {
  readonly id: string;
  readonly tracked: string;
  readonly underlying: string | null;
  readonly run: OverviewView;
  readonly performance: PerformanceView | null;
  readonly levels: readonly Levels[];
  readonly unit: 'rebased' | 'points';
  readonly range: ValueRange | null;
}

/** Returns all lines on the dates of the run. On request, they are rebased at the first date of the range. */
function draw({ id, tracked, underlying, run, performance, levels, unit, range }: LevelChartInput): {
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
} {
  const dates = run.level.index;
  const [first] = limitToRange(dates, range);
  const alignDates = (series: Pick<Levels, 'index' | 'data'>) => {
    const valueByDate = new Map(series.index.map((date, t) => [date, series.data[t] ?? null]));
    return dates.map((date) => valueByDate.get(date) ?? null);
  };
  const scaleValues = (values: readonly (number | null)[]) =>
    unit === 'rebased' ? rebaseTo100(values, first) : values;
  const isStrategy = tracked !== id;
  const isOnlyBenchmark = isStrategy && [null, tracked].includes(performance?.benchmark ?? null);
  // Levels of different indices in points cannot be compared. Only the first index is drawn.
  const lines = (unit === 'points' ? levels.slice(0, 1) : levels).map((series, k): Line => ({
    id: series.id,
    label: addReturn(k === 0 ? tracked : series.id, series.variant),
    values: scaleValues(alignDates(series)),
    colour: k > 0 ? k + 3 : isStrategy ? 2 : 1,
    isRemovable: k > 0,
    ...(k > 0 && series.id === underlying && { reference: series.id }),
    ...(k === 0 && isOnlyBenchmark && { reference: tracked }),
  }));
  if (unit === 'points') return { dates, lines };
  // A portfolio without costs has the levels of its index.
  const hasDifference =
    (run.metrics.tracking_error ?? 0) > ROUNDING ||
    (levels[0] !== undefined && levels[0].variant !== run.return_variant);
  if (hasDifference)
    lines.splice(isStrategy ? 0 : 1, 0, {
      id: 'portfolio',
      label: addReturn(isStrategy ? `${id} after costs` : 'Portfolio after costs', run.return_variant),
      values: scaleValues(run.level.data),
      colour: isStrategy ? 1 : 2,
    });
  // The portfolio and the benchmark always have the return variant of the run.
  if (performance === null) return { dates, lines: layerCovered(lines) };
  const { benchmark, benchmark_level: level, benchmark_variant: read } = performance;
  if (benchmark !== null && level !== null && benchmark !== tracked)
    lines.push({
      id: 'benchmark',
      label: addReturn(`Benchmark ${benchmark}`, read),
      values: alignDates(level),
      colour: 3,
      reference: benchmark,
    });
  return { dates, lines: layerCovered(lines) };
}

/** Maximum tracking error that can come from the rounding of doubles. */
const ROUNDING = 1e-9;
