import type { NonConvexRow } from '../constraints/program-row.js';
import type { Restriction } from './assemble.js';

/**
 * Choice of securities. It states which securities may be held, and which may exceed the trigger of each concentration
 * row.
 */
export interface Choice {
  /** [N] */
  readonly held: Uint8Array;
  /** 1 for securities that may exceed the trigger, [N] for each concentration row, in row order. */
  readonly large: readonly Uint8Array[];
  /** 1 for securities that are short if held, [N]. Minimum weights apply to all other securities. */
  readonly short: Uint8Array;
  /** True if every held security must reach the minimum weight. False while securities are still being dropped. */
  readonly isFinal: boolean;
}

/** Magnitude of a weight above which a security counts as held. */
export const HELD_MIN = 1e-9;

/** Minimum weight of a security that is held only so that enough securities are held. It is well above `HELD_MIN`. */
const PRESENCE_WEIGHT = 1e-6;

/** Returns the bounds and sums with which the non-convex rows become linear for a choice of securities. */
export function createRestriction(rows: readonly NonConvexRow[], { held, large, short, isFinal }: Choice): Restriction {
  const n = held.length;
  const least = new Float64Array(n).fill(-Infinity);
  const upperBounds = new Float64Array(n).fill(Infinity);
  const sums: { coefficients: Float64Array; upper: number }[] = [];
  const raiseMinimum = (i: number, bound: number) => {
    least[i] = Math.max(least[i]!, bound);
  };
  const lowerMaximum = (i: number, bound: number) => {
    upperBounds[i] = Math.min(upperBounds[i]!, bound);
  };
  let concentrations = 0;
  for (const row of rows) {
    if (row.form === 'threshold' && isFinal)
      held.forEach((isHeld, i) => isHeld === 1 && short[i] === 0 && raiseMinimum(i, row.threshold));
    if (row.form === 'count' && isFinal && row.minimum > 0 && countIn(row.members, held) <= row.minimum) {
      for (const i of row.members) {
        if (held[i] === 0) continue;
        if (short[i] === 1) lowerMaximum(i, -PRESENCE_WEIGHT);
        else raiseMinimum(i, PRESENCE_WEIGHT);
      }
    }
    if (row.form === 'concentration') {
      const isLarge = large[concentrations++] ?? new Uint8Array(n);
      const coefficients = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        lowerMaximum(i, isLarge[i] === 1 ? row.single : row.trigger);
        coefficients[i] = isLarge[i]!;
      }
      if (isLarge.includes(1)) sums.push({ coefficients, upper: row.aggregate });
    }
  }
  for (let i = 0; i < n; i++) {
    if (held[i] === 1) continue;
    raiseMinimum(i, 0);
    lowerMaximum(i, 0);
  }
  return { least, most: upperBounds, sums };
}

function countIn(members: Int32Array, heldFlags: Uint8Array): number {
  let count = 0;
  for (const i of members) count += heldFlags[i]!;
  return count;
}

/** Tolerance for comparisons of weights. */
const ROUNDING = 1e-10;

/** Returns true if weights satisfy a row. */
export function satisfiesRow(row: NonConvexRow, weights: Float64Array): boolean {
  switch (row.form) {
    case 'count': {
      let count = 0;
      for (const i of row.members) if (Math.abs(weights[i]!) > HELD_MIN) count++;
      return count >= row.minimum && count <= row.maximum;
    }
    case 'threshold':
      return weights.every((weight) => weight <= HELD_MIN || weight >= row.threshold - ROUNDING);
    case 'concentration': {
      let sumAbove = 0;
      for (const weight of weights) {
        if (weight > row.single + ROUNDING) return false;
        if (weight > row.trigger + ROUNDING) sumAbove += weight;
      }
      return sumAbove <= row.aggregate + ROUNDING;
    }
  }
}

/** Returns the largest minimum weight of held securities in the rows. Returns 0 without a minimum. */
export function findThreshold(rows: readonly NonConvexRow[]): number {
  return rows.reduce((most, row) => (row.form === 'threshold' ? Math.max(most, row.threshold) : most), 0);
}

/** Returns 1 for securities with a weight, long or short, [N]. */
export function markHoldings(weights: Float64Array): Uint8Array {
  return Uint8Array.from(weights, (weight) => (Math.abs(weight) > HELD_MIN ? 1 : 0));
}

/** Returns 1 for securities with a negative weight, [N]. */
export function markShort(weights: Float64Array): Uint8Array {
  return Uint8Array.from(weights, (weight) => (weight < -HELD_MIN ? 1 : 0));
}

/** Returns the securities of a set, ascending. */
export function listPositions(flags: Uint8Array): Int32Array {
  return Int32Array.from(flags.keys()).filter((i) => flags[i] === 1);
}
