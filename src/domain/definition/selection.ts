import type { z } from 'zod';
import { formatNumber } from '../base/numbers.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import { describeComparison, describeExpression } from '../datapoints/expression-text.js';
import { type ExpressionNode, type FieldUse, listComparisons, TRUE, UNKNOWN } from '../datapoints/expression-tree.js';
import { createPositions, rankPositions, selectPositionsWithValue } from '../datapoints/statistics.js';
import type { ReferenceValue } from '../market/market-data.js';
import type { CatalogueEntry } from './catalogue.js';

interface ThresholdWords {
  readonly help: string;
  /** Suffix of the sentence of a rank test. */
  readonly words: string;
}

/** Kinds of thresholds, with their names in explanations. */
export const THRESHOLDS = {
  minimum: { help: 'minimum value', words: '' },
  maximum: { help: 'maximum value', words: '' },
  incumbent_minimum: { help: 'minimum value for a constituent', words: '' },
  minimum_years: { help: 'minimum number of years with a dividend', words: '' },
  comparison: { help: 'comparison value', words: '' },
  count: { help: 'last rank that is kept', words: '' },
  fraction: { help: 'last rank within the fraction', words: '' },
  coverage: { help: 'last rank within the coverage', words: '' },
  coverage_buffer: {
    help: 'last rank at which a constituent stays',
    words: ', the coverage with the buffer of constituents',
  },
  coverage_lower: { help: 'last rank within the lower band', words: ', the lower band of the coverage' },
  coverage_upper: {
    help: 'last rank at which a constituent stays, within the upper band',
    words: ', the upper band of the coverage',
  },
  enter_rank: { help: 'last rank at which a new security always enters', words: ', the enter rank' },
  exit_rank: { help: 'last rank at which a constituent can stay', words: ', the exit rank of constituents' },
  places: {
    help: 'rank of the last constituent that stayed before the count was reached',
    words: ', because the count was already reached',
  },
  fill_up: { help: 'rank of the last security that completed the count', words: ', because the count was complete' },
} as const satisfies Readonly<Record<string, ThresholdWords>>;

export type ThresholdType = keyof typeof THRESHOLDS;

/** Threshold of a security under a rule. */
interface Threshold {
  readonly type: ThresholdType;
  /** Last rank that satisfies the threshold; null without a ranking. */
  readonly rank: number | null;
  /**
   * Bound. For a ranking, it is the value of the security at the threshold rank, null if that security has no value.
   */
  readonly value: number | null;
  readonly met: boolean;
  /** Change of the value that would satisfy the threshold; 0 if it is satisfied, null for non-numeric values. */
  readonly distance: number | null;
}

export interface RankThreshold {
  readonly type: ThresholdType;
  readonly rank: number;
  /** Additional bound on the value; absent if there is none. */
  readonly bound?: number;
}

/**
 * Returns the thresholds with the decisive one first. This is the first one that is not satisfied; if all are
 * satisfied, it is the first.
 */
function sortByDecisiveness(thresholds: readonly Threshold[]): Threshold[] {
  return [...thresholds.filter(({ met }) => !met), ...thresholds.filter(({ met }) => met)];
}

/** Input of a rule: the securities kept by earlier rules, and the market as known at the decision. */
export interface SelectionScope {
  readonly cross: CrossSection;
  /** Remaining securities, columns ascending, [n]. */
  readonly columns: Int32Array;
  readonly identifiers: readonly string[];
  /** 1 for a security in the previous composition, by column; null at the first rebalance. */
  readonly incumbents: Uint8Array | null;
}

/** Decision of a rule about all securities, with reasons. */
export interface Verdict {
  /** 1 for each security that is kept, in the order of the columns in the scope, [n]. */
  readonly kept: Uint8Array;
  /**
   * Returns the reason for the security at a position in the columns of the scope. It is computed when the function is
   * called.
   */
  because(position: number): Reason;
}

/** Reason for the decision about one security: its value and the thresholds. */
export interface Reason {
  /** Condition in words. */
  readonly test: string;
  /** Tested value; null if it is missing, or if the rule tests no value. */
  readonly value: ReferenceValue;
  /**
   * All thresholds of the security, the decisive one first. `threshold`, `cutoff` and `distance` are those of the
   * decisive one.
   */
  readonly thresholds: readonly Threshold[];
  /** Bound with which the value was compared. */
  readonly threshold: number | null;
  /** Position in the ranking of the rule, 1 for the best; null without a ranking or a value. */
  readonly rank: number | null;
  /** Last rank that satisfies the threshold. */
  readonly cutoff: number | null;
  /** True if the security was kept because it is already a constituent. */
  readonly incumbent: boolean;
  /**
   * Change of the value with which an excluded security would satisfy the threshold. 0 for a kept security, null for
   * non-numeric values.
   */
  readonly distance: number | null;
  /** Comparisons of an expression, each with its value. */
  readonly comparisons?: readonly ComparisonReason[];
}

interface ComparisonReason {
  readonly path: string;
  readonly test: string;
  readonly value: ReferenceValue;
  readonly outcome: boolean | null;
}

/** Rule with its parameters, which can decide. */
export interface Selection {
  /** Datapoints that the rule reads, with the paths of their parameters. */
  readonly reads: readonly FieldUse[];
  /** True if the previous composition affects the decision. */
  readonly remembers: boolean;
  /** True if the rule keeps the best securities of a ranking. Others may then replace a constituent. */
  readonly ranks?: true;
  /** Number of full calendar years before the decision whose dividends the rule reads. Default: none. */
  readonly dividendYears?: number;
  /** Effect of the rule as one English sentence, with every parameter. */
  readonly sentence: string;
  select(scope: SelectionScope): Verdict;
}

export interface SelectionClass extends CatalogueEntry {
  readonly category: 'selection';
  bind(params: unknown): Selection;
}

interface SelectionEntry<S extends z.ZodObject> extends Omit<CatalogueEntry, 'category' | 'params'> {
  readonly params: S;
  behaviour(params: z.output<S>): Selection;
}

/** Declares a selection class; its schema determines the parameter types of `behaviour`. */
export function defineSelectionClass<S extends z.ZodObject>({
  behaviour,
  ...entry
}: SelectionEntry<S>): SelectionClass {
  return { ...entry, category: 'selection', bind: (params) => behaviour(entry.params.parse(params)) };
}

/** Returns each comparison in a condition with the value of one security. */
export function listComparisonReasons(
  root: ExpressionNode,
  cross: CrossSection,
  { columns, position }: { readonly columns: Int32Array; readonly position: number },
): ComparisonReason[] {
  return listComparisons(root).map(({ node, path }) => {
    const truth = cross.truths(node, columns)[position]!;
    return {
      path,
      test: describeComparison(node),
      value: cross.values(node.field, columns)[position]!,
      outcome: truth === UNKNOWN ? null : truth === TRUE,
    };
  });
}

/**
 * Returns the smallest integer at least `x`. If a product differs from an integer only by rounding, it counts as that
 * integer: 0.07 of 100 is 7.
 */
export function roundUpTolerantly(x: number): number {
  const nearest = Math.round(x);
  return Math.abs(x - nearest) <= 1e-12 * Math.max(1, nearest) ? nearest : Math.ceil(x);
}

/** Returns the largest integer at most `x`, with the tolerance of `roundUpTolerantly`. */
export function roundDownTolerantly(x: number): number {
  return -roundUpTolerantly(-x);
}

/** Treatment of securities without a value of the datapoint. */
export type MissingPolicy = 'exclude' | 'include';

const DEFAULT_REASON: Reason = {
  test: '',
  value: null,
  thresholds: [],
  threshold: null,
  rank: null,
  cutoff: null,
  incumbent: false,
  distance: null,
};

/** Creates a reason with defaults. Threshold, cutoff and distance are by default those of the decisive threshold. */
export function createReason(
  test: string,
  { thresholds = [], ...said }: Partial<Omit<Reason, 'test' | 'threshold' | 'cutoff'>> = {},
): Reason {
  const sortedThresholds = sortByDecisiveness(thresholds);
  const [decisive] = sortedThresholds;
  const decision =
    decisive === undefined ? {} : { threshold: decisive.value, cutoff: decisive.rank, distance: decisive.distance };
  return { ...DEFAULT_REASON, test, ...decision, ...said, thresholds: sortedThresholds };
}

export interface Bounds {
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** Minimum for current constituents, if it differs from the minimum. */
  readonly incumbentMinimum?: number | null;
  /** True if a value equal to a bound passes. Default: true. */
  readonly inclusive?: boolean;
}

/** Keeps the securities with a value between bounds. @cost O(n) */
export function keepWithin(
  scope: SelectionScope,
  {
    values,
    what,
    bounds,
    missing,
  }: { readonly values: Float64Array; readonly what: string; readonly bounds: Bounds; readonly missing: MissingPolicy },
): Verdict {
  const { columns, incumbents } = scope;
  const { maximum, inclusive = true } = bounds;
  const findLower = (position: number): number | null => {
    const stayMinimum = bounds.incumbentMinimum ?? null;
    return stayMinimum !== null && incumbents !== null && incumbents[columns[position]!] === 1
      ? stayMinimum
      : bounds.minimum;
  };
  const isWithinBounds = (value: number, lower: number | null): boolean =>
    inclusive
      ? (lower === null || value >= lower) && (maximum === null || value <= maximum)
      : (lower === null || value > lower) && (maximum === null || value < maximum);
  const keptFlags = new Uint8Array(columns.length);
  for (let i = 0; i < columns.length; i++) {
    const value = values[i]!;
    keptFlags[i] = (Number.isNaN(value) ? missing === 'include' : isWithinBounds(value, findLower(i))) ? 1 : 0;
  }
  /** Returns a bound with the distance of the value to it. Returns an empty list without a bound. */
  const createBoundThresholds = (type: ThresholdType, bound: number | null, spare: number): Threshold[] => {
    if (bound === null) return [];
    const isMet = inclusive ? spare >= 0 : spare > 0;
    return [{ type, rank: null, value: bound, met: isMet, distance: isMet ? 0 : Math.abs(spare) }];
  };
  return {
    kept: keptFlags,
    because(position) {
      const value = values[position]!;
      const lower = findLower(position);
      const test = `${what} ${describeRange(lower, maximum, inclusive)}`;
      if (Number.isNaN(value)) return createReason(test, { distance: keptFlags[position] === 1 ? 0 : null });
      const isOfConstituents = lower !== bounds.minimum;
      return createReason(test, {
        value,
        thresholds: [
          ...createBoundThresholds(isOfConstituents ? 'incumbent_minimum' : 'minimum', lower, value - (lower ?? 0)),
          ...createBoundThresholds('maximum', maximum, (maximum ?? 0) - value),
        ],
        incumbent: keptFlags[position] === 1 && isOfConstituents && !isWithinBounds(value, bounds.minimum),
      });
    },
  };
}

/** Describes bounds in words: `at least 5 and at most 10 (at least 4 for constituents)`. */
export function formatBounds({ minimum, maximum, incumbentMinimum = null, inclusive = true }: Bounds): string {
  const stayPhrase = incumbentMinimum === null ? '' : ` (at least ${formatNumber(incumbentMinimum)} for constituents)`;
  return `${describeRange(minimum, maximum, inclusive)}${stayPhrase}`;
}

function describeRange(minimum: number | null, maximum: number | null, isInclusive: boolean): string {
  const atLeast = isInclusive ? 'at least' : 'above';
  const atMost = isInclusive ? 'at most' : 'below';
  const lower = minimum === null ? null : `${atLeast} ${formatNumber(minimum)}`;
  const upper = maximum === null ? null : `${atMost} ${formatNumber(maximum)}`;
  if (lower !== null && upper !== null) return `${lower} and ${upper}`;
  return lower ?? upper ?? 'of any size';
}

/** Returns the values of a numeric use for the remaining securities. */
export function readValues(scope: Pick<SelectionScope, 'cross' | 'columns'>, use: FieldUse): Float64Array {
  return use.money ? scope.cross.money(use.field, scope.columns) : scope.cross.numbers(use.field, scope.columns);
}

/**
 * Returns the remaining securities by group, as ascending positions in the columns of the scope. Without a field there
 * is a single group.
 */
export function readGroups(
  { cross, columns }: Pick<SelectionScope, 'cross' | 'columns'>,
  fieldUse: FieldUse | null,
): ReadonlyMap<string | null, Int32Array> {
  if (fieldUse === null) return new Map([['', createPositions(columns)]]);
  const { of, names } = cross.groups(fieldUse.field, columns);
  const sizes = new Int32Array(names.length);
  for (let i = 0; i < of.length; i++) sizes[of[i]!]!++;
  const members = names.map((_, group) => new Int32Array(sizes[group]!));
  sizes.fill(0);
  for (let i = 0; i < of.length; i++) members[of[i]!]![sizes[of[i]!]!++] = i;
  return new Map(names.map((name, group) => [name, members[group]!]));
}

export interface Ranking {
  readonly values: Float64Array;
  readonly groups: ReadonlyMap<string | null, Int32Array>;
  readonly ascending: boolean;
  readonly missing: MissingPolicy;
  /** Ranked quantity in words. */
  readonly what: string;
  /** Chooses the kept members of a group, given its ranking, best first. */
  choose(members: Int32Array): ChosenMembers;
}

export interface ChosenMembers {
  readonly kept: Int32Array;
  /**
   * Last rank at which a security is kept even if it is not a constituent. Present for a rule that keeps constituents
   * with later ranks.
   */
  readonly alone?: number;
  /**
   * Returns all thresholds of a security. The first one that is not satisfied is decisive. If all are satisfied, the
   * first is decisive.
   */
  faced(name: RankedSecurity): readonly RankThreshold[];
}

export interface RankedSecurity {
  /** Position in the columns of the scope. */
  readonly position: number;
  /** Rank, 1 for the best; 0 for a security outside the ranking. */
  readonly rank: number;
}

export function keepBest(order: Int32Array, count: number, type: ThresholdType = 'count'): ChosenMembers {
  return { kept: order.slice(0, count), faced: () => [{ type, rank: count }] };
}

/** Keeps the best securities of each group by a ranking. @cost O(n log n) */
export function keepRanked(
  scope: SelectionScope,
  { values, groups, ascending, missing, what, choose }: Ranking,
): Verdict {
  const keptFlags = new Uint8Array(scope.columns.length);
  const ranks = new Int32Array(scope.columns.length);
  const groupByPosition = new Int32Array(scope.columns.length);
  const choicesByGroup: { readonly order: Int32Array; readonly chosen: ChosenMembers }[] = [];
  for (const members of groups.values()) {
    const includesMissing = missing === 'include';
    const order =
      members.length === values.length
        ? scope.cross.ordered(values, { ascending, withMissing: includesMissing })
        : rankPositions(values, includesMissing ? members : selectPositionsWithValue(values, members), ascending);
    const choiceInOrder = choose(order);
    for (let i = 0; i < choiceInOrder.kept.length; i++) keptFlags[choiceInOrder.kept[i]!] = 1;
    for (let i = 0; i < order.length; i++) ranks[order[i]!] = i + 1;
    for (let i = 0; i < members.length; i++) groupByPosition[members[i]!] = choicesByGroup.length;
    choicesByGroup.push({ order, chosen: choiceInOrder });
  }
  return {
    kept: keptFlags,
    because(position) {
      const value = values[position]!;
      const rank = ranks[position]!;
      const { order, chosen } = choicesByGroup[groupByPosition[position]!]!;
      const thresholds = sortByDecisiveness(
        chosen.faced({ position, rank }).map((faced) => createRankThreshold(faced, { value, rank, values, order })),
      );
      const { type, rank: cutoff } = thresholds[0]!; // every ranking has a `choose`
      return createReason(
        `${what}, ${ascending ? 'smallest' : 'largest'} first, rank at most ${cutoff}${THRESHOLDS[type].words}`,
        {
          value: Number.isNaN(value) ? null : value,
          thresholds,
          rank: rank === 0 ? null : rank,
          incumbent: keptFlags[position] === 1 && rank > (chosen.alone ?? Infinity),
        },
      );
    },
  };
}

interface RankedValue {
  readonly value: number;
  /** Rank; 0 for a security outside the ranking. */
  readonly rank: number;
  readonly values: Float64Array;
  /** Positions in the order of the ranking, best first. */
  readonly order: Int32Array;
}

function createRankThreshold(
  { type, rank: last, bound }: RankThreshold,
  { value, rank, values, order }: RankedValue,
): Threshold {
  const position = Math.min(last, order.length) - 1;
  const edge = bound ?? (position < 0 ? NaN : values[order[position]!]!);
  const isMet = rank > 0 && rank <= last;
  const move = Math.abs(value - edge);
  return {
    type,
    rank: last,
    value: Number.isNaN(edge) ? null : edge,
    met: isMet,
    distance: isMet ? 0 : Number.isNaN(move) ? null : move,
  };
}

export function nameUsedField(use: FieldUse): string {
  return describeExpression(use.field);
}

/** Returns the end of a sentence about missing values. */
export function describeMissingPolicy(policy: MissingPolicy): string {
  return policy === 'exclude' ? 'securities without a value are excluded' : 'securities without a value are kept';
}

export function formatList(items: readonly string[]): string {
  return items.join(', ');
}
