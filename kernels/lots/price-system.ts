import { factorCholesky } from '../algebra/cholesky.js';
import { solveTriangles } from './dense-products.js';
import type { Relaxation } from './relaxation.js';
import type { SecurityResponses } from './security-responses.js';

/**
 * Hessian of the dual of a convex form in its prices: [k] factor prices, then [m] row prices.
 *
 *   | I / (2 aversion) + B' R B    B' R C     |     R  response of the weight of a security to its slope, [n]
 *   | C' R B                       C' R C + V |     C  coefficients of the rows in the weights of securities, [n x m]
 *
 * Only a security with a partial trade responds to prices. Its contribution to the matrix is added when the trade
 * becomes partial and removed when it stops being partial, so a step near the solution costs only the factorisation.
 */
export interface PriceSystem {
  /** Factors the Hessian. @param slack  V [m] @returns false if the matrix is not positive definite */
  factor(slack: Float64Array): boolean;
  /** Solves in place for a right-hand side, [k + m]. */
  solve(x: Float64Array): void;
}

/** Number of linear functionals of the trades that rows combine: short-term gains, long-term gains and costs. */
const FUNCTIONAL_COUNT = 3;

export function createPriceSystem(
  { program: { n, k, loadings, specific, aversion }, trades, rows }: Relaxation,
  { partial }: SecurityResponses,
): PriceSystem {
  const { sign, short, long, cost } = trades;
  const m = rows.length;
  const order = k + m;
  const { distinct, mixes } = listColumns(rows, n);
  const q = FUNCTIONAL_COUNT + distinct.length;
  const products = new Float64Array(k * k); // B' R B, lower triangle
  const reach = new Float64Array(q * k); // B' R C, by column
  const gram = new Float64Array(q * q);
  const groupPositions = new Int32Array(n).fill(-1);
  const coefficients = new Float64Array(q);
  const matrix = new Float64Array(order * order);

  /** Adds (`way` 1) or removes (-1) the contribution of a security whose trade j is partial. */
  function add(i: number, j: number, way: 1 | -1): void {
    const response = way / (2 * aversion * specific[i]!);
    const position = i * k;
    for (let f = 0; f < k; f++) {
      const value = response * loadings[position + f]!;
      for (let g = 0; g <= f; g++) products[f * k + g]! += value * loadings[position + g]!;
    }
    coefficients[0] = sign[j]! * short[j]!;
    coefficients[1] = sign[j]! * long[j]!;
    coefficients[2] = sign[j]! * cost[j]!;
    for (let c = FUNCTIONAL_COUNT; c < q; c++) coefficients[c] = distinct[c - FUNCTIONAL_COUNT]![i]!;
    for (let c = 0; c < q; c++) {
      if (coefficients[c] === 0) continue;
      const value = response * coefficients[c]!;
      for (let f = 0; f < k; f++) reach[c * k + f]! += value * loadings[position + f]!;
      for (let d = 0; d <= c; d++) gram[c * q + d]! += value * coefficients[d]!;
    }
  }

  function update(): void {
    for (let i = 0; i < n; i++) {
      const [before, now] = [groupPositions[i]!, partial[i]!];
      if (before === now) continue;
      if (before >= 0) add(i, before, -1);
      if (now >= 0) add(i, now, 1);
      groupPositions[i] = now;
    }
  }

  return {
    factor(slack) {
      update();
      for (let f = 0; f < k; f++) {
        for (let g = 0; g <= f; g++) matrix[f * order + g] = products[f * k + g]!;
        matrix[f * order + f]! += 1 / (2 * aversion);
      }
      for (let j = 0; j < m; j++) {
        const position = (k + j) * order;
        matrix.fill(0, position, position + order);
        for (const [c, factor] of mixes[j]!)
          for (let f = 0; f < k; f++) matrix[position + f]! += factor * reach[c * k + f]!;
        for (let h = 0; h <= j; h++) {
          let value = 0;
          for (const [c, factor] of mixes[j]!)
            for (const [d, other] of mixes[h]!) value += factor * other * gram[Math.max(c, d) * q + Math.min(c, d)]!;
          matrix[position + k + h] = value;
        }
        matrix[position + k + j]! += slack[j]!;
      }
      return factorCholesky(matrix, order) === order;
    },
    solve: (x) => solveTriangles(matrix, order, x),
  };
}

/**
 * Returns the distinct weight vectors of the rows, up to sign. Also returns each row as a combination of functionals
 * and weight vectors: [column, coefficient].
 */
function listColumns(rows: Relaxation['rows'], n: number) {
  const distinctRows: Float64Array[] = [];
  const mixes = rows.map(({ weights, short, long, cost }) => {
    const mix: (readonly [number, number])[] = [];
    [short, long, cost].forEach((value, c) => void (value !== 0 && mix.push([c, value])));
    if (weights === null) return mix;
    for (const factor of [1, -1])
      for (let c = 0; c < distinctRows.length; c++) {
        let i = 0;
        while (i < n && weights[i] === factor * distinctRows[c]![i]!) i++;
        if (i === n) return [...mix, [FUNCTIONAL_COUNT + c, factor] as const];
      }
    distinctRows.push(weights);
    return [...mix, [FUNCTIONAL_COUNT + distinctRows.length - 1, 1] as const];
  });
  return { distinct: distinctRows, mixes };
}
