import { type ActiveState, LOWER } from './program/active-state.js';
import {
  computeMetricDiagonal,
  createDenseMetric,
  createMetricMatrix,
  multiplyMetric,
  selectMetric,
} from './program/metric.js';
import { isHard, PRIMAL_MAX } from './program/optimality.js';
import { type Kink, type Point, type Program, sumKinks } from './program/program.js';

/**
 * Penalty per unit of violation in the program with a penalty on every row, as a multiple of the mean curvature or of
 * the largest linear coefficient, whichever is larger. It exceeds the multipliers of practical portfolios.
 */
const ELASTIC_PRICE = 1e3;

/**
 * Returns the program with a price on every row and limit. This program has an interior even if no point satisfies the
 * original rows.
 * @cost    A copy of the penalties.
 * @source  Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 17.2, for exact penalties.
 */
export function createElasticProgram(program: Program): Program {
  const { metric, curvature, ridge, linear, n } = program;
  const mean =
    metric === null ? 0 : computeMetricDiagonal(metric).reduce((sum, value) => sum + value, 0) / Math.max(n, 1);
  const price = ELASTIC_PRICE * Math.max(curvature * mean + ridge, ...linear.map(Math.abs), Number.MIN_VALUE);
  return {
    ...program,
    rows: { ...program.rows, penalty: program.rows.penalty.map((penalty) => Math.min(penalty, price)) },
    kinks: program.kinks.map((kink) =>
      kink.limit === null ? kink : { ...kink, penalty: Math.min(kink.penalty, price) },
    ),
  };
}

/** Program with rescaled variables, and the conversion of its points to the original units. */
export interface Equilibrated {
  readonly program: Program;
  /** Units, [n], powers of two: an original variable is its scaled variable times its unit. */
  readonly units: Float64Array;
  toOriginal(point: Point): Point;
}

const ROUNDS = 12;

/** Maximum scale. A column that would need a larger one is practically empty. */
const SCALE_MAX = 1e6;

/**
 * Chooses a unit for each variable so that the largest entry of each column of curvature and rows is near one. Programs
 * with variables in different units need this; portfolios do not. Units are powers of two, so that conversion is exact.
 * @returns  Null for a program with norms, whose metric must not change.
 * @cost     One pass over the nonzero entries per round (12 rounds), and a copy of the curvature.
 * @source   Ruiz (2001), A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
 */
export function equilibrate(program: Program): Equilibrated | null {
  const { n, rows, norms, metric } = program;
  if (norms.length > 0) return null;
  const curvature = new Float64Array(n * n);
  if (metric !== null) createMetricMatrix(metric).forEach((value, e) => (curvature[e] = program.curvature * value));
  for (let i = 0; i < n; i++) curvature[i * n + i]! += program.ridge;
  const units = new Float64Array(n).fill(1);
  const rowUnits = new Float64Array(rows.count).fill(1);
  const entries = {
    curvature: listEntries(curvature, n),
    rows: listEntries(rows.coefficients, n),
  };
  for (let round = 0; round < ROUNDS; round++) rescale(entries, units, rowUnits);
  for (let i = 0; i < n; i++) units[i] = findNearestPower(units[i]!);
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) curvature[i * n + j]! *= units[i]! * units[j]!;
  const divideByUnits = (values: Float64Array) => values.map((value, i) => value / units[i]!);
  const multiplyByUnits = (values: Float64Array) => values.map((value, i) => value * units[i]!);
  return {
    units,
    program: {
      n,
      metric: createDenseMetric(curvature, n),
      curvature: 1,
      ridge: 0,
      centre: divideByUnits(program.centre),
      linear: multiplyByUnits(program.linear),
      lower: divideByUnits(program.lower),
      upper: divideByUnits(program.upper),
      rows: { ...rows, coefficients: rows.coefficients.map((value, e) => value * units[e % n]!) },
      kinks: program.kinks.map((kink) => ({
        ...kink,
        at: divideByUnits(kink.at),
        left: multiplyByUnits(kink.left),
        right: multiplyByUnits(kink.right),
      })),
      norms: [],
    },
    toOriginal: (point) => ({ ...point, x: multiplyByUnits(point.x) }),
  };
}

/** Performs one round of Ruiz scaling: divides every column and row by the square root of its largest entry. */
function rescale(scaledEntries: ScaledEntries, units: Float64Array, rowUnits: Float64Array): void {
  const column = new Float64Array(units.length);
  const row = new Float64Array(rowUnits.length);
  for (let e = 0; e < scaledEntries.curvature.sizes.length; e++) {
    const [i, j] = [scaledEntries.curvature.rows[e]!, scaledEntries.curvature.columns[e]!];
    column[j] = Math.max(column[j]!, scaledEntries.curvature.sizes[e]! * units[i]! * units[j]!);
  }
  for (let e = 0; e < scaledEntries.rows.sizes.length; e++) {
    const [r, j] = [scaledEntries.rows.rows[e]!, scaledEntries.rows.columns[e]!];
    const entry = scaledEntries.rows.sizes[e]! * rowUnits[r]! * units[j]!;
    column[j] = Math.max(column[j]!, entry);
    row[r] = Math.max(row[r]!, entry);
  }
  for (let j = 0; j < column.length; j++) if (column[j]! > 0) units[j] = clamp(units[j]! / Math.sqrt(column[j]!));
  for (let r = 0; r < row.length; r++) if (row[r]! > 0) rowUnits[r] = clamp(rowUnits[r]! / Math.sqrt(row[r]!));
}

/** Nonzero entries, each with its row, column and magnitude. */
interface Entries {
  readonly rows: Int32Array;
  readonly columns: Int32Array;
  readonly sizes: Float64Array;
}

interface ScaledEntries {
  readonly curvature: Entries;
  readonly rows: Entries;
}

function listEntries(matrix: Float64Array, width: number): Entries {
  let count = 0;
  for (let e = 0; e < matrix.length; e++) if (matrix[e] !== 0) count++;
  const [rows, columns, sizes] = [new Int32Array(count), new Int32Array(count), new Float64Array(count)];
  let position = 0;
  for (let e = 0; e < matrix.length; e++) {
    if (matrix[e] === 0) continue;
    rows[position] = Math.floor(e / width);
    columns[position] = e % width;
    sizes[position++] = Math.abs(matrix[e]!);
  }
  return { rows, columns, sizes };
}

function clamp(scale: number): number {
  return Math.min(Math.max(scale, 1 / SCALE_MAX), SCALE_MAX);
}

/** Returns the power of two nearest to a scale on a logarithmic scale. */
function findNearestPower(scale: number): number {
  let power = 1;
  while (power * Math.SQRT2 < scale) power *= 2;
  while (power > scale * Math.SQRT2) power /= 2;
  return power;
}

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

/**
 * Returns true if the bounds alone make the program infeasible. Either the bounds of a variable are contradictory, or
 * no point within the bounds satisfies a row or a kink limit. No solver needs to run then.
 * @cost    m n.
 * @source  Andersen & Andersen (1995), Presolving in linear programming, Mathematical Programming 71, section 3: bounds
 *          on the values of rows.
 */
export function isProgramRuledOut(program: Program): boolean {
  const { n, lower, upper, rows, kinks } = program;
  for (let i = 0; i < n; i++) if (isBeyond(lower[i]!, upper[i]!, 1)) return true;
  for (let r = 0; r < rows.count; r++) if (!Number.isFinite(rows.penalty[r]!) && isOutOfReach(program, r)) return true;
  return kinks.some((kink) => isHard(kink) && isBeyond(computeLeastSum(kink, program), kink.limit!, n));
}

/**
 * Returns true if the smallest value of a sum exceeds a bound by more than a tolerance, which grows with the number or
 * magnitude of its terms.
 */
function isBeyond(least: number, bound: number, terms: number): boolean {
  return least - bound > 2 * PRIMAL_MAX * (1 + Math.abs(bound)) * (1 + terms);
}

function isOutOfReach({ n, lower, upper, rows }: Program, r: number): boolean {
  const from = r * n;
  let leastSum = 0;
  let mostSum = 0;
  let terms = 0;
  for (let i = 0; i < n; i++) {
    const coefficient = rows.coefficients[from + i]!;
    if (coefficient === 0) continue;
    const low = coefficient > 0 ? lower[i]! : upper[i]!;
    const high = coefficient > 0 ? upper[i]! : lower[i]!;
    leastSum += coefficient * low;
    mostSum += coefficient * high;
    terms += Math.abs(coefficient) * (1 + Math.max(measureBound(low), measureBound(high)));
  }
  return isBeyond(leastSum, rows.upper[r]!, terms) || isBeyond(-mostSum, -rows.lower[r]!, terms);
}

function measureBound(bound: number): number {
  return Number.isFinite(bound) ? Math.abs(bound) : 0;
}

/**
 * Returns the smallest value of the sum of a kink within the bounds. Each variable is then as near to its kink as its
 * bounds permit.
 */
function computeLeastSum({ at, left, right }: Kink, { n, lower, upper }: Program): number {
  let total = 0;
  for (let i = 0; i < n; i++) {
    if (left[i]! > 0 || right[i]! < 0) return Number.NEGATIVE_INFINITY;
    const step = Math.min(Math.max(at[i]!, lower[i]!), upper[i]!) - at[i]!;
    total += (step > 0 ? right[i]! : left[i]!) * step;
  }
  return total;
}
