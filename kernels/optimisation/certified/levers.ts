import type { Program } from '../program/program.js';
import { computeExactGradient, computeExactRow, type CertifiedPoint } from './residuals.js';

/**
 * Maximum entries of the gradient and maximum violations after the change of last digits. They are below the tolerance
 * of a solution.
 */
const DUAL_MAX = 9e-10;
const PRIMAL_MAX = 9e-10;

/** Multiplier or variable whose value may change. The residuals that it affects limit the change. */
export interface Lever {
  readonly values: Float64Array;
  readonly at: number;
  /** Change of the gap per unit of the lever. */
  readonly effect: number;
  /** Returns the largest and the smallest change that the residuals permit from the current point. */
  room(): readonly [most: number, least: number];
  /** Changes the value and updates the residuals. */
  move(change: number): void;
}

/** Nonzero changes of residuals per unit of a lever, as pairs of position and rate. */
type Rates = readonly (readonly [number, number])[];

interface LeverRates {
  readonly effect: number;
  readonly duals: Rates;
  readonly rows: Rates;
  /** Largest and smallest value. */
  readonly range: readonly [number, number];
}

/** Residuals of a point, updated by the levers that change it. */
interface Residuals {
  /** [n] */
  readonly dual: Float64Array;
  /** Value of each row less its upper bound, [m]; -Infinity for a row without an upper bound. */
  readonly over: Float64Array;
  readonly under: Float64Array;
}

/**
 * Returns the multipliers and free variables whose last digits change the gap.
 * @param free  1 for variables that are not fixed at a bound, [n]
 * @cost        m n and n^2
 */
export function findLevers(program: Program, point: CertifiedPoint, free: Uint8Array): Lever[] {
  const { n, rows } = program;
  const { x, rowMultipliers, boundMultipliers } = point;
  const residuals: Residuals = {
    dual: computeExactGradient(program, point),
    over: rows.upper.map((bound, r) => (Number.isFinite(bound) ? computeExactRow(program, x, r, bound) : -Infinity)),
    under: rows.lower.map((bound, r) => (Number.isFinite(bound) ? -computeExactRow(program, x, r, bound) : -Infinity)),
  };
  const slope = computeExactGradient(program, {
    x,
    rowMultipliers: new Float64Array(rows.count),
    boundMultipliers: new Float64Array(n),
  });
  const levers: Lever[] = [];
  const add = (values: Float64Array, position: number, rates: LeverRates) => {
    if (rates.effect !== 0 && Number.isFinite(rates.effect))
      levers.push(createLever(values, position, rates, residuals));
  };
  for (let i = 0; i < n; i++) {
    if (boundMultipliers[i] !== 0) add(boundMultipliers, i, computeBoundRates(program, boundMultipliers[i]!, i));
    if (free[i] === 1) add(x, i, computeVariableRates(program, x, slope[i]!, i));
  }
  for (let r = 0; r < rows.count; r++)
    if (rowMultipliers[r] !== 0 || rows.lower[r] === rows.upper[r])
      add(rowMultipliers, r, computeRowRates(program, rowMultipliers[r]!, r));
  return levers;
}

function createLever(
  values: Float64Array,
  position: number,
  { effect, duals, rows, range }: LeverRates,
  { dual, over, under }: Residuals,
): Lever {
  return {
    values,
    at: position,
    effect,
    room() {
      let changeMax = range[0] - values[position]!;
      let changeMin = range[1] - values[position]!;
      const narrowRange = (rate: number, above: number, below: number) => {
        const ends = [Math.max(above, 0) / rate, -Math.max(below, 0) / rate] as const;
        changeMax = Math.min(changeMax, Math.max(...ends));
        changeMin = Math.max(changeMin, Math.min(...ends));
      };
      for (const [i, rate] of duals) narrowRange(rate, DUAL_MAX - dual[i]!, DUAL_MAX + dual[i]!);
      for (const [r, rate] of rows) narrowRange(rate, PRIMAL_MAX - over[r]!, PRIMAL_MAX - under[r]!);
      return [changeMax, changeMin];
    },
    move(change) {
      values[position]! += change;
      for (const [i, rate] of duals) dual[i]! += rate * change;
      for (const [r, rate] of rows) {
        over[r]! += rate * change;
        under[r]! -= rate * change;
      }
    },
  };
}

/**
 * Returns the largest and the smallest value of a multiplier. It keeps its sign unless the bounds are equal, because
 * the opposite sign belongs to the opposite bound.
 */
function findSignRange(multiplier: number, isFixed: boolean): readonly [number, number] {
  if (isFixed) return [Infinity, -Infinity];
  return multiplier > 0 ? [Infinity, 0] : [0, -Infinity];
}

function computeBoundRates({ lower, upper }: Program, multiplier: number, i: number): LeverRates {
  const effect = multiplier > 0 ? upper[i]! : lower[i]!;
  return { effect, duals: [[i, 1]], rows: [], range: findSignRange(multiplier, lower[i] === upper[i]) };
}

function computeRowRates({ n, rows }: Program, multiplier: number, r: number): LeverRates {
  const duals: [number, number][] = [];
  for (let i = 0; i < n; i++) if (rows.coefficients[r * n + i] !== 0) duals.push([i, rows.coefficients[r * n + i]!]);
  const effect = multiplier > 0 ? rows.upper[r]! : rows.lower[r]!;
  return { effect, duals, rows: [], range: findSignRange(multiplier, rows.lower[r] === rows.upper[r]) };
}

function computeVariableRates(program: Program, x: Float64Array, slope: number, i: number): LeverRates {
  const { n, metric, curvature, ridge, rows, lower, upper } = program;
  const duals: [number, number][] = [];
  let curvedSlope = ridge * x[i]!;
  for (let j = 0, e = i * n; j < n; j++, e++) {
    const entry = (metric?.form === 'dense' ? curvature * metric.matrix[e]! : 0) + (i === j ? ridge : 0);
    if (entry === 0) continue;
    duals.push([j, entry]);
    if (metric?.form === 'dense') curvedSlope += curvature * metric.matrix[e]! * x[j]!;
  }
  const rates: [number, number][] = [];
  for (let r = 0; r < rows.count; r++)
    if (rows.coefficients[r * n + i] !== 0) rates.push([r, rows.coefficients[r * n + i]!]);
  return { effect: slope + curvedSlope, duals, rows: rates, range: [upper[i]! + PRIMAL_MAX, lower[i]! - PRIMAL_MAX] };
}
