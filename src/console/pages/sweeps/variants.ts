import type {
  Finding,
  IndexDocument,
  JobStatus,
  SweepView,
  TypeSpec,
  SeriesPayload,
  SweepRow,
} from '#clients/typescript/divisor.js';
import { computeSecondsBetween, formatDuration, parseDayNumber } from '../../words/dates.js';
import { describeSubject } from '../../words/jobs.js';
import { returnText } from '../../words/labels.js';
import { formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatQuantity, parseQuantity } from '../../words/quantities.js';
import type { Line } from '../../components/chart/series.js';
import { computeMedian } from '../../words/statistics.js';

/** First and last date of the backtests; the last date is null if no run has reached one. */
export interface BacktestDates {
  readonly start: string;
  readonly end: string | null;
}

/**
 * Minimum number of weekdays for a test of the choice by its default folds: 10 groups, from each of which up to 3
 * sessions and 1% of all sessions are excluded, and which keep 2 returns.
 */
const WEEKDAYS_MIN = 70;

/** Returns true if a period is long enough for a test of the choice. A period without an end is. */
export const canTestChoice = ({ start, end }: BacktestDates): boolean =>
  end === null || ((parseDayNumber(end) - parseDayNumber(start)) * 5) / 7 >= WEEKDAYS_MIN;

const COSTS_POINTER = '/request/transaction_cost_bps';

const toObject = (value: unknown): JsonObject => {
  const json = value as Json | undefined; // requests are plain JSON
  return isObject(json) ? json : {};
};

/** Returns the terms of the backtests in the request of a sweep, without empty members. */
export const getSweepTerms = (request: unknown): JsonObject =>
  Object.fromEntries(Object.entries(toObject(toObject(request)['request'])).filter(([, value]) => value !== null));

/** Returns the values of a sweep by pointer; null if its variants are listed one by one. */
export function getGrid(request: unknown): Readonly<Record<string, readonly Json[]>> | null {
  const { grid } = toObject(request);
  return isObject(grid) ? (grid as Readonly<Record<string, readonly Json[]>>) : null; // the service accepted the grid
}

export function countVariants(request: unknown): number {
  const grid = getGrid(request);
  if (grid !== null) return Object.values(grid).reduce((product, values) => product * values.length, 1);
  const { patches } = toObject(request);
  return Array.isArray(patches) ? patches.length : 0;
}

/** Returns the transaction cost in basis points; null if the sweep varies it. */
export function getCosts(request: unknown): number | null {
  const { patches } = toObject(request);
  const changes = Array.isArray(patches) ? patches : [getGrid(request) ?? {}];
  if (changes.some((change) => isObject(change) && COSTS_POINTER in change)) return null;
  const costs = getSweepTerms(request)['transaction_cost_bps'];
  return typeof costs === 'number' ? costs : 0;
}

export interface RunTime {
  readonly seconds: number;
  /** True if the time is that of a single run. Variants run side by side, so that each takes less. */
  readonly isMost: boolean;
}

/**
 * Returns the time of a variant in the latest sweep of an index, otherwise that of its latest run; null without both.
 * @param jobs succeeded sweeps and backtests, newest first
 */
export function measureRunTime(id: string, jobs: readonly JobStatus[]): RunTime | null {
  const sweep = jobs.find((job) => job.kind === 'sweep' && describeSubject(job) === id);
  const variants = countVariants(sweep?.request);
  if (sweep !== undefined && variants > 0) return { seconds: measureSeconds(sweep) / variants, isMost: false };
  const backtest = jobs.find(({ job_id: jobId }) => jobId === `backtest:${id}`);
  return backtest === undefined ? null : { seconds: measureSeconds(backtest), isMost: true };
}

const measureSeconds = ({ started_at: from, finished_at: to }: JobStatus): number =>
  from === null || to === null ? 0 : computeSecondsBetween(from, to);

/** Formats the estimated time of a sweep: `about 4.0 s`, or `at most 12 s` if only the time of a single run is known. */
export function formatRunTime({ seconds, isMost }: RunTime, variants: number): string {
  const total = seconds * variants;
  return total < 1 ? 'less than a second' : `${isMost ? 'at most' : 'about'} ${formatDuration(total)}`;
}

export interface VariedParameter {
  /** JSON pointer of the parameter. */
  readonly pointer: string;
  readonly label: string;
  /** Current value. If the definition does not set it, the default. */
  readonly now: Json | undefined;
  readonly choices: readonly string[] | null;
  readonly unit: string | null;
  readonly takes: 'number' | 'integer' | 'word';
  /** True if the parameter accepts null. */
  readonly isOptional: boolean;
}

/** Returns a label for a pointer whose parameter the definition does not contain. Rules are counted from 1. */
export function formatVariantPointer(pointer: string): string {
  const steps = pointer.split('/').slice(2);
  const words = steps.filter((step) => step !== 'pipeline' && step !== 'params' && step !== 'selection');
  return words.map((step) => (/^\d+$/.test(step) ? `rule ${Number(step) + 1}:` : step.replaceAll('_', ' '))).join(' ');
}

/**
 * Returns the end of the labels of a rule: its name in the catalogue, or its id if another rule has the same name.
 * @param i position of the rule
 */
export function formatRuleEnding(
  rules: readonly JsonObject[],
  i: number,
  specs: readonly Pick<TypeSpec, 'type' | 'label'>[],
): string {
  const { type, id } = rules[i]!;
  const name = specs.find((spec) => spec.type === type)?.label;
  const isOnly = rules.filter((rule) => rule['type'] === type).length === 1;
  return name !== undefined && isOnly ? ` · ${name}` : ` of rule ${String(id ?? i + 1)}`;
}

/** Formats the name of a metric within a sentence: `sharpe_ratio` as `Sharpe ratio`, `total_return` as `total return`. */
export const formatMetric = (metric: string): string => metric.replaceAll('_', ' ').replace(/^sharpe/, 'Sharpe');

export function formatPatch(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('_', ' ') : JSON.stringify(value);
}

/**
 * Parses typed values that are separated by commas or spaces. They are numbers, which may have the suffix of their unit
 * (`5%` for a fraction), true, false, null, or words.
 */
export function parseValues(text: string, unit: string | null = null): readonly Json[] {
  return text
    .split(/[,;\s]+/)
    .filter(Boolean)
    .map((word) => parseQuantity(word, unit) ?? parseWord(word));
}

function parseWord(word: string): Json {
  try {
    return JSON.parse(word) as Json;
  } catch {
    return word;
  }
}

/** Returns messages about typed values that a parameter does not accept. */
export function listValueErrors(
  text: string,
  { choices, unit, takes, isOptional }: Omit<VariedParameter, 'pointer' | 'label' | 'now'>,
): readonly string[] {
  return parseValues(text, unit).flatMap((value) => {
    if (value === null) return isOptional ? [] : ['A value is required; null is not accepted.'];
    if (choices !== null)
      return choices.includes(String(value)) ? [] : [`${formatPatch(value)} is not one of ${choices.join(', ')}.`];
    if (takes === 'word') return [];
    if (typeof value !== 'number') return [`${formatPatch(value)} is not a number.`];
    return takes === 'integer' && !Number.isInteger(value) ? [`${value} is not an integer.`] : [];
  });
}

/** Formats a value with its unit: `5%` for a fraction, or `10 bp`. */
export function formatWithUnit(value: Json | undefined, unit: string | null): string {
  if (value === undefined || value === null) return 'none';
  return typeof value === 'number' ? formatQuantity(value, unit) : formatPatch(value);
}

/** Returns the variant that is first by the criterion of a sweep. */
export const findBest = ({ rows }: Pick<SweepView, 'rows'>): SweepView['rows'][number] | undefined =>
  rows.find(({ rank }) => rank === 1);

/**
 * Function that returns the label and unit of the parameter at a pointer, and its value in the stored definition if it is
 * known.
 */
export type ParameterLabels = (pointer: string) => {
  readonly label: string;
  readonly unit: string | null;
  readonly now?: Json | undefined;
};

type Patch = SweepView['rows'][number]['patch'];

/** Names a variant by the values that it sets, for example `20 securities, 6%`. */
export const nameVariant = (patch: Patch, labels: ParameterLabels): string =>
  Object.entries(patch)
    .map(([pointer, value]) => formatWithUnit(value as Json, labels(pointer).unit)) // patch values are plain JSON
    .join(', ');

/** Lists the values that a variant sets after their labels, for example `Cap of weights 6%`. */
export const listSettings = (patch: Patch, labels: ParameterLabels): string =>
  Object.entries(patch)
    .map(([pointer, value]) => `${labels(pointer).label} ${formatWithUnit(value as Json, labels(pointer).unit)}`) // patch values are plain JSON
    .join(', ');

/** Returns the first and the last date of all variants that ran; null if none ran. */
export function findDates({ rows }: Pick<SweepView, 'rows'>): { readonly start: string; readonly end: string } | null {
  const starts = rows.flatMap(({ start }) => start ?? []).toSorted();
  const ends = rows.flatMap(({ end }) => end ?? []).toSorted();
  const [start, end] = [starts[0], ends.at(-1)];
  return start === undefined || end === undefined ? null : { start, end };
}

/** Formats the costs of trades in basis points. */
export const formatCosts = (costs: number): string => (costs === 0 ? 'no costs' : `${formatFigure(costs)} bp`);

/** Pointers of the definition. Other pointers are about the terms of the backtest. */
const DEFINITION_PREFIX = '/document/';

/**
 * Describes the definition of a variant: `Variant of CORE. Cap of weights: 4%.`
 * @param indexId index that the sweep varies
 */
export function describeVariant(indexId: string, patch: Patch, told: ParameterLabels) {
  const settings = Object.entries(patch)
    .filter(([pointer]) => pointer.startsWith(DEFINITION_PREFIX))
    .map(([pointer, value]) => {
      const { label, unit } = told(pointer);
      return `${label}: ${formatWithUnit(value as Json, unit)}.`; // patch values are plain JSON
    });
  return [`Variant of ${indexId}.`, ...settings].join(' ');
}

/**
 * Returns the findings about a pointer of the grid. Their path looks like
 * `grid[4]/document.pipeline.selection[0].params.count`.
 */
export const listVariantFindings = (findings: readonly Finding[], pointer: string): readonly Finding[] =>
  findings.filter(({ path }) => `${formatSteps(path).replace(/^grid\/\d+\//, 'grid/')}/`.startsWith(`grid${pointer}/`));

/** Replaces the separators of a path by slashes. */
const formatSteps = (path: string): string => path.replaceAll(/[./[\]]+/g, '/').replace(/\/$/, '');

/** Initial capital of backtests whose terms state none. */
const DEFAULT_CAPITAL = 1_000_000;

/** Returns the figure of the costs of all trades, which are an amount, with their share of the initial capital. */
export function createCostFigure(costs: number | null, { initial_capital: capital }: JsonObject) {
  const figure = {
    term: 'Costs',
    value: formatDecimal(costs),
    help: 'Costs of all trades, in the currency of the index',
  };
  if (costs === null) return figure;
  const share = costs / (typeof capital === 'number' ? capital : DEFAULT_CAPITAL);
  return { ...figure, note: `${formatPercent(share)} of the initial capital` };
}

/** Summarises the backtests of a sweep, for example `2015-01-02 to 2024-12-30 · 25 bp · total return`. */
export const formatBacktests = (
  { pipeline }: Pick<IndexDocument, 'pipeline'>,
  { transaction_cost_bps: costs, as_known: asKnown }: JsonObject,
  { start, end }: BacktestDates,
): string =>
  [
    `${start} to ${end ?? 'the last day of the data'}`,
    formatCosts(typeof costs === 'number' ? costs : 0),
    pipeline && returnText(pipeline.treatment?.dividends ?? 'total'),
    asKnown === 'decision' && 'data as known at each decision',
  ]
    .filter(Boolean)
    .join(' · ');

/** JSON pointers of the two parameters of a map. */
export interface MapAxes {
  readonly across: string;
  readonly down: string;
}

/** Varied parameter that is not an axis of the map. Its values are in the order of the request. */
export interface HiddenParameter {
  readonly pointer: string;
  readonly values: readonly string[];
  /** Value for which the map is shown. If it is null, each cell shows its best variant over all values. */
  readonly fixed: string | null;
}

/**
 * Returns the varied parameters that are not axes of the map.
 * @param fixed selected values as text, by pointer
 */
export function listHiddenParameters(
  rows: readonly SweepRow[],
  pointers: readonly string[],
  { across, down, fixed }: MapAxes & { readonly fixed: JsonObject },
): readonly HiddenParameter[] {
  return pointers
    .filter((pointer) => pointer !== across && pointer !== down)
    .map((pointer) => {
      const values = listValues(rows, pointer);
      return { pointer, values, fixed: values.find((value) => value === fixed[pointer]) ?? null };
    });
}

/** Returns the values of a parameter in the requested order. */
export function listValues(rows: readonly SweepRow[], pointer: string): readonly string[] {
  const inOrder = rows.toSorted((a, b) => a.variant - b.variant);
  return [...new Set(inOrder.filter(({ patch }) => pointer in patch).map(({ patch }) => formatPatch(patch[pointer])))];
}

interface Cell extends MapAxes {
  readonly column: string;
  readonly line: string;
  readonly hidden: readonly HiddenParameter[];
}

/** Returns the best variant of a cell. Returns undefined if none of its variants is ranked. */
export function findShownVariant(
  rows: readonly SweepRow[],
  { across, down, column, line, hidden }: Cell,
): SweepRow | undefined {
  return rows
    .filter(
      ({ patch, rank }) =>
        rank !== null &&
        formatPatch(patch[across]) === column &&
        formatPatch(patch[down]) === line &&
        hidden.every(({ pointer, fixed }) => fixed === null || formatPatch(patch[pointer]) === fixed),
    )
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))[0];
}

/** Match the end of the pointers to the number of selected securities and to the cap. */
const COUNT_POINTER = /\/params\/count$/;
const CAP_POINTER = /\/weighting\/cap$/;

/**
 * Returns the weight of all selected securities if each has its cap. If it is below 1, the cap cannot be kept. Returns
 * null for a variant that does not set both.
 */
export function findCapacity(patch: SweepRow['patch']): number | null {
  const getValueAt = (end: RegExp) => Object.entries(patch).find(([pointer]) => end.test(pointer))?.[1];
  const [count, cap] = [getValueAt(COUNT_POINTER), getValueAt(CAP_POINTER)];
  return typeof count === 'number' && typeof cap === 'number' ? count * cap : null;
}

/** Values at the two ends and in the middle of the colour scale. */
export interface Scale {
  readonly worst: number;
  /** Median of all variants. */
  readonly median: number;
  readonly best: number;
}

/** Strength of the colour at the ends of the scale, in percent. */
const STRONGEST_PERCENT = 55;

/** Creates the scale of a metric. @param values known values, at least one */
export const createScale = (values: readonly number[], isLowBetter: boolean): Scale => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const ends = isLowBetter ? { worst: most, best: least } : { worst: least, best: most };
  return { ...ends, median: computeMedian(values) };
};

/**
 * Returns the colour of a value. Values better than the median have the colour of the first variant by rank in the chart
 * of levels, and worse ones the colour of the index. The colour is stronger the further the value is from the median.
 */
export function getColourAt(value: number | null, { worst, median, best }: Scale): string {
  if (value === null) return 'transparent';
  const isBetter = value === median || value > median === best > median;
  const span = Math.abs((isBetter ? best : worst) - median);
  const strength = span === 0 ? 0 : Math.round((Math.abs(value - median) / span) * STRONGEST_PERCENT);
  return `color-mix(in srgb, var(--series-${isBetter ? FIRST_COLOUR : WORSE_COLOUR}) ${strength}%, transparent)`;
}

/** Number of the series colour of the first variant by rank. */
export const FIRST_COLOUR = 1;
/** Number of the series colour of variants that are worse than the median. */
const WORSE_COLOUR = 2;

/** Newest run of the index that a sweep varies. */
export interface ReferenceRun {
  /** Name of the line, with the terms that differ from those of the sweep. */
  readonly label: string;
  /** Level of the portfolio after costs, as that of the variants. */
  readonly level: SeriesPayload;
}

export const REFERENCE_COLOUR = 2;
/** Width in pixels. It is below that of solid lines: dashes on top of them are visible also where lines coincide. */
const REFERENCE_WIDTH = 1.9;

/** Terms that change the level of a portfolio. Dates do not: the level begins at 100 on the first date of the sweep. */
const LEVEL_TERMS = ['transaction_cost_bps', 'as_known', 'store_id'] as const;
const DEFAULTS: JsonObject = { transaction_cost_bps: 0 };

/** Returns the terms of a run that differ from those of a sweep, with their defaults. */
export const selectDifferentTerms = (run: JsonObject, sweep: JsonObject): JsonObject =>
  Object.fromEntries(
    LEVEL_TERMS.flatMap((name): (readonly [string, Json])[] => {
      const [own, other] = [run, sweep].map((terms) => terms[name] ?? DEFAULTS[name] ?? null);
      return own === other ? [] : [[name, own ?? null]];
    }),
  );

/**
 * Creates the line of the index, 100 on the first date. Returns no line if the run does not cover this date: it would
 * begin at another level.
 */
export function createReferenceLine(dates: readonly string[], reference: ReferenceRun | null): readonly Line[] {
  if (reference === null) return [];
  const { label, level } = reference;
  const byDate = new Map(level.index.map((date, at) => [date, level.data[at] ?? null]));
  const base = byDate.get(dates[0] ?? '') ?? null;
  if (base === null) return [];
  return [
    {
      id: 'index',
      label,
      values: dates.map((date) => {
        const value = byDate.get(date) ?? null;
        return value === null ? null : (100 * value) / base;
      }),
      colour: REFERENCE_COLOUR,
      isDashed: true,
      width: REFERENCE_WIDTH,
    },
  ];
}
