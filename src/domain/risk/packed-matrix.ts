/** Symmetric matrix stored as its upper triangle, row by row, in half the memory. */
export interface PackedMatrix {
  readonly order: number;
  /** Upper triangle, [order (order + 1) / 2]. */
  readonly upper: Float64Array;
}

/**
 * Packs the upper triangle of a matrix.
 * @param matrix [n x n] row-major, symmetric.
 */
export function packUpper(matrix: Float64Array, n: number): Float64Array<ArrayBuffer> {
  const upper = new Float64Array((n * (n + 1)) / 2);
  let position = 0;
  for (let i = 0; i < n; i++) {
    upper.set(matrix.subarray(i * n + i, (i + 1) * n), position);
    position += n - i;
  }
  return upper;
}

/**
 * Wraps a packed upper triangle.
 * @throws Error if the length does not match a triangle of the order
 */
export function openPackedMatrix(upper: Float64Array, order: number): PackedMatrix {
  if (upper.length !== (order * (order + 1)) / 2)
    throw new Error(`${upper.length} entries for a matrix of order ${order}`);
  return { order, upper };
}

/**
 * Writes row i of the full matrix.
 * @param out [order], overwritten
 */
export function unpackRow({ order, upper }: PackedMatrix, i: number, out: Float64Array): void {
  let position = i;
  for (let j = 0; j < i; j++) {
    out[j] = upper[position]!;
    position += order - 1 - j;
  }
  out.set(upper.subarray(position, position + order - i), i);
}

/** Returns the square roots of the matrix diagonal. */
export function computeVolatilities({ order, upper }: PackedMatrix): Float64Array {
  const volatilities = new Float64Array(order);
  for (let i = 0, position = 0; i < order; position += order - i, i++)
    volatilities[i] = Math.sqrt(Math.max(0, upper[position]!));
  return volatilities;
}

/**
 * Writes row i of the correlation matrix. The diagonal is exactly 1, a security without variance has 0, all other
 * entries are between -1 and 1.
 * @param out [order], overwritten
 */
export function computeCorrelationRow(
  matrix: PackedMatrix,
  volatilities: Float64Array,
  i: number,
  out: Float64Array,
): void {
  unpackRow(matrix, i, out);
  for (let j = 0; j < out.length; j++) {
    const product = volatilities[i]! * volatilities[j]!;
    out[j] = product > 0 ? Math.min(1, Math.max(-1, out[j]! / product)) : 0;
  }
  out[i] = 1;
}
