import { requestText } from './datapoints/field-request.js';
import type { FieldUse } from './field-use.js';
import { allOf, ranked, withValue } from './ranking.js';
import type { Reason, SelectionScope, Verdict } from './selection-class.js';

/** What happens to names without the datapoint. */
export type MissingPolicy = 'exclude' | 'include';

const REASON: Reason = {
  test: '',
  value: null,
  threshold: null,
  rank: null,
  cutoff: null,
  incumbent: false,
  distance: null,
};

/** A reason, unsaid members empty. */
export function reason(test: string, said: Partial<Reason> = {}): Reason {
  return { ...REASON, test, ...said };
}

export interface Bounds {
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** Lower bound of names that are constituents already, when it differs. */
  readonly incumbentMinimum?: number | null;
  /** Whether a value equal to a bound passes; true unless given. */
  readonly inclusive?: boolean;
}

/** Keeps the names whose value lies within bounds. @cost O(n) */
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
  const lowerOf = (position: number): number | null => {
    const staying = bounds.incumbentMinimum ?? null;
    return staying !== null && incumbents !== null && incumbents[columns[position]!] === 1 ? staying : bounds.minimum;
  };
  const passes = (value: number, lower: number | null): boolean =>
    inclusive
      ? (lower === null || value >= lower) && (maximum === null || value <= maximum)
      : (lower === null || value > lower) && (maximum === null || value < maximum);
  const kept = new Uint8Array(columns.length);
  for (let i = 0; i < columns.length; i++) {
    const value = values[i]!;
    kept[i] = (Number.isNaN(value) ? missing === 'include' : passes(value, lowerOf(i))) ? 1 : 0;
  }
  return {
    kept,
    because(position) {
      const value = values[position]!;
      const lower = lowerOf(position);
      const test = `${what} ${rangeText(lower, maximum, inclusive)}`;
      if (Number.isNaN(value)) return reason(test, { distance: kept[position] === 1 ? 0 : null });
      const failsLow = lower !== null && (inclusive ? value < lower : value <= lower);
      const threshold = failsLow
        ? lower
        : maximum !== null && (lower === null || !passes(value, lower))
          ? maximum
          : lower;
      const distance = kept[position] === 1 ? 0 : failsLow ? lower - value : value - (maximum ?? value);
      return reason(test, {
        value,
        threshold,
        distance,
        incumbent: kept[position] === 1 && lower !== bounds.minimum && !passes(value, bounds.minimum),
      });
    },
  };
}

/** Bounds in words: `at least 5 and at most 10 (at least 4 for constituents)`. */
export function boundsText({ minimum, maximum, incumbentMinimum = null, inclusive = true }: Bounds): string {
  const staying = incumbentMinimum === null ? '' : ` (at least ${incumbentMinimum} for constituents)`;
  return `${rangeText(minimum, maximum, inclusive)}${staying}`;
}

function rangeText(minimum: number | null, maximum: number | null, inclusive: boolean): string {
  const atLeast = inclusive ? 'at least' : 'above';
  const atMost = inclusive ? 'at most' : 'below';
  if (minimum !== null && maximum !== null) return `${atLeast} ${minimum} and ${atMost} ${maximum}`;
  if (minimum !== null) return `${atLeast} ${minimum}`;
  return maximum !== null ? `${atMost} ${maximum}` : 'of any size';
}

/** Values of a numeric use for the survivors. */
export function valuesOf(scope: Pick<SelectionScope, 'cross' | 'columns'>, use: FieldUse): Float64Array {
  return use.money ? scope.cross.money(use.field, scope.columns) : scope.cross.numbers(use.field, scope.columns);
}

/** Survivors by group, as ascending positions of the scope's columns; one group when there is no field. */
export function groupsOf(
  { cross, columns }: Pick<SelectionScope, 'cross' | 'columns'>,
  by: FieldUse | null,
): ReadonlyMap<string | null, Int32Array> {
  if (by === null) return new Map([['', allOf(columns)]]);
  const { of, names } = cross.groups(by.field, columns);
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
  /** What is ranked, in words. */
  readonly what: string;
  /** Ranks kept of the best-first members of one group that take part in the ranking; others may stay as `choose` says. */
  choose(members: Int32Array): Chosen;
}

export interface Chosen {
  /** Kept positions. */
  readonly kept: Int32Array;
  /** Last rank kept on rank alone. */
  readonly cutoff: number;
}

/** Keeps the best of each group by a ranking. @cost O(n log n) */
export function keepRanked(
  scope: SelectionScope,
  { values, groups, ascending, missing, what, choose }: Ranking,
): Verdict {
  const kept = new Uint8Array(scope.columns.length);
  const ranks = new Int32Array(scope.columns.length);
  const cutoffs = new Int32Array(scope.columns.length);
  const edges = new Float64Array(scope.columns.length).fill(NaN); // value of the last name kept on rank in the group
  for (const members of groups.values()) {
    const order = ranked(values, missing === 'include' ? members : withValue(values, members), ascending);
    const { kept: best, cutoff } = choose(order);
    for (let i = 0; i < best.length; i++) kept[best[i]!] = 1;
    for (let i = 0; i < order.length; i++) ranks[order[i]!] = i + 1;
    const last = Math.min(cutoff, order.length) - 1;
    const edge = last < 0 ? NaN : values[order[last]!]!;
    for (let i = 0; i < members.length; i++) {
      cutoffs[members[i]!] = cutoff;
      edges[members[i]!] = edge;
    }
  }
  return {
    kept,
    because(position) {
      const value = values[position]!;
      const rank = ranks[position]!;
      const cutoff = cutoffs[position]!;
      const edge = edges[position]!;
      return reason(`${what}, ${ascending ? 'smallest' : 'largest'} first, rank at most ${cutoff}`, {
        value: Number.isNaN(value) ? null : value,
        threshold: Number.isNaN(edge) ? null : edge,
        rank: rank === 0 ? null : rank,
        cutoff,
        incumbent: kept[position] === 1 && rank > cutoff,
        distance: kept[position] === 1 ? 0 : Number.isNaN(value) || Number.isNaN(edge) ? null : Math.abs(value - edge),
      });
    },
  };
}

/** A field as sentences name it. */
export function named(use: FieldUse): string {
  return requestText(use.field);
}

/** The tail of a sentence that says what happens to missing values. */
export function missingText(policy: MissingPolicy): string {
  return policy === 'exclude' ? 'names without a value are excluded' : 'names without a value are kept';
}

export function listText(items: readonly string[]): string {
  return items.join(', ');
}
