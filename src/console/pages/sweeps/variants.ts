import type { Finding, IndexDocument, JobStatus, SweepView, TypeSpec } from '#clients/typescript/divisor.js';
import { computeSecondsBetween, formatDuration, parseDayNumber } from '../../words/dates.js';
import { describeSubject } from '../../words/jobs.js';
import { returnText } from '../../words/labels.js';
import { formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatQuantity, parseQuantity } from '../../words/quantities.js';

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

/** Pointer of the transaction cost. */
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

/** Returns the number of variants that a request describes. */
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

/** Measured time of a variant. */
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

/** Parameter of a definition or its backtest that a sweep can vary. */
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

/** Formats the value that a variant sets. */
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
