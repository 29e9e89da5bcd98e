import { assert } from '../assert.js';
import { orientRow } from '../algebra/symmetric-eigen.js';
import type { Engine } from '../engines/engine.js';

/**
 * Minimum ratio of a variance to the largest variance. A component with a smaller variance is a rounding error, and its
 * vector is arbitrary.
 */
const NEGLIGIBLE_RATIO = 1e-14;

export interface PrincipalComponents {
  /** Largest eigenvalues of X'X, descending, [count]; 0 beyond the rank of the panel. */
  readonly values: Float64Array;
  /** Unit eigenvectors as rows with a positive largest entry, [count x columns]; zeros for an eigenvalue of 0. */
  readonly vectors: Float64Array;
}

/**
 * Computes the largest eigenpairs of X'X from the smaller of X'X and XX'.
 *
 * @param engine   Engine that multiplies and decomposes.
 * @param panel    [rows x columns] row-major; not changed.
 * @param columns  Number of columns of `panel`.
 * @param count    Number of eigenpairs, at most `columns`.
 * @returns        Eigenpairs in newly allocated memory.
 * @throws         KernelFault on a shape mismatch; Error if the panel is not finite.
 * @cost           An eigenproblem of order min(rows, columns) and, if rows are fewer, one product with the panel per
 *                 eigenpair.
 * @source         Jolliffe (2002), Principal Component Analysis, 2nd ed., section 3.5: X'X and XX' share their nonzero
 *                 eigenvalues.
 */
export function computePrincipalComponents(
  engine: Engine,
  panel: Float64Array,
  columns: number,
  count: number,
): PrincipalComponents {
  const rows = panel.length / columns;
  assert(columns >= 1 && Number.isInteger(rows), `panel: ${panel.length} values over ${columns} columns`);
  assert(count >= 0 && count <= columns, `count: ${count} of ${columns} columns`);
  const isByRows = rows < columns;
  const n = isByRows ? rows : columns;
  const result = { values: new Float64Array(count), vectors: new Float64Array(count * columns) };
  engine.scope(() => {
    const products = engine.allocate(n * n);
    if (isByRows) engine.gemm({ rows: n, inner: columns, columns: n, transposeB: true }, panel, panel, products);
    else engine.symmetricRankK(panel, columns, products);
    const componentCount = Math.min(count, n);
    const values = engine.allocate(componentCount);
    const vectors = engine.allocate(componentCount * n);
    if (!engine.largestEigen(products, n, values, vectors))
      throw new Error('the panel has entries that are not finite');
    const largest = Math.max(values[componentCount - 1] ?? 0, 0);
    for (let k = 0; k < componentCount; k++) {
      const from = componentCount - 1 - k;
      if (!(values[from]! > NEGLIGIBLE_RATIO * largest)) break;
      result.values[k] = values[from]!;
      const row = result.vectors.subarray(k * columns, (k + 1) * columns);
      if (isByRows) project(engine, panel, vectors.subarray(from * n, (from + 1) * n), row);
      else row.set(vectors.subarray(from * n, (from + 1) * n));
      orientRow(result.vectors, k * columns, columns);
    }
  });
  return result;
}

/** Writes v = X'u, scaled to length 1. */
function project(engine: Engine, panel: Float64Array, u: Float64Array, out: Float64Array): void {
  engine.gemvTransposed(panel, u, out);
  let norm2 = 0;
  for (let i = 0; i < out.length; i++) norm2 += out[i]! * out[i]!;
  const factor = 1 / Math.sqrt(norm2);
  for (let i = 0; i < out.length; i++) out[i]! *= factor;
}
