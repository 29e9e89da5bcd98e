import { cholesky } from '../algebra/cholesky.js';
import type { Relaxation } from './relaxation.js';

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
  /** @param curvature e [n] @param barrier z [trades] @param slack v [rows] @param gradients variance row in w, or null */
  factor(given: {
    readonly kappa: number;
    readonly curvature: Float64Array;
    readonly barrier: Float64Array;
    readonly slack: Float64Array;
    readonly variance: Float64Array;
  }): boolean;
  /** Solves for dz, dy and dt. @returns dt */
  solve(given: {
    readonly gradient: Float64Array;
    readonly residual: Float64Array;
    readonly sum: number;
    readonly dz: Float64Array;
    readonly dy: Float64Array;
  }): number;
}

/** Number of linear functionals of the trades: short-term gains, long-term gains and costs. */
const FUNCTIONAL_COUNT = 3;

/**
 * Creates the Newton system of a convex form. @param hasVariance true if the last row is the variance limit, to whose
 * gradient each factor contributes
 */
export function createNewtonSystem(
  { program, trades, rows }: Relaxation,
  { hasVariance }: { readonly hasVariance: boolean },
): NewtonSystem {
  const { n, k, loadings } = program;
  const { count, start, sign, short, long, cost } = trades;
  const m = rows.length + (hasVariance ? 1 : 0);
  const order = k + m;
  const inverse = new Float64Array(count); // 1 / z
  const sums = new Float64Array(n); // Sum of 1 / z over the trades of a security.
  const shrink = new Float64Array(n); // e / (1 + e sum)
  const response = new Float64Array(n); // A K^-1 A'
  /**
   * K^-1 applied to the functionals and summed by security, [n x 3]; Gram matrix of the functionals under K^-1, [3 x
   * 3].
   */
  const reach = new Float64Array(n * FUNCTIONAL_COUNT);
  const gram = new Float64Array(FUNCTIONAL_COUNT * FUNCTIONAL_COUNT);
  const rowReach = new Float64Array(m * n); // A K^-1 R', one vector per row.
  const rowWeights: (Float64Array | null)[] = rows.map(({ weights }) => weights);
  const byFactor = transpose(loadings, n, k);
  const stretched = new Float64Array(k * n);
  const matrix = new Float64Array(order * order);
  const [scaled, x, border, common] = [
    new Float64Array(k),
    new Float64Array(order),
    new Float64Array(order),
    new Float64Array(n),
  ];
  const functionals = [short, long, cost];
  const coefficients = rows.map(({ short: s, long: l, cost: c }) => [s, l, c]);
  if (hasVariance) coefficients.push([0, 0, 0]);
  const ofTax = rows.map(({ tax }) => tax as number);
  if (hasVariance) ofTax.push(0);
  let borderDot = 0;

  function computeBlocks(curvature: Float64Array, barrier: Float64Array): void {
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
      const left = 1 / (1 + curvature[i]! * total);
      const own = curvature[i]! * left;
      sums[i] = total;
      shrink[i] = own;
      response[i] = total * left;
      reach[3 * i] = r0 * left;
      reach[3 * i + 1] = r1 * left;
      reach[3 * i + 2] = r2 * left;
      gram[0]! -= own * r0 * r0;
      gram[3]! -= own * r1 * r0;
      gram[4]! -= own * r1 * r1;
      gram[6]! -= own * r2 * r0;
      gram[7]! -= own * r2 * r1;
      gram[8]! -= own * r2 * r2;
    }
    gram[1] = gram[3]!;
    gram[2] = gram[6]!;
    gram[5] = gram[7]!;
  }

  /** Computes A K^-1 R' by row: weights are multiplied by the response of each security, functionals by their sums. */
  function computeRowResponses(): void {
    for (let j = 0; j < m; j++) {
      const [a, b, c] = coefficients[j]! as [number, number, number];
      const weights = rowWeights[j];
      const at = j * n;
      for (let i = 0; i < n; i++) {
        let value = a * reach[3 * i]! + b * reach[3 * i + 1]! + c * reach[3 * i + 2]!;
        if (weights) value += response[i]! * weights[i]!;
        rowReach[at + i] = value;
      }
    }
  }

  function computeFactorBlock(kappa: number): void {
    for (let f = 0; f < k; f++) for (let i = 0; i < n; i++) stretched[f * n + i] = response[i]! * byFactor[f * n + i]!;
    computeProductTriangle(stretched, byFactor, { rows: k, length: n, out: matrix, stride: order });
    for (let f = 0; f < k; f++) matrix[f * order + f]! += 1 / kappa;
  }

  function computeRowBlock(slack: Float64Array): void {
    for (let j = 0; j < m; j++) {
      const row = (k + j) * order;
      computeRowProducts(byFactor, rowReach, { from: j * n, rows: k, length: n, out: matrix, at: row });
      const [a, b, c] = coefficients[j]! as [number, number, number];
      for (let h = 0; h <= j; h++) {
        const [d, e, g] = coefficients[h]! as [number, number, number];
        let value =
          d * (a * gram[0]! + b * gram[1]! + c * gram[2]!) +
          e * (a * gram[3]! + b * gram[4]! + c * gram[5]!) +
          g * (a * gram[6]! + b * gram[7]! + c * gram[8]!);
        const weights = rowWeights[h];
        const own = rowWeights[j];
        // Computes R_j K^-1 R_h' from four products: the weights of h with all of row j, and the functionals of h with
        // row j.
        if (weights) for (let i = 0; i < n; i++) value += weights[i]! * rowReach[j * n + i]!;
        if (own)
          for (let i = 0; i < n; i++)
            value += own[i]! * (d * reach[3 * i]! + e * reach[3 * i + 1]! + g * reach[3 * i + 2]!);
        matrix[row + k + h] = value;
      }
      matrix[row + k + j]! += slack[j]!;
    }
  }

  return {
    factor({ kappa, curvature, barrier, slack, variance }) {
      if (hasVariance) rowWeights[m - 1] = variance;
      computeBlocks(curvature, barrier);
      computeRowResponses();
      computeFactorBlock(kappa);
      computeRowBlock(slack);
      if (cholesky(matrix, order) !== order) return false;
      border.fill(0);
      for (let j = 0; j < m; j++) border[k + j] = ofTax[j]!;
      solveTriangles(matrix, order, border);
      borderDot = 0;
      for (let j = 0; j < m; j++) borderDot += ofTax[j]! * border[k + j]!;
      return borderDot > 0;
    },
    solve({ gradient, residual, sum, dz, dy }) {
      // Writes K^-1 g to `dz` and its sums by security to `common`.
      let s0 = 0;
      let s1 = 0;
      let s2 = 0;
      for (let i = 0; i < n; i++) {
        let total = 0;
        for (let j = start[i]!; j < start[i + 1]!; j++) total += sign[j]! * inverse[j]! * gradient[j]!;
        const own = shrink[i]! * total;
        common[i] = total - own * sums[i]!;
        for (let j = start[i]!; j < start[i + 1]!; j++) {
          const value = inverse[j]! * (gradient[j]! - sign[j]! * own);
          dz[j] = value;
          s0 += short[j]! * value;
          s1 += long[j]! * value;
          s2 += cost[j]! * value;
        }
      }
      scaled.fill(0);
      for (let i = 0; i < n; i++) {
        const value = common[i]!;
        if (value === 0) continue;
        for (let f = 0; f < k; f++) scaled[f]! += loadings[i * k + f]! * value;
      }
      for (let f = 0; f < k; f++) x[f] = -scaled[f]!;
      for (let j = 0; j < m; j++) {
        const [a, b, c] = coefficients[j]! as [number, number, number];
        let value = a * s0 + b * s1 + c * s2;
        const weights = rowWeights[j];
        if (weights) for (let i = 0; i < n; i++) value += weights[i]! * common[i]!;
        x[k + j] = residual[j]! - value;
      }
      solveTriangles(matrix, order, x);
      let dot = 0;
      for (let j = 0; j < m; j++) dot += ofTax[j]! * x[k + j]!;
      const dt = (dot - sum) / borderDot;
      for (let f = 0; f < order; f++) x[f]! -= border[f]! * dt;
      for (let j = 0; j < m; j++) dy[j] = x[k + j]!;
      spreadStep(dz);
      return dt;
    },
  };

  /** Computes dz = -(K^-1 g + K^-1 (A'B xi + R' dy)), given K^-1 g in `dz`. */
  function spreadStep(dz: Float64Array): void {
    const totals = [0, 0, 0];
    for (let j = 0; j < m; j++)
      for (let q = 0; q < FUNCTIONAL_COUNT; q++) totals[q]! += coefficients[j]![q]! * x[k + j]!;
    common.fill(0);
    for (let j = 0; j < m; j++) {
      const weights = rowWeights[j];
      const own = x[k + j]!;
      if (weights && own !== 0) for (let i = 0; i < n; i++) common[i]! += own * weights[i]!;
    }
    const [t0, t1, t2] = totals as [number, number, number];
    const [f0, f1, f2] = functionals as [Float64Array, Float64Array, Float64Array];
    for (let i = 0; i < n; i++) {
      let value = common[i]!;
      for (let f = 0; f < k; f++) value += loadings[i * k + f]! * x[f]!;
      let total = 0;
      for (let j = start[i]!; j < start[i + 1]!; j++) {
        const own = sign[j]! * value + t0 * f0[j]! + t1 * f1[j]! + t2 * f2[j]!;
        total += sign[j]! * inverse[j]! * own;
      }
      const back = shrink[i]! * total;
      for (let j = start[i]!; j < start[i + 1]!; j++) {
        const own = sign[j]! * value + t0 * f0[j]! + t1 * f1[j]! + t2 * f2[j]!;
        dz[j] = -(dz[j]! + inverse[j]! * (own - sign[j]! * back));
      }
    }
  }
}

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
function computeProductTriangle(
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
function computeRowProducts(
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
