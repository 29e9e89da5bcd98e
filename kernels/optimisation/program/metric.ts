import { assert } from '../../assert.js';

/** A symmetric positive semi-definite matrix of order n, whole or as loadings and specific variances. */
export type Metric = DenseMetric | FactorMetric;

export interface DenseMetric {
  readonly form: 'dense';
  readonly n: number;
  /** [n x n] row-major, exactly symmetric. */
  readonly matrix: Float64Array;
}

/** loadings loadings' + diag(specific). */
export interface FactorMetric {
  readonly form: 'factor';
  readonly n: number;
  /** k */
  readonly factors: number;
  /** [n x k] row-major. */
  readonly loadings: Float64Array;
  /** [n], not negative. */
  readonly specific: Float64Array;
}

export function denseMetric(matrix: Float64Array, n: number): DenseMetric {
  assert(matrix.length === n * n, `matrix: ${matrix.length} values for ${n} x ${n}`);
  return { form: 'dense', n, matrix };
}

export function factorMetric(loadings: Float64Array, specific: Float64Array): FactorMetric {
  const n = specific.length;
  const factors = n === 0 ? 0 : loadings.length / n;
  assert(Number.isInteger(factors), `loadings: ${loadings.length} values over ${n} names`);
  return { form: 'factor', n, factors, loadings, specific };
}

/**
 * out = P x.
 *
 * @cost    n^2 less the rows of names where x is nought, or 2 n k for loadings.
 * @source  Definition; for loadings L (L'x) + D x.
 */
export function metricTimes(metric: Metric, x: Float64Array, out: Float64Array): void {
  if (metric.form === 'dense') denseTimes(metric.matrix, x, out);
  else factorTimes(metric, x, out);
}

/** Rows whose x is nought are skipped: near a benchmark most steps are short in names. */
function denseTimes(matrix: Float64Array, x: Float64Array, out: Float64Array): void {
  const n = x.length;
  out.fill(0);
  for (let j = 0; j < n; j++) {
    const xj = x[j]!;
    if (xj === 0) continue;
    const row = j * n;
    for (let i = 0; i < n; i++) out[i]! += matrix[row + i]! * xj;
  }
}

function factorTimes({ loadings, specific, factors: k }: FactorMetric, x: Float64Array, out: Float64Array): void {
  const scores = new Float64Array(k);
  for (let i = 0, row = 0; i < x.length; i++, row += k) {
    const xi = x[i]!;
    if (xi === 0) continue;
    for (let f = 0; f < k; f++) scores[f]! += loadings[row + f]! * xi;
  }
  for (let i = 0, row = 0; i < x.length; i++, row += k) {
    let total = specific[i]! * x[i]!;
    for (let f = 0; f < k; f++) total += loadings[row + f]! * scores[f]!;
    out[i] = total;
  }
}

/** Diagonal of P, [n]. */
export function metricDiagonal(metric: Metric): Float64Array {
  const { n } = metric;
  const out = new Float64Array(n);
  if (metric.form === 'dense') {
    for (let i = 0; i < n; i++) out[i] = metric.matrix[i * n + i]!;
    return out;
  }
  const { loadings, specific, factors: k } = metric;
  for (let i = 0; i < n; i++) {
    let total = specific[i]!;
    for (let f = 0; f < k; f++) total += loadings[i * k + f]! ** 2;
    out[i] = total;
  }
  return out;
}

/** x'P x. */
export function metricSquare(metric: Metric, x: Float64Array): number {
  const product = new Float64Array(x.length);
  metricTimes(metric, x, product);
  let total = 0;
  for (let i = 0; i < x.length; i++) total += x[i]! * product[i]!;
  return total;
}

/** The whole matrix, [n x n]. @cost n^2 k / 2 for loadings. */
export function metricMatrix(metric: Metric): Float64Array {
  if (metric.form === 'dense') return metric.matrix;
  const { n, loadings, specific, factors: k } = metric;
  const out = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let total = i === j ? specific[i]! : 0;
      for (let f = 0; f < k; f++) total += loadings[i * k + f]! * loadings[j * k + f]!;
      out[i * n + j] = out[j * n + i] = total;
    }
  }
  return out;
}
