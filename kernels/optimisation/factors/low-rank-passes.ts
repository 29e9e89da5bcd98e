/** Panel of loadings, and the shape of the row-major right-hand sides that are multiplied by it. */
export interface LoadedRows {
  /** Loadings, [rows x factors]. */
  readonly loadings: Float64Array;
  readonly rows: number;
  readonly factors: number;
  /** Number of right-hand sides, stored by rows. */
  readonly columns: number;
}

/** Number of rows that are added in one pass over the sums. */
const ROWS_PER_PASS = 8;

/**
 * Computes sums += L' b with eight rows per pass over the sums. Each sum adds its terms in the order of the rows.
 * @param b     [rows x columns]
 * @param sums  [factors x columns], updated
 * @cost rows * factors * columns
 */
export function addLoaded(shape: LoadedRows, b: Float64Array, sums: Float64Array): void {
  const { loadings, rows, factors, columns } = shape;
  const wholeRows = rows - (rows % ROWS_PER_PASS);
  for (let c = 0; c < columns; c++) {
    for (let p = 0; p < wholeRows; p += ROWS_PER_PASS) addEight(shape, b, p * columns + c, p * factors, sums);
    for (let p = wholeRows; p < rows; p++) {
      const value = b[p * columns + c]!;
      for (let e = p * factors, f = 0; f < factors; f++, e++) sums[f * columns + c]! += loadings[e]! * value;
    }
  }
}

/**
 * Adds eight rows. @param from index of the first value; its column is that of the sums @param row start of its
 * loadings
 */
function addEight(
  { loadings: l, factors: k, columns }: LoadedRows,
  b: Float64Array,
  from: number,
  row: number,
  sums: Float64Array,
): void {
  const [s, t, u, v] = [b[from]!, b[from + columns]!, b[from + 2 * columns]!, b[from + 3 * columns]!];
  const next = from + 4 * columns;
  const [w, x, y, z] = [b[next]!, b[next + columns]!, b[next + 2 * columns]!, b[next + 3 * columns]!];
  const [k2, k3, k4, k5, k6, k7] = [2 * k, 3 * k, 4 * k, 5 * k, 6 * k, 7 * k];
  for (let e = row, position = from % columns; e < row + k; e++, position += columns) {
    const half = sums[position]! + l[e]! * s + l[e + k]! * t + l[e + k2]! * u + l[e + k3]! * v;
    sums[position] = half + l[e + k4]! * w + l[e + k5]! * x + l[e + k6]! * y + l[e + k7]! * z;
  }
}

/**
 * Computes b -= L x with four rows interleaved, so that each entry depends only on its own previous term. Terms are
 * added in the order of the factors.
 * @param x  [factors x columns]
 * @param b  [rows x columns], updated
 * @cost rows * factors * columns
 */
export function subtractLoaded(
  { loadings, rows, factors, columns }: LoadedRows,
  x: Float64Array,
  b: Float64Array,
): void {
  const wholeRows = rows & ~3;
  for (let c = 0; c < columns; c++) {
    for (let p = 0; p < wholeRows; p += 4) {
      const to = p * columns + c;
      let v = b[to]!;
      let w = b[to + columns]!;
      let y = b[to + 2 * columns]!;
      let z = b[to + 3 * columns]!;
      const end = (p + 1) * factors;
      for (let e = p * factors, position = c; e < end; e++, position += columns) {
        const value = x[position]!;
        v -= loadings[e]! * value;
        w -= loadings[e + factors]! * value;
        y -= loadings[e + 2 * factors]! * value;
        z -= loadings[e + 3 * factors]! * value;
      }
      b[to] = v;
      b[to + columns] = w;
      b[to + 2 * columns] = y;
      b[to + 3 * columns] = z;
    }
    for (let p = wholeRows; p < rows; p++) {
      const to = p * columns + c;
      let value = b[to]!;
      for (let e = p * factors, f = 0; f < factors; f++, e++) value -= loadings[e]! * x[f * columns + c]!;
      b[to] = value;
    }
  }
}

/** Multiplies each row of b, [rows x columns], by its factor. */
export function scaleRows(b: Float64Array, factors: Float64Array, rows: number, columns: number): void {
  for (let p = 0; p < rows; p++) {
    const factor = factors[p]!;
    for (let c = 0; c < columns; c++) b[p * columns + c]! *= factor;
  }
}
