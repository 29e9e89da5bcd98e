import { computeTriangle, multiplyByRow, transpose } from './dense-products.js';
import type { Relaxation } from './relaxation.js';

/** Number of linear functionals of the trades: short-term gains, long-term gains and costs. */
export const FUNCTIONAL_COUNT = 3;

/** Matrices of a reduced Newton system. K, A, B and R are those of `NewtonSystem`. */
export interface ReducedMatrices {
  readonly relaxation: Relaxation;
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

export function createReducedMatrices(relaxation: Relaxation, hasVariance: boolean): ReducedMatrices {
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
export function invertBlocks(
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
export function computeRowReach(matrices: ReducedMatrices): void {
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

/** Computes the block of the factors. */
export function fillFactorBlock(matrices: ReducedMatrices, kappa: number): void {
  const { relaxation, order, response, byFactor, stretched, matrix } = matrices;
  const { n, k } = relaxation.program;
  for (let f = 0; f < k; f++) for (let i = 0; i < n; i++) stretched[f * n + i] = response[i]! * byFactor[f * n + i]!;
  computeTriangle(stretched, byFactor, { rows: k, length: n, out: matrix, stride: order });
  for (let f = 0; f < k; f++) matrix[f * order + f]! += 1 / kappa;
}

/** Computes the block of the rows. */
export function fillRowBlock(matrices: ReducedMatrices, slack: Float64Array): void {
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
