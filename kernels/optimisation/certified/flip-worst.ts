import { EQUAL, FREE, IDLE, LOWER, UPPER, type ActiveState, type Iterate } from '../active-set/active-state.js';
import type { Program } from '../program/program.js';
import { computeExactGradient, computeExactRow } from './residuals.js';

/** Maximum violation in a certified solution. It is also the maximum force of a multiplier with the wrong sign. */
const FAULT_MAX = 9e-10;

/**
 * Flips the state with the largest violation in the solution of its equality problem; returns false if no state is
 * violated. @cost m n
 */
export function flipWorst(program: Program, state: ActiveState, iterate: Iterate): boolean {
  let largestFault = FAULT_MAX;
  let flip: (() => void) | undefined;
  const considerFault = (fault: number, change: () => void) => {
    if (!(fault > largestFault)) return;
    largestFault = fault;
    flip = change;
  };
  const { n, lower, upper, rows } = program;
  const { x, rowMultipliers } = iterate;
  const gradient = computeExactGradient(program, { x, rowMultipliers, boundMultipliers: new Float64Array(n) });
  for (let i = 0; i < n; i++) {
    if (lower[i] === upper[i]) continue;
    if (state.names[i] === FREE) {
      considerFault(lower[i]! - x[i]!, () => (state.names[i] = LOWER));
      considerFault(x[i]! - upper[i]!, () => (state.names[i] = UPPER));
    } else considerFault(state.names[i] === LOWER ? -gradient[i]! : gradient[i]!, () => (state.names[i] = FREE));
  }
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    if (side === EQUAL) continue;
    if (side === IDLE) {
      const [least, most] = [rows.lower[r]!, rows.upper[r]!];
      if (Number.isFinite(least)) considerFault(-computeExactRow(program, x, r, least), () => (state.rows[r] = LOWER));
      if (Number.isFinite(most)) considerFault(computeExactRow(program, x, r, most), () => (state.rows[r] = UPPER));
    } else {
      const force = rowMultipliers[r]! * findLargestEntry(program, r);
      considerFault(side === UPPER ? -force : force, () => {
        state.rows[r] = IDLE;
        rowMultipliers[r] = 0;
      });
    }
  }
  flip?.();
  return flip !== undefined;
}

function findLargestEntry({ n, rows }: Program, r: number): number {
  let largest = 0;
  for (let e = r * n; e < r * n + n; e++) largest = Math.max(largest, Math.abs(rows.coefficients[e]!));
  return largest;
}

export interface BlockingConstraint {
  /** Fraction of the step up to the bound or row. */
  readonly length: number;
  /** Activates the bound or row in the state. */
  hold(): void;
}

/** Returns the first bound or row that a step would violate; undefined if it violates none. @cost m n */
export function findFirstBlock(
  { n, lower, upper, rows }: Program,
  state: ActiveState,
  x: Float64Array,
  dx: Float64Array,
): BlockingConstraint | undefined {
  let block: BlockingConstraint | undefined;
  const considerFault = (room: number, rate: number, hold: () => void) => {
    if (!(rate - room > FAULT_MAX)) return;
    const length = Math.max(room, 0) / rate;
    if (length < (block?.length ?? 1)) block = { length, hold };
  };
  for (let i = 0; i < n; i++) {
    if (state.names[i] !== FREE || lower[i] === upper[i]) continue;
    considerFault(x[i]! - lower[i]!, -dx[i]!, () => (state.names[i] = LOWER));
    considerFault(upper[i]! - x[i]!, dx[i]!, () => (state.names[i] = UPPER));
  }
  for (let r = 0; r < rows.count; r++) {
    if (state.rows[r] !== IDLE) continue;
    let [value, rate] = [0, 0];
    for (let i = 0, e = r * n; i < n; i++, e++) {
      value += rows.coefficients[e]! * x[i]!;
      rate += rows.coefficients[e]! * dx[i]!;
    }
    considerFault(value - rows.lower[r]!, -rate, () => (state.rows[r] = LOWER));
    considerFault(rows.upper[r]! - value, rate, () => (state.rows[r] = UPPER));
  }
  return block;
}
