import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';

/** Engine operations for a repair. */
type RepairEngine = Pick<Engine, 'precision' | 'allocate' | 'scope' | 'symmetricEigen' | 'symmetricRankK' | 'gemm'>;

/**
 * Makes a symmetric matrix positive semi-definite by setting its negative eigenvalues to 0, and restores its diagonal
 * by scaling rows and columns.
 *
 * @param engine      Engine that decomposes and multiplies.
 * @param covariance  [assets x assets] row-major, symmetric, diagonal not negative; overwritten.
 * @param assets      Order.
 * @returns           Nothing; the repaired matrix is in `covariance`, with a bit-identical diagonal.
 * @throws            KernelFault on a shape mismatch; Error if an entry is not finite.
 * @cost              All eigenpairs and assets^3 / 2 multiply-adds; scratch of two matrices.
 * @source            Higham (2002), IMA J. Numerical Analysis 22(3), 329-343, one projection; rescaling as in Rebonato
 *                    & Jaeckel (2000), J. Risk 2(2).
 */
export function repairCovariance(engine: RepairEngine, covariance: Float64Array, assets: number): void {
  assert(covariance.length === assets * assets, `covariance: ${covariance.length} values for ${assets} assets`);
  const diagonal = Float64Array.from({ length: assets }, (_, i) => covariance[i * (assets + 1)]!);
  engine.scope(() => {
    const values = engine.allocate(assets);
    const vectors = engine.allocate(assets * assets);
    if (!engine.symmetricEigen(covariance, assets, values, vectors))
      throw new Error('the covariance has entries that are not finite');
    for (let k = 0; k < assets; k++) scaleRow(vectors, k * assets, assets, Math.sqrt(Math.max(values[k]!, 0)));
    // A product in float32 would not be precise enough for the repair; `gemm` uses float64 on every engine.
    if (engine.precision === 'float64') engine.symmetricRankK(vectors, assets, covariance);
    else engine.gemm({ rows: assets, inner: assets, columns: assets, transposeA: true }, vectors, vectors, covariance);
  });
  restoreDiagonal(covariance, diagonal);
}

function scaleRow(vectors: Float64Array, row: number, n: number, factor: number): void {
  for (let i = row; i < row + n; i++) vectors[i]! *= factor;
}

/**
 * Restores the diagonal by scaling rows and columns. A security whose variance became 0 keeps its diagonal entry and
 * loses its covariances.
 */
function restoreDiagonal(covariance: Float64Array, diagonal: Float64Array): void {
  const n = diagonal.length;
  const factors = diagonal.map((variance, i) => {
    const clippedVariance = covariance[i * (n + 1)]!;
    return clippedVariance > 0 ? Math.sqrt(variance / clippedVariance) : 0;
  });
  for (let i = 0; i < n; i++) {
    covariance[i * (n + 1)] = diagonal[i]!;
    for (let j = i + 1; j < n; j++) {
      const value = covariance[i * n + j]! * (factors[i]! * factors[j]!);
      covariance[i * n + j] = value;
      covariance[j * n + i] = value;
    }
  }
}
