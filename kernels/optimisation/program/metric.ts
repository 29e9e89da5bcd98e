import { assert } from '../../assert.js';

/** Matrix with the positions of its nonzero entries, if these are few. */
export interface SparseRows {
  /** Sets the matrix, [rows x columns] row-major, which must not change until the next call. @cost rows columns */
  read(values: Float64Array, rows: number, columns: number): void;
  /** Returns true if few enough entries are nonzero to store their positions. */
  isSparse(): boolean;
  /** Computes out += times V'x, summed in the order of the rows. */
  addColumns(x: Float64Array, out: Float64Array, times?: 1 | -1): void;
  /** Returns value - (V y) at a row, summed in the order of the columns. */
  less(row: number, value: number, y: Float64Array): number;
  /**
   * Computes the lower triangle of V'V, [columns x columns], summed in the order of the rows; only valid if `isSparse`.
   */
  products(out: Float64Array): void;
}

/** Maximum fraction of nonzero entries in a sparse matrix. */
const SPARSE_SHARE = 0.25;

/** Minimum number of entries in a sparse matrix; smaller matrices count as dense. */
const ENTRIES_MIN = 1024;

/**
 * Creates sums that skip products with zero, because the rows of many programs have few nonzero entries. Results are
 * bit-identical to those of full sums.
 */
export function createSparseRows(): SparseRows {
  let matrix: Float64Array = new Float64Array(0);
  let [rowCount, width] = [0, 0];
  let starts = new Int32Array(0);
  let columnIndices = new Int32Array(0);
  let isSparse = false;

  /** Records the positions of nonzero entries; returns false if there are too many. */
  function recordPositions(): boolean {
    const size = rowCount * width;
    if (size < ENTRIES_MIN) return false;
    let remainingEntries = Math.floor(SPARSE_SHARE * size);
    for (let e = 0; e < size && remainingEntries >= 0; e++) if (matrix[e] !== 0) remainingEntries--;
    if (remainingEntries < 0) return false;
    const total = Math.floor(SPARSE_SHARE * size) - remainingEntries;
    if (starts.length <= rowCount) starts = new Int32Array(rowCount + 1);
    if (columnIndices.length < total) columnIndices = new Int32Array(total);
    let count = 0;
    for (let row = 0, e = 0; row < rowCount; row++) {
      starts[row] = count;
      for (let r = 0; r < width; r++, e++) if (matrix[e] !== 0) columnIndices[count++] = r;
    }
    starts[rowCount] = count;
    return true;
  }

  return {
    read(values, rows, columns) {
      matrix = values;
      [rowCount, width] = [rows, columns];
      isSparse = recordPositions();
    },
    isSparse: () => isSparse,
    addColumns(x, out, times = 1) {
      const values = matrix;
      for (let row = 0; row < rowCount; row++) {
        const from = row * width;
        const value = times * x[row]!;
        if (isSparse)
          for (let e = starts[row]!; e < starts[row + 1]!; e++) {
            const r = columnIndices[e]!;
            out[r]! += values[from + r]! * value;
          }
        else for (let r = 0; r < width; r++) out[r]! += values[from + r]! * value;
      }
    },
    less(row, value, y) {
      const values = matrix;
      const from = row * width;
      let total = value;
      if (isSparse)
        for (let e = starts[row]!; e < starts[row + 1]!; e++) {
          const r = columnIndices[e]!;
          total -= values[from + r]! * y[r]!;
        }
      else for (let r = 0; r < width; r++) total -= values[from + r]! * y[r]!;
      return total;
    },
    products(out) {
      out.fill(0, 0, width * width);
      for (let row = 0; row < rowCount; row++) {
        const from = row * width;
        const [begin, end] = [starts[row]!, starts[row + 1]!];
        for (let e = begin; e < end; e++) {
          const r = columnIndices[e]!;
          const value = matrix[from + r]!;
          const to = r * width;
          for (let o = begin; o <= e; o++) out[to + columnIndices[o]!]! += value * matrix[from + columnIndices[o]!]!;
        }
      }
    },
  };
}

/** Symmetric positive semi-definite matrix of order n, either dense or as factor loadings and specific variances. */
export type Metric = DenseMetric | FactorMetric;

export interface DenseMetric {
  readonly form: 'dense';
  readonly n: number;
  /** [n x n] row-major, exactly symmetric. */
  readonly matrix: Float64Array;
}

/** Metric loadings loadings' + diag(specific). */
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

export function createDenseMetric(matrix: Float64Array, n: number): DenseMetric {
  assert(matrix.length === n * n, `matrix: ${matrix.length} values for ${n} x ${n}`);
  return { form: 'dense', n, matrix };
}

export function createFactorMetric(loadings: Float64Array, specific: Float64Array): FactorMetric {
  const n = specific.length;
  const factors = n === 0 ? 0 : loadings.length / n;
  assert(Number.isInteger(factors), `loadings: ${loadings.length} values over ${n} names`);
  return { form: 'factor', n, factors, loadings, specific };
}

/**
 * Computes out = P x.
 *
 * @cost    n^2 less the rows of variables whose x is zero; or the number of entries of a sparse matrix; or 2 n k with
 *          loadings.
 * @source  Definition; L (L'x) + D x with loadings L.
 */
export function multiplyMetric(metric: Metric, x: Float64Array, out: Float64Array): void {
  const sparseForm = findSparseForm(metric);
  if (sparseForm !== null) sparseForm.addColumns(x, out.fill(0));
  else if (metric.form === 'dense') multiplyDense(metric.matrix, x, out);
  else multiplyFactors(metric, x, out);
}

const sparseMetrics = new WeakMap<Metric, SparseRows | null>();

/** Returns the sparse form of a dense matrix if most entries are zero, otherwise null. @cost n^2, once per metric */
function findSparseForm(metric: Metric): SparseRows | null {
  if (metric.form === 'factor') return null;
  const cachedRows = sparseMetrics.get(metric);
  if (cachedRows !== undefined) return cachedRows;
  const rows = createSparseRows();
  rows.read(metric.matrix, metric.n, metric.n);
  const sparseRows = rows.isSparse() ? rows : null;
  sparseMetrics.set(metric, sparseRows);
  return sparseRows;
}

/**
 * Computes out = P x for a dense matrix and skips rows whose x is zero, because most steps near a benchmark change few
 * variables. Adds four rows per pass over `out`, in the order of the rows.
 */
function multiplyDense(matrix: Float64Array, x: Float64Array, out: Float64Array): void {
  const n = x.length;
  const starts = listMovedRows(x, n);
  out.fill(0);
  let r = 0;
  for (; r + 3 < starts.length; r += 4) {
    const [a, b, c, d] = [starts[r]!, starts[r + 1]!, starts[r + 2]!, starts[r + 3]!];
    const [xa, xb, xc, xd] = [x[a / n]!, x[b / n]!, x[c / n]!, x[d / n]!];
    for (let i = 0; i < n; i++)
      out[i] = out[i]! + matrix[a + i]! * xa + matrix[b + i]! * xb + matrix[c + i]! * xc + matrix[d + i]! * xd;
  }
  for (; r < starts.length; r++) {
    const row = starts[r]!;
    const weight = x[row / n]!;
    for (let i = 0; i < n; i++) out[i]! += matrix[row + i]! * weight;
  }
}

/** Returns the offsets of the matrix rows of the variables with nonzero x. */
function listMovedRows(x: Float64Array, columns: number): Int32Array {
  const starts = new Int32Array(x.length);
  let count = 0;
  for (let i = 0; i < x.length; i++) if (x[i] !== 0) starts[count++] = i * columns;
  return starts.subarray(0, count);
}

/**
 * Computes out = L (L'x) + D x for four variables at a time, so that each sum depends only on its own previous term.
 */
function multiplyFactors({ loadings, specific, factors: k }: FactorMetric, x: Float64Array, out: Float64Array): void {
  const n = x.length;
  const scores = computeFactorScores(loadings, k, x);
  let i = 0;
  for (; i + 3 < n; i += 4) {
    const row = i * k;
    let a = specific[i]! * x[i]!;
    let b = specific[i + 1]! * x[i + 1]!;
    let c = specific[i + 2]! * x[i + 2]!;
    let d = specific[i + 3]! * x[i + 3]!;
    for (let f = 0, e = row; f < k; f++, e++) {
      const score = scores[f]!;
      a += loadings[e]! * score;
      b += loadings[e + k]! * score;
      c += loadings[e + 2 * k]! * score;
      d += loadings[e + 3 * k]! * score;
    }
    out[i] = a;
    out[i + 1] = b;
    out[i + 2] = c;
    out[i + 3] = d;
  }
  for (; i < n; i++) {
    let total = specific[i]! * x[i]!;
    for (let f = 0; f < k; f++) total += loadings[i * k + f]! * scores[f]!;
    out[i] = total;
  }
}

/** Computes loadings'x, [k], for eight variables per pass, summed in order. */
function computeFactorScores(loadings: Float64Array, k: number, x: Float64Array): Float64Array {
  const scores = new Float64Array(k);
  if (k === 0) return scores;
  const starts = listMovedRows(x, k);
  let r = 0;
  for (; r + 7 < starts.length; r += 8) {
    const [a, b, c, d] = [starts[r]!, starts[r + 1]!, starts[r + 2]!, starts[r + 3]!];
    const [p, q, s, t] = [starts[r + 4]!, starts[r + 5]!, starts[r + 6]!, starts[r + 7]!];
    const [xa, xb, xc, xd] = [x[a / k]!, x[b / k]!, x[c / k]!, x[d / k]!];
    const [xp, xq, xs, xt] = [x[p / k]!, x[q / k]!, x[s / k]!, x[t / k]!];
    for (let f = 0; f < k; f++) {
      const half =
        scores[f]! + loadings[a + f]! * xa + loadings[b + f]! * xb + loadings[c + f]! * xc + loadings[d + f]! * xd;
      scores[f] = half + loadings[p + f]! * xp + loadings[q + f]! * xq + loadings[s + f]! * xs + loadings[t + f]! * xt;
    }
  }
  for (; r < starts.length; r++) {
    const row = starts[r]!;
    const weight = x[row / k]!;
    for (let f = 0; f < k; f++) scores[f]! += loadings[row + f]! * weight;
  }
  return scores;
}

/** Returns the diagonal of P, [n]. */
export function computeMetricDiagonal(metric: Metric): Float64Array {
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

const traces = new WeakMap<Metric, number>();

/** Returns the sum of the diagonal of P. @cost n, or n k with loadings, once per metric */
export function computeMetricTrace(metric: Metric): number {
  const cachedTrace = traces.get(metric);
  if (cachedTrace !== undefined) return cachedTrace;
  let total = 0;
  for (const value of computeMetricDiagonal(metric)) total += value;
  traces.set(metric, total);
  return total;
}

export interface WeightedMetric {
  readonly metric: Metric;
  readonly weight: number;
}

/**
 * Returns a weighted sum of metrics. If all metrics have loadings, the sum has combined loadings; otherwise it is a
 * dense matrix.
 * @param parts  One or more metrics of equal order; weights at least 0.
 * @cost         n^2 per metric, n k with loadings.
 */
export function addMetrics(parts: readonly WeightedMetric[]): Metric {
  const { n } = parts[0]!.metric;
  const factoredParts = parts.flatMap(({ metric, weight }) => (metric.form === 'factor' ? [{ metric, weight }] : []));
  return factoredParts.length === parts.length ? sumFactors(factoredParts, n) : sumMatrices(parts, n);
}

function sumMatrices(parts: readonly WeightedMetric[], n: number): DenseMetric {
  const matrix = new Float64Array(n * n);
  for (const { metric, weight } of parts) {
    const values = createMetricMatrix(metric);
    for (let e = 0; e < matrix.length; e++) matrix[e]! += weight * values[e]!;
  }
  return { form: 'dense', n, matrix };
}

/** Parts with identical loadings are merged. */
function sumFactors(
  parts: readonly { readonly metric: FactorMetric; readonly weight: number }[],
  n: number,
): FactorMetric {
  const specific = new Float64Array(n);
  const shares = new Map<Float64Array, { factors: number; weight: number }>();
  for (const { metric, weight } of parts) {
    for (let i = 0; i < n; i++) specific[i]! += weight * metric.specific[i]!;
    const earlierShare = shares.get(metric.loadings);
    shares.set(metric.loadings, { factors: metric.factors, weight: weight + (earlierShare?.weight ?? 0) });
  }
  const factors = [...shares.values()].reduce((sum, share) => sum + share.factors, 0);
  const loadings = new Float64Array(n * factors);
  let from = 0;
  for (const [values, { factors: k, weight }] of shares) {
    const root = Math.sqrt(weight);
    for (let i = 0; i < n; i++)
      for (let f = 0; f < k; f++) loadings[i * factors + from + f] = root * values[i * k + f]!;
    from += k;
  }
  return { form: 'factor', n, factors, loadings, specific };
}

/**
 * Returns P + diag(diagonal).
 *
 * @param diagonal  [n], such that the sum stays positive semi-definite.
 * @cost            A copy of the matrix; with loadings only a copy of the specific variances.
 */
export function addDiagonal(metric: Metric, diagonal: Float64Array): Metric {
  if (metric.form === 'factor') return { ...metric, specific: metric.specific.map((value, i) => value + diagonal[i]!) };
  const { n } = metric;
  const matrix = metric.matrix.slice();
  for (let i = 0; i < n; i++) matrix[i * n + i]! += diagonal[i]!;
  return { form: 'dense', n, matrix };
}

/**
 * Returns P + vector vector'.
 *
 * @param vector  [n]
 * @cost          A copy of the matrix, or of the loadings.
 */
export function addOuterProduct(metric: Metric, vector: Float64Array): Metric {
  const { n } = metric;
  if (metric.form === 'factor') {
    const { factors: k, loadings } = metric;
    const wider = new Float64Array(n * (k + 1));
    for (let i = 0; i < n; i++) {
      wider.set(loadings.subarray(i * k, i * k + k), i * (k + 1));
      wider[i * (k + 1) + k] = vector[i]!;
    }
    return { ...metric, factors: k + 1, loadings: wider };
  }
  const matrix = metric.matrix.slice();
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) matrix[i * n + j]! += vector[i]! * vector[j]!;
  return { form: 'dense', n, matrix };
}

/** Returns the submatrix of some variables. @param keep indices, ascending @cost keep^2, or keep k with loadings */
export function selectMetric(metric: Metric, keep: Int32Array): Metric {
  const f = keep.length;
  if (metric.form === 'factor') {
    const { factors: k, loadings, specific } = metric;
    const rows = new Float64Array(f * k);
    for (let p = 0; p < f; p++) rows.set(loadings.subarray(keep[p]! * k, keep[p]! * k + k), p * k);
    return { form: 'factor', n: f, factors: k, loadings: rows, specific: Float64Array.from(keep, (i) => specific[i]!) };
  }
  const matrix = new Float64Array(f * f);
  for (let p = 0; p < f; p++) {
    const from = keep[p]! * metric.n;
    for (let q = 0; q < f; q++) matrix[p * f + q] = metric.matrix[from + keep[q]!]!;
  }
  return { form: 'dense', n: f, matrix };
}

/** Maximum fraction of nonzero variables. Below it, products with the other variables are skipped. */
const SPARSE_FRACTION_MAX = 0.25;

/** Computes x'P x. @cost n^2, less if x is mostly zero; 2 k per nonzero variable with loadings */
export function computeMetricSquare(metric: Metric, x: Float64Array): number {
  const positions = listMovedRows(x, 1);
  if (positions.length <= SPARSE_FRACTION_MAX * x.length)
    return metric.form === 'dense'
      ? computeDenseSquare(metric.matrix, x, positions)
      : computeFactorSquare(metric, x, positions);
  const product = new Float64Array(x.length);
  multiplyMetric(metric, x, product);
  let total = 0;
  for (let i = 0; i < x.length; i++) total += x[i]! * product[i]!;
  return total;
}

/** Computes x'P x from the nonzero variables only. */
function computeDenseSquare(matrix: Float64Array, x: Float64Array, positions: Int32Array): number {
  let total = 0;
  for (let p = 0; p < positions.length; p++) {
    const i = positions[p]!;
    const row = i * x.length;
    let force = 0;
    for (let q = 0; q < positions.length; q++) force += matrix[row + positions[q]!]! * x[positions[q]!]!;
    total += x[i]! * force;
  }
  return total;
}

function computeFactorSquare(
  { loadings, specific, factors: k }: FactorMetric,
  x: Float64Array,
  positions: Int32Array,
): number {
  const scores = computeFactorScores(loadings, k, x);
  let total = 0;
  for (let p = 0; p < positions.length; p++) {
    const i = positions[p]!;
    let force = specific[i]! * x[i]!;
    for (let f = 0, e = i * k; f < k; f++, e++) force += loadings[e]! * scores[f]!;
    total += x[i]! * force;
  }
  return total;
}

/** Returns the dense matrix, [n x n]. @cost n^2 k / 2 with loadings */
export function createMetricMatrix(metric: Metric): Float64Array {
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
