import type { ActiveState } from '../active-set/active-state.js';
import { LOWER } from '../active-set/active-state.js';
import { multiplyMetric, selectMetric } from '../program/metric.js';
import { sumKinks, type Point, type Program } from '../program/program.js';

/** Program without its fixed variables, and the conversion of its points and states to the full program. */
export interface ReducedProgram {
  readonly program: Program;
  toFull(point: Point): Point;
  stateToFull(state: ActiveState): ActiveState;
  stateToReduced(state: ActiveState): ActiveState;
}

/** Minimum fraction of fixed variables. If fewer are fixed, their removal does not justify the copy. */
const SHARE_MIN = 0.1;

/**
 * Removes variables whose bounds are equal. Their contributions to gradients, rows and kinks become constants.
 *
 * @returns  Null if too few variables are fixed, if bounds are contradictory, or if the program has a norm, which needs
 *           the full metric.
 * @cost     n^2, and a copy of the remaining program.
 * @source   Andersen & Andersen (1995), Presolving in linear programming, Mathematical Programming 71, section 3: fixed
 *           columns.
 */
export function removeFixedVariables(program: Program): ReducedProgram | null {
  const { n, lower, upper, rows, kinks, norms, metric, centre } = program;
  if (norms.length > 0) return null;
  const freeVariables: number[] = [];
  for (let i = 0; i < n; i++) if (lower[i]! < upper[i]!) freeVariables.push(i);
  if (freeVariables.length > (1 - SHARE_MIN) * n) return null;
  if (lower.some((bound, i) => bound > upper[i]!)) return null;
  const keep = Int32Array.from(freeVariables);
  const f = keep.length;
  const pick = (values: Float64Array) => Float64Array.from(keep, (i) => values[i]!);
  const fixedValues = Float64Array.from(lower, (bound, i) => (bound < upper[i]! ? 0 : bound));
  const linear = pick(program.linear);
  if (metric !== null && program.curvature !== 0) {
    const offset = fixedValues.map((value, i) => (lower[i]! < upper[i]! ? 0 : value - centre[i]!));
    const force = new Float64Array(n);
    multiplyMetric(metric, offset, force);
    for (let p = 0; p < f; p++) linear[p]! += program.curvature * force[keep[p]!]!;
  }
  const coefficients = new Float64Array(rows.count * f);
  const shift = new Float64Array(rows.count);
  for (let r = 0; r < rows.count; r++) {
    const from = r * n;
    for (let p = 0; p < f; p++) coefficients[r * f + p] = rows.coefficients[from + keep[p]!]!;
    for (let i = 0; i < n; i++) if (fixedValues[i] !== 0) shift[r]! += rows.coefficients[from + i]! * fixedValues[i]!;
  }
  const reducedProgram: Program = {
    ...program,
    n: f,
    metric: metric === null ? null : selectMetric(metric, keep),
    centre: pick(centre),
    linear,
    lower: pick(lower),
    upper: pick(upper),
    rows: {
      ...rows,
      coefficients,
      lower: rows.lower.map((bound, r) => bound - shift[r]!),
      upper: rows.upper.map((bound, r) => bound - shift[r]!),
    },
    kinks: kinks.map((kink) => {
      const reducedKink = { ...kink, at: pick(kink.at), left: pick(kink.left), right: pick(kink.right) };
      if (kink.limit === null) return reducedKink;
      const spentLimit = sumKinks(kink, fixedValues) - sumKinks(reducedKink, new Float64Array(f));
      return { ...reducedKink, limit: kink.limit - spentLimit };
    }),
  };
  return {
    program: reducedProgram,
    toFull(point) {
      const x = fixedValues.slice();
      for (let p = 0; p < f; p++) x[keep[p]!] = point.x[p]!;
      return { ...point, x };
    },
    stateToFull(state) {
      const variableStates = new Int8Array(n).fill(LOWER);
      const sides = new Int8Array(kinks.length * n).fill(1);
      for (let p = 0; p < f; p++) {
        variableStates[keep[p]!] = state.names[p]!;
        for (let k = 0; k < kinks.length; k++) sides[k * n + keep[p]!] = state.sides[k * f + p]!;
      }
      return { ...state, names: variableStates, sides };
    },
    stateToReduced(state) {
      const variableStates = new Int8Array(f);
      const sides = new Int8Array(kinks.length * f);
      for (let p = 0; p < f; p++) {
        variableStates[p] = state.names[keep[p]!]!;
        for (let k = 0; k < kinks.length; k++) sides[k * f + p] = state.sides[k * n + keep[p]!]!;
      }
      return { ...state, names: variableStates, sides };
    },
  };
}
