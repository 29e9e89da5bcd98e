import type { ReconciliationView } from '#contract/analytics/reconciliation.js';

/** One identity of a stored run, with both sides. */
export type Check = ReconciliationView['checks'][number];

/** Relative to the larger side, at least to 1. */
const TOLERANCE = 1e-10;

export interface Sides {
  readonly name: string;
  readonly meaning: string;
  /** The side that was computed again. */
  readonly left: number;
  readonly right: number;
  readonly tolerance?: number;
}

/** A side that is not a number, or is absent, fails every check. */
export function check({ name, meaning, left, right, tolerance = TOLERANCE }: Sides): Check {
  const residual = left - right;
  const scale = Math.max(1, Math.abs(left), Math.abs(right));
  if (residual === residual)
    return { name, meaning, left, right, residual, tolerance, holds: Math.abs(residual) <= tolerance * scale };
  return { name, meaning, left: toFinite(left), right: toFinite(right), residual: 1, tolerance, holds: false };
}

function toFinite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Two sides of the cell in which a panel is furthest from what it should be. */
export interface Furthest {
  note(left: number, right: number): void;
  /** Returns the largest distance of a cell from its expected value, below 0 before the first. */
  distance(): number;
  sides(): { readonly left: number; readonly right: number };
}

export function furthest(): Furthest {
  let left = 0;
  let right = 0;
  let distance = -1;
  return {
    note(a, b) {
      const apart = Math.abs(a - b);
      if (apart <= distance) return;
      left = a;
      right = b;
      distance = apart === apart ? apart : Infinity;
    },
    distance: () => distance,
    sides: () => ({ left, right }),
  };
}

/** Checks of the weights panel that share one reading of it. */
export interface RowPass {
  /** Receives the weights of every date, the first one first. */
  see(t: number, weights: Float64Array): void;
  /** Returns the checks after every date was reported. */
  checks(): Check[];
}
