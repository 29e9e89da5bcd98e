import { assert } from '../assert.js';
import { orientRow } from '../algebra/symmetric-eigen.js';
import type { Engine } from '../engines/engine.js';

/** Components whose variance is below this share of the largest are rounding errors, with arbitrary vectors. */
const NEGLIGIBLE = 1e-14;

export interface PrincipalComponents {
  /** Largest eigenvalues of X'X, descending, [count]; 0 if the panel has no more. */
  readonly values: Float64Array;
  /** Their unit eigenvectors as rows, largest entry positive, [count x columns]; zeros for a value of 0. */
  readonly vectors: Float64Array;
}

/**
 * Computes the largest eigenpairs of X'X, by the smaller of X'X and XX'.
 *
 * @param engine   Engine that multiplies and decomposes.
 * @param panel    [rows x columns] row-major; not changed.
 * @param columns  Columns of `panel`.
 * @param count    Eigenpairs wanted, at most `columns`.
 * @returns        The pairs, in their own memory.
 * @throws         KernelFault on a shape mismatch; Error if the panel is not finite.
 * @cost           An eigenproblem of order min(rows, columns) and, when rows are fewer, one product with the panel.
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
  const byRows = rows < columns;
  const n = byRows ? rows : columns;
  const result = { values: new Float64Array(count), vectors: new Float64Array(count * columns) };
  engine.scope(() => {
    const products = engine.allocate(n * n);
    if (byRows) engine.gemm({ rows: n, inner: columns, columns: n, transposeB: true }, panel, panel, products);
    else engine.symmetricRankK(panel, columns, products);
    const match = Math.min(count, n);
    const values = engine.allocate(match);
    const vectors = engine.allocate(match * n);
    if (!engine.largestEigen(products, n, values, vectors))
      throw new Error('the panel has entries that are not finite');
    const largest = Math.max(values[match - 1] ?? 0, 0);
    for (let k = 0; k < match; k++) {
      const from = match - 1 - k;
      if (!(values[from]! > NEGLIGIBLE * largest)) break;
      result.values[k] = values[from]!;
      const row = result.vectors.subarray(k * columns, (k + 1) * columns);
      if (byRows) project(engine, panel, vectors.subarray(from * n, (from + 1) * n), row);
      else row.set(vectors.subarray(from * n, (from + 1) * n));
      orientRow(result.vectors, k * columns, columns);
    }
  });
  return result;
}

/** v = X'u, scaled to length 1. */
function project(engine: Engine, panel: Float64Array, u: Float64Array, out: Float64Array): void {
  engine.gemvTransposed(panel, u, out);
  let norm2 = 0;
  for (let i = 0; i < out.length; i++) norm2 += out[i]! * out[i]!;
  const factor = 1 / Math.sqrt(norm2);
  for (let i = 0; i < out.length; i++) out[i]! *= factor;
}
