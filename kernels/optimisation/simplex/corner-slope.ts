import { solveSquare } from '../../algebra/solve-square.js';
import { FREE, IDLE, UPPER } from '../active-set/active-state.js';
import type { ProgramResult } from '../program-answer.js';
import type { Program } from '../program/program.js';
import { computeSmoothGradient } from '../program/smooth-gradient.js';

/** Minimum rate that is not a rounding error, relative to the largest coefficient of the gain. */
const RATE_MIN = 1e-12;

/**
 * Computes the slope of the optimal value in a linear gain, from below, at the corner with the largest gain. The slope
 * is the smallest multiplier of the gain for which the corner is optimal. Larger multipliers are valid too, because no
 * other point has this gain.
 * @param program  Program without a row for the gain, kinks and norms.
 * @param corner   Point and state of the largest gain.
 * @param gain     Coefficients of the gain, [n].
 * @returns        Slope; undefined if the active rows do not determine the free variables, or the multipliers cannot be
 *                 valid.
 * @cost           f^3 / 3 + m n for f free variables
 * @source         Best (2010), Portfolio Optimization, chapter 5: the parametric solution at a corner.
 */
export function computeCornerSlope(
  program: Program,
  { point, state }: Pick<ProgramResult, 'point' | 'state'>,
  gain: Float64Array,
): number | undefined {
  const { n, rows, kinks, norms } = program;
  const freeVariables = listPositions(state.names, (held) => held === FREE);
  const activeRows = listPositions(state.rows, (side) => side !== IDLE);
  if (kinks.length > 0 || norms.length > 0 || freeVariables.length !== activeRows.length) return undefined;
  const gradient = computeSmoothGradient(program, point.x);
  const k = freeVariables.length;
  const sides = new Float64Array(2 * k);
  for (const [p, i] of freeVariables.entries()) [sides[2 * p], sides[2 * p + 1]] = [-gradient[i]!, gain[i]!];
  const square = Float64Array.from({ length: k * k }, (_, e) =>
    readEntry(rows, n, activeRows[e % k]!, freeVariables[Math.floor(e / k)]!),
  );
  if (!solveSquare(square, k, sides, 2)) return undefined;
  // The multipliers of the rows are those of the objective plus the slope times those of the gain. The same holds for
  // the forces on variables.
  const signs: SignCondition[] = [];
  const force = gradient.slice();
  const growth = gain.map((value) => -value);
  for (const [p, r] of activeRows.entries()) {
    const [base, rate] = [sides[2 * p]!, sides[2 * p + 1]!];
    for (let i = 0; i < n; i++) {
      force[i]! += base * readEntry(rows, n, r, i);
      growth[i]! += rate * readEntry(rows, n, r, i);
    }
    if (rows.lower[r] !== rows.upper[r]) signs.push(createSign(state.rows[r] === UPPER, base, rate));
  }
  for (let i = 0; i < n; i++)
    if (state.names[i] !== FREE && program.lower[i] !== program.upper[i])
      signs.push(createSign(state.names[i] !== UPPER, force[i]!, growth[i]!));
  return findLeastRise(signs, RATE_MIN * gain.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
}

/** Sign condition on a multiplier: base + slope x rate must not be negative. */
interface SignCondition {
  readonly base: number;
  readonly rate: number;
}

function createSign(isPositive: boolean, base: number, rate: number): SignCondition {
  return isPositive ? { base, rate } : { base: -base, rate: -rate };
}

function findLeastRise(signs: readonly SignCondition[], rateMin: number): number | undefined {
  let rise = 0;
  for (const { base, rate } of signs) {
    if (base >= 0 && rate >= -rateMin) continue;
    if (rate <= rateMin) return undefined;
    rise = Math.max(rise, -base / rate);
  }
  return rise;
}

function listPositions(states: Int8Array, isWanted: (state: number) => boolean): readonly number[] {
  return [...states.keys()].filter((position) => isWanted(states[position]!));
}

function readEntry({ coefficients }: Program['rows'], n: number, row: number, name: number): number {
  return coefficients[row * n + name]!;
}
