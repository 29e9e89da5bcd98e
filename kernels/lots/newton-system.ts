import { factorCholesky } from '../algebra/linear-systems.js';
import type { LotRelaxation } from './relaxation.js';

/** Solves L L' x = b in place. @param factor  L, [order x order] row-major */
export function solveTriangles(factor: Float64Array, order: number, x: Float64Array): void {
  for (let i = 0; i < order; i++) {
    let value = x[i]!;
    for (let j = 0; j < i; j++) value -= factor[i * order + j]! * x[j]!;
    x[i] = value / factor[i * order + i]!;
  }
  for (let i = order - 1; i >= 0; i--) {
    const value = x[i]! / factor[i * order + i]!;
    x[i] = value;
    for (let j = 0; j < i; j++) x[j]! -= factor[i * order + j]! * value;
  }
}

function transpose(a: Float64Array, rows: number, columns: number): Float64Array {
  const out = new Float64Array(a.length);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) out[j * rows + i] = a[i * columns + j]!;
  return out;
}

interface ProductsOut {
  readonly rows: number;
  readonly length: number;
  readonly out: Float64Array;
}

/** Computes the lower triangle of X Y', two rows at a time; an odd last row is paired with the previous row. */
function computeTriangle(
  x: Float64Array,
  y: Float64Array,
  { rows, length, out, stride }: ProductsOut & { readonly stride: number },
): void {
  for (let f = 0; f < rows; f += 2) {
    const f0 = f * length;
    const f1 = Math.min(f + 1, rows - 1) * length;
    for (let g = 0; g <= f + 1; g += 2) {
      const g0 = g * length;
      const g1 = Math.min(g + 1, rows - 1) * length;
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      for (let i = 0; i < length; i++) {
        const x0 = x[f0 + i]!;
        const x1 = x[f1 + i]!;
        const y0 = y[g0 + i]!;
        const y1 = y[g1 + i]!;
        a += x0 * y0;
        b += x0 * y1;
        c += x1 * y0;
        d += x1 * y1;
      }
      out[f * stride + g] = a;
      if (g + 1 < rows) out[f * stride + g + 1] = b;
      if (f + 1 >= rows) continue;
      out[(f + 1) * stride + g] = c;
      if (g + 1 < rows) out[(f + 1) * stride + g + 1] = d;
    }
  }
}

/** Computes the products of the rows of X with one row, which begins at `from`. */
function multiplyByRow(
  x: Float64Array,
  row: Float64Array,
  { from, rows, length, out, at }: ProductsOut & { readonly from: number; readonly at: number },
): void {
  for (let f = 0; f < rows; f += 2) {
    const f0 = f * length;
    const f1 = Math.min(f + 1, rows - 1) * length;
    let a = 0;
    let b = 0;
    for (let i = 0; i < length; i++) {
      const value = row[from + i]!;
      a += x[f0 + i]! * value;
      b += x[f1 + i]! * value;
    }
    out[at + f] = a;
    if (f + 1 < rows) out[at + f + 1] = b;
  }
}

/** Number of linear functionals of the trades: short-term gains, long-term gains and costs. */
const FUNCTIONAL_COUNT = 3;

/** Matrices of a reduced Newton system. K, A, B and R are those of `NewtonSystem`. */
interface ReducedMatrices {
  readonly relaxation: LotRelaxation;
  /** Number of rows, with that of the variance limit. */
  readonly m: number;
  /** Order of the reduced matrix: factors, then rows. */
  readonly order: number;
  /** 1 / z by trade. */
  readonly inverse: Float64Array;
  /** Sum of 1 / z over the trades of each security. */
  readonly sums: Float64Array;
  /** e / (1 + e sum) by security. */
  readonly shrink: Float64Array;
  /** A K^-1 A', a diagonal. */
  readonly response: Float64Array;
  /** K^-1 applied to the functionals and summed by security, [n x 3]. */
  readonly reach: Float64Array;
  /** Gram matrix of the functionals under K^-1, [3 x 3]. */
  readonly gram: Float64Array;
  /** A K^-1 R', one vector per row. */
  readonly rowReach: Float64Array;
  /** Coefficients of the weights by row; null if all are 0. */
  readonly rowWeights: (Float64Array | null)[];
  /** Coefficients of the functionals by row. */
  readonly coefficients: readonly (readonly [number, number, number])[];
  /** B', [k x n]. */
  readonly byFactor: Float64Array;
  readonly stretched: Float64Array;
  /** Lower triangle of the reduced matrix, [order x order]. */
  readonly matrix: Float64Array;
}

function createReducedMatrices(relaxation: LotRelaxation, hasVariance: boolean): ReducedMatrices {
  const { program, trades, rows } = relaxation;
  const { n, k, loadings } = program;
  const m = rows.length + (hasVariance ? 1 : 0);
  const order = k + m;
  const coefficients = rows.map(({ short, long, cost }) => [short, long, cost] as const);
  if (hasVariance) coefficients.push([0, 0, 0]);
  return {
    relaxation,
    m,
    order,
    inverse: new Float64Array(trades.count),
    sums: new Float64Array(n),
    shrink: new Float64Array(n),
    response: new Float64Array(n),
    reach: new Float64Array(n * FUNCTIONAL_COUNT),
    gram: new Float64Array(FUNCTIONAL_COUNT * FUNCTIONAL_COUNT),
    rowReach: new Float64Array(m * n),
    rowWeights: rows.map(({ weights }) => weights),
    coefficients,
    byFactor: transpose(loadings, n, k),
    stretched: new Float64Array(k * n),
    matrix: new Float64Array(order * order),
  };
}

/** Computes the inverse of K by security, and the functionals under it. */
function invertBlocks(
  { relaxation, inverse, sums, shrink, response, reach, gram }: ReducedMatrices,
  curvature: Float64Array,
  barrier: Float64Array,
): void {
  const { n } = relaxation.program;
  const { start, sign, short, long, cost } = relaxation.trades;
  gram.fill(0);
  for (let i = 0; i < n; i++) {
    let total = 0;
    let r0 = 0;
    let r1 = 0;
    let r2 = 0;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const q = 1 / barrier[j]!;
      inverse[j] = q;
      total += q;
      const sq = sign[j]! * q;
      const s = short[j]!;
      const l = long[j]!;
      const c = cost[j]!;
      r0 += sq * s;
      r1 += sq * l;
      r2 += sq * c;
      gram[0]! += q * s * s;
      gram[3]! += q * l * s;
      gram[4]! += q * l * l;
      gram[6]! += q * c * s;
      gram[7]! += q * c * l;
      gram[8]! += q * c * c;
    }
    const damping = 1 / (1 + curvature[i]! * total);
    const shrinkage = curvature[i]! * damping;
    sums[i] = total;
    shrink[i] = shrinkage;
    response[i] = total * damping;
    reach[3 * i] = r0 * damping;
    reach[3 * i + 1] = r1 * damping;
    reach[3 * i + 2] = r2 * damping;
    gram[0]! -= shrinkage * r0 * r0;
    gram[3]! -= shrinkage * r1 * r0;
    gram[4]! -= shrinkage * r1 * r1;
    gram[6]! -= shrinkage * r2 * r0;
    gram[7]! -= shrinkage * r2 * r1;
    gram[8]! -= shrinkage * r2 * r2;
  }
  gram[1] = gram[3]!;
  gram[2] = gram[6]!;
  gram[5] = gram[7]!;
}

/** Computes A K^-1 R' by row: weights are multiplied by the response of each security, functionals by their sums. */
function computeRowReach(matrices: ReducedMatrices): void {
  const { relaxation, m, response, reach, rowReach, rowWeights, coefficients } = matrices;
  const { n } = relaxation.program;
  for (let j = 0; j < m; j++) {
    const [a, b, c] = coefficients[j]!;
    const weights = rowWeights[j];
    const position = j * n;
    for (let i = 0; i < n; i++) {
      let value = a * reach[3 * i]! + b * reach[3 * i + 1]! + c * reach[3 * i + 2]!;
      if (weights) value += response[i]! * weights[i]!;
      rowReach[position + i] = value;
    }
  }
}

function fillFactorBlock(matrices: ReducedMatrices, kappa: number): void {
  const { relaxation, order, response, byFactor, stretched, matrix } = matrices;
  const { n, k } = relaxation.program;
  for (let f = 0; f < k; f++) for (let i = 0; i < n; i++) stretched[f * n + i] = response[i]! * byFactor[f * n + i]!;
  computeTriangle(stretched, byFactor, { rows: k, length: n, out: matrix, stride: order });
  for (let f = 0; f < k; f++) matrix[f * order + f]! += 1 / kappa;
}

function fillRowBlock(matrices: ReducedMatrices, slack: Float64Array): void {
  const { relaxation, m, order, reach, gram, rowReach, rowWeights, coefficients, byFactor, matrix } = matrices;
  const { n, k } = relaxation.program;
  for (let j = 0; j < m; j++) {
    const row = (k + j) * order;
    multiplyByRow(byFactor, rowReach, { from: j * n, rows: k, length: n, out: matrix, at: row });
    const [a, b, c] = coefficients[j]!;
    for (let h = 0; h <= j; h++) {
      const [d, e, g] = coefficients[h]!;
      let value =
        d * (a * gram[0]! + b * gram[1]! + c * gram[2]!) +
        e * (a * gram[3]! + b * gram[4]! + c * gram[5]!) +
        g * (a * gram[6]! + b * gram[7]! + c * gram[8]!);
      const weights = rowWeights[h];
      const weightsOfRow = rowWeights[j];
      // Computes R_j K^-1 R_h' from four products. The weights of h are multiplied with all of row j, and so are the
      // functionals of h.
      if (weights) for (let i = 0; i < n; i++) value += weights[i]! * rowReach[j * n + i]!;
      if (weightsOfRow)
        for (let i = 0; i < n; i++)
          value += weightsOfRow[i]! * (d * reach[3 * i]! + e * reach[3 * i + 1]! + g * reach[3 * i + 2]!);
      matrix[row + k + h] = value;
    }
    matrix[row + k + j]! += slack[j]!;
  }
}

/**
 * Newton system of an interior-point step, reduced to factors and rows.
 *
 * K dz + A'B xi + R' dy = -g        K = diag(z) + A' diag(e) A, one block per security
 *   B'A dz - xi / kappa = 0           kappa = 2 (aversion + multiplier of the variance limit)
 *   R dz - diag(v) dy - tax dt = -r
 *   tax' dy = s
 *
 * A sums the trades of each security. A block is a diagonal plus a rank-one matrix, so K is inverted in one pass over
 * the trades. The order of the remaining matrix is the number of factors plus the number of rows.
 */
export interface NewtonSystem {
  /**
   * @param curvature e [n] @param barrier z [trades] @param slack v [rows] @param variance gradient of the variance row
   *   in w, empty without a limit
   */
  factor(point: {
    readonly kappa: number;
    readonly curvature: Float64Array;
    readonly barrier: Float64Array;
    readonly slack: Float64Array;
    readonly variance: Float64Array;
  }): boolean;
  /** Solves for dz, dy and dt. @returns dt */
  solve(terms: {
    readonly gradient: Float64Array;
    readonly residual: Float64Array;
    readonly sum: number;
    readonly dz: Float64Array;
    readonly dy: Float64Array;
  }): number;
}

/**
 * Creates the Newton system of a convex form. @param hasVariance true if the last row is the variance limit, to whose
 * gradient each factor contributes
 */
export function createNewtonSystem(
  relaxation: LotRelaxation,
  { hasVariance }: { readonly hasVariance: boolean },
): NewtonSystem {
  const matrices = createReducedMatrices(relaxation, hasVariance);
  const { m, order, matrix, rowWeights } = matrices;
  const { n, k } = relaxation.program;
  const taxIndicator = relaxation.rows.map(({ tax }) => tax as number);
  if (hasVariance) taxIndicator.push(0);
  const [x, border, common] = [new Float64Array(order), new Float64Array(order), new Float64Array(n)];
  let borderDot = 0;
  return {
    factor({ kappa, curvature, barrier, slack, variance }) {
      if (hasVariance) rowWeights[m - 1] = variance;
      invertBlocks(matrices, curvature, barrier);
      computeRowReach(matrices);
      fillFactorBlock(matrices, kappa);
      fillRowBlock(matrices, slack);
      if (factorCholesky(matrix, order) !== order) return false;
      border.fill(0);
      for (let j = 0; j < m; j++) border[k + j] = taxIndicator[j]!;
      solveTriangles(matrix, order, border);
      borderDot = 0;
      for (let j = 0; j < m; j++) borderDot += taxIndicator[j]! * border[k + j]!;
      return borderDot > 0;
    },
    solve({ gradient, residual, sum, dz, dy }) {
      const totals = applyInverse(matrices, { gradient, dz, common });
      reduce(matrices, { residual, totals, common, x });
      solveTriangles(matrix, order, x);
      let dot = 0;
      for (let j = 0; j < m; j++) dot += taxIndicator[j]! * x[k + j]!;
      const dt = (dot - sum) / borderDot;
      for (let f = 0; f < order; f++) x[f]! -= border[f]! * dt;
      for (let j = 0; j < m; j++) dy[j] = x[k + j]!;
      spreadStep(matrices, { x, common, dz });
      return dt;
    },
  };
}

/** Writes K^-1 g to `dz` and its sums by security to `common`. @returns the functionals of K^-1 g */
function applyInverse(
  { relaxation, inverse, sums, shrink }: ReducedMatrices,
  {
    gradient,
    dz,
    common,
  }: { readonly gradient: Float64Array; readonly dz: Float64Array; readonly common: Float64Array },
): readonly [number, number, number] {
  const { n } = relaxation.program;
  const { start, sign, short, long, cost } = relaxation.trades;
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = start[i]!; j < start[i + 1]!; j++) total += sign[j]! * inverse[j]! * gradient[j]!;
    const shrunkTotal = shrink[i]! * total;
    common[i] = total - shrunkTotal * sums[i]!;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const value = inverse[j]! * (gradient[j]! - sign[j]! * shrunkTotal);
      dz[j] = value;
      s0 += short[j]! * value;
      s1 += long[j]! * value;
      s2 += cost[j]! * value;
    }
  }
  return [s0, s1, s2];
}

/** Computes the right-hand side of the reduced system in `x`. */
function reduce(
  { relaxation, m, rowWeights, coefficients }: ReducedMatrices,
  {
    residual,
    totals: [s0, s1, s2],
    common,
    x,
  }: {
    readonly residual: Float64Array;
    readonly totals: readonly [number, number, number];
    readonly common: Float64Array;
    readonly x: Float64Array;
  },
): void {
  const { n, k, loadings } = relaxation.program;
  const scaledFactors = x.subarray(0, k);
  scaledFactors.fill(0);
  for (let i = 0; i < n; i++) {
    const value = common[i]!;
    if (value === 0) continue;
    for (let f = 0; f < k; f++) scaledFactors[f]! += loadings[i * k + f]! * value;
  }
  for (let f = 0; f < k; f++) x[f] = -x[f]!;
  for (let j = 0; j < m; j++) {
    const [a, b, c] = coefficients[j]!;
    let value = a * s0 + b * s1 + c * s2;
    const weights = rowWeights[j];
    if (weights) for (let i = 0; i < n; i++) value += weights[i]! * common[i]!;
    x[k + j] = residual[j]! - value;
  }
}

/** Computes dz = -(K^-1 g + K^-1 (A'B xi + R' dy)), given K^-1 g in `dz`. */
function spreadStep(
  { relaxation, m, inverse, shrink, rowWeights, coefficients }: ReducedMatrices,
  { x, common, dz }: { readonly x: Float64Array; readonly common: Float64Array; readonly dz: Float64Array },
): void {
  const { n, k, loadings } = relaxation.program;
  const { start, sign, short, long, cost } = relaxation.trades;
  const totals = [0, 0, 0];
  for (let j = 0; j < m; j++) for (let q = 0; q < FUNCTIONAL_COUNT; q++) totals[q]! += coefficients[j]![q]! * x[k + j]!;
  common.fill(0);
  for (let j = 0; j < m; j++) {
    const weights = rowWeights[j];
    const multiplierStep = x[k + j]!;
    if (weights && multiplierStep !== 0) for (let i = 0; i < n; i++) common[i]! += multiplierStep * weights[i]!;
  }
  const [t0, t1, t2] = totals as [number, number, number];
  for (let i = 0; i < n; i++) {
    let value = common[i]!;
    for (let f = 0; f < k; f++) value += loadings[i * k + f]! * x[f]!;
    let total = 0;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const slope = sign[j]! * value + t0 * short[j]! + t1 * long[j]! + t2 * cost[j]!;
      total += sign[j]! * inverse[j]! * slope;
    }
    const correction = shrink[i]! * total;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const slope = sign[j]! * value + t0 * short[j]! + t1 * long[j]! + t2 * cost[j]!;
      dz[j] = -(dz[j]! + inverse[j]! * (slope - sign[j]! * correction));
    }
  }
}
