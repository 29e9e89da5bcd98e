/** A panel of loadings and what is multiplied with it, both by rows. */
export interface LoadedRows {
  /** [rows x factors] */
  readonly loadings: Float64Array;
  readonly rows: number;
  readonly factors: number;
  /** Of the right-hand sides, by rows as well. */
  readonly columns: number;
}

/**
 * sums += L' b: four rows in one pass over the sums, each of which has its terms in the order of the rows.
 * @param b     [rows x columns]
 * @param sums  [factors x columns], changed
 * @cost rows * factors * columns
 */
export function addLoaded({ loadings, rows, factors, columns }: LoadedRows, b: Float64Array, sums: Float64Array): void {
  const whole = rows & ~3;
  for (let c = 0; c < columns; c++) {
    for (let p = 0; p < whole; p += 4) {
      const from = p * columns + c;
      const v = b[from]!;
      const w = b[from + columns]!;
      const x = b[from + 2 * columns]!;
      const y = b[from + 3 * columns]!;
      const end = (p + 1) * factors;
      for (let e = p * factors, at = c; e < end; e++, at += columns)
        sums[at] =
          sums[at]! +
          loadings[e]! * v +
          loadings[e + factors]! * w +
          loadings[e + 2 * factors]! * x +
          loadings[e + 3 * factors]! * y;
    }
    for (let p = whole; p < rows; p++) {
      const value = b[p * columns + c]!;
      for (let e = p * factors, f = 0; f < factors; f++, e++) sums[f * columns + c]! += loadings[e]! * value;
    }
  }
}

/**
 * b -= L x: four rows side by side, whose entries wait for their own last term only; each has its terms in the order of
 * the factors.
 * @param x  [factors x columns]
 * @param b  [rows x columns], changed
 * @cost rows * factors * columns
 */
export function subtractLoaded(
  { loadings, rows, factors, columns }: LoadedRows,
  x: Float64Array,
  b: Float64Array,
): void {
  const whole = rows & ~3;
  for (let c = 0; c < columns; c++) {
    for (let p = 0; p < whole; p += 4) {
      const to = p * columns + c;
      let v = b[to]!;
      let w = b[to + columns]!;
      let y = b[to + 2 * columns]!;
      let z = b[to + 3 * columns]!;
      const end = (p + 1) * factors;
      for (let e = p * factors, at = c; e < end; e++, at += columns) {
        const value = x[at]!;
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
    for (let p = whole; p < rows; p++) {
      const to = p * columns + c;
      let value = b[to]!;
      for (let e = p * factors, f = 0; f < factors; f++, e++) value -= loadings[e]! * x[f * columns + c]!;
      b[to] = value;
    }
  }
}
