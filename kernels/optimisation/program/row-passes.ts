/** Range of rows of a matrix, row-major. */
export interface RowRange {
  readonly matrix: Float64Array;
  /** Length of a row. */
  readonly width: number;
  /** First row, and one past the last row. */
  readonly from: number;
  readonly to: number;
}

/**
 * Computes out[r] = row r'x, summed in the order of the columns. Four rows are processed at a time, so that the
 * processor does not wait for each addition.
 */
export function computeRowValues({ matrix, width, from, to }: RowRange, x: Float64Array, out: Float64Array): void {
  let r = from;
  for (; r + 3 < to; r += 4) {
    let position = r * width;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < width; i++, position++) {
      const value = x[i]!;
      a += matrix[position]! * value;
      b += matrix[position + width]! * value;
      c += matrix[position + 2 * width]! * value;
      d += matrix[position + 3 * width]! * value;
    }
    out[r] = a;
    out[r + 1] = b;
    out[r + 2] = c;
    out[r + 3] = d;
  }
  for (; r < to; r++) {
    let total = 0;
    for (let i = 0, position = r * width; i < width; i++, position++) total += matrix[position]! * x[i]!;
    out[r] = total;
  }
}

/** Computes out += sum of weights[r] row r, summed in the order of the rows; four rows per pass over `out`. */
export function addRows({ matrix, width, from, to }: RowRange, weights: Float64Array, out: Float64Array): void {
  let r = from;
  for (; r + 3 < to; r += 4) {
    const [a, b, c, d] = [weights[r]!, weights[r + 1]!, weights[r + 2]!, weights[r + 3]!];
    if (a === 0 && b === 0 && c === 0 && d === 0) continue;
    for (let i = 0, position = r * width; i < width; i++, position++)
      out[i] =
        out[i]! +
        a * matrix[position]! +
        b * matrix[position + width]! +
        c * matrix[position + 2 * width]! +
        d * matrix[position + 3 * width]!;
  }
  for (; r < to; r++) {
    const weight = weights[r]!;
    if (weight !== 0)
      for (let i = 0, position = r * width; i < width; i++, position++) out[i]! += weight * matrix[position]!;
  }
}
