import type { Finding, SweepView, TypeSpec } from '#clients/typescript/divisor.js';
import { formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { parseQuantity, formatQuantity } from '../../words/quantities.js';

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
export function formatPointer(pointer: string): string {
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
export const listFindingsAt = (findings: readonly Finding[], pointer: string): readonly Finding[] =>
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
