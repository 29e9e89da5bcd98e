import type { ReconciliationView } from '#contract/analytics/reconciliation.js';

/** An identity of a stored run with its two sides. */
export type Check = ReconciliationView['checks'][number];

/** Tolerance relative to the larger absolute value of the two sides. Values below 1 count as 1. */
const TOLERANCE = 1e-10;

export interface Sides {
  readonly name: string;
  readonly meaning: string;
  /** Recomputed side. */
  readonly left: number;
  readonly right: number;
  readonly tolerance?: number;
}

/** Compares the two sides of an identity. A side that is not a finite number fails the check. */
export function createCheck({ name, meaning, left, right, tolerance = TOLERANCE }: Sides): Check {
  const residual = left - right;
  const scale = Math.max(1, Math.abs(left), Math.abs(right));
  if (Number.isFinite(residual))
    return { name, meaning, left, right, residual, tolerance, holds: Math.abs(residual) <= tolerance * scale };
  return { name, meaning, left: toFinite(left), right: toFinite(right), residual: 1, tolerance, holds: false };
}

function toFinite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Record of the cell whose two sides differ most. */
export interface Furthest {
  note(left: number, right: number): void;
  /** Returns the largest difference so far; negative before the first cell. */
  distance(): number;
  sides(): { readonly left: number; readonly right: number };
}

export function createFurthest(): Furthest {
  let left = 0;
  let right = 0;
  let distance = -1;
  return {
    note(a, b) {
      const difference = Math.abs(a - b);
      if (difference <= distance) return;
      left = a;
      right = b;
      distance = difference === difference ? difference : Infinity;
    },
    distance: () => distance,
    sides: () => ({ left, right }),
  };
}

/** Checks of the weights panel. They share one pass over the panel. */
export interface RowPass {
  /** Receives the weights of a date. Dates must be passed in ascending order. */
  see(t: number, weights: Float64Array): void;
  /** Returns the checks after all dates have been passed. */
  checks(): Check[];
}
