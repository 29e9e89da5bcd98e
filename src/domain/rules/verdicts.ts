import type { FieldUse } from '../datapoints/field-use.js';
import { listPositions, rankPositions, selectPositionsWithValue } from '../datapoints/ranking.js';
import type { Reason, SelectionScope, Verdict } from './selection-class.js';
import { formatNumber } from '../catalogue/sentence-numbers.js';
import {
  sortByDecisiveness,
  THRESHOLDS,
  type RankThreshold,
  type Threshold,
  type ThresholdType,
} from './thresholds.js';
import { describeExpression } from '../datapoints/expressions/sentences.js';

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
  if (fieldUse === null) return new Map([['', listPositions(columns)]]);
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
  /** Kept positions. */
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

/** Chooses a number of the best securities. */
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

/** Returns the name of a used datapoint for sentences. */
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
