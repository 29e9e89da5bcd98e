import type { Engine } from '../../engines/engine.js';

/** Engine operations for assembling a matrix from its eigenpairs. */
export type RebuildingEngine = Pick<Engine, 'precision' | 'symmetricRankK' | 'gemm'>;

/**
 * Builds a symmetric matrix from eigenvalues and eigenvectors.
 *
 * @param engine   Engine that multiplies; the product has float64 precision on every engine.
 * @param vectors  Eigenvectors as rows, [n x n]; overwritten.
 * @param values   Eigenvalues, [n], not negative.
 * @param out      [n x n] row-major, overwritten; exactly symmetric.
 * @returns        Nothing; the matrix is in `out`.
 * @throws         KernelFault on a shape mismatch.
 * @cost           n^3 / 2 multiply-adds.
 * @source         Definition: the sum of each eigenvalue times the outer product of its eigenvector.
 */
export function rebuild(
  engine: RebuildingEngine,
  vectors: Float64Array,
  values: Float64Array,
  out: Float64Array,
): void {
  const n = values.length;
  for (let k = 0; k < n; k++) {
    const factor = Math.sqrt(values[k]!);
    for (let i = k * n; i < (k + 1) * n; i++) vectors[i]! *= factor;
  }
  if (engine.precision === 'float64') engine.symmetricRankK(vectors, n, out);
  else engine.gemm({ rows: n, inner: n, columns: n, transposeA: true }, vectors, vectors, out);
}

/**
 * Replaces the eigenvalues of a symmetric matrix and keeps its eigenvectors.
 *
 * @param engine  Engine that solves and multiplies.
 * @param matrix  [n x n] row-major, symmetric; overwritten, exactly symmetric.
 * @param n       Order, at least 1.
 * @param change  Maps the ascending eigenvalues, [n], to the new ones, which must not be negative.
 * @returns       Nothing; the result is in `matrix`.
 * @throws        Error if the matrix is not finite.
 * @cost          An eigenproblem of order n, and n^3 / 2 multiply-adds.
 * @source        Definition; see `rebuild`.
 */
export function replaceEigenvalues(
  engine: RebuildingEngine & Pick<Engine, 'symmetricEigen' | 'allocate' | 'scope'>,
  matrix: Float64Array,
  n: number,
  change: (values: Float64Array) => Float64Array,
): void {
  engine.scope(() => {
    const values = engine.allocate(n);
    const vectors = engine.allocate(n * n);
    if (!engine.symmetricEigen(matrix, n, values, vectors))
      throw new Error('the covariance has entries that are not finite');
    rebuild(engine, vectors, change(values), matrix);
  });
}
