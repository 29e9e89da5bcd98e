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
 * Computes out[r] = row r'x, summed in the order of the columns. Four rows are processed at a time to hide the latency
 * of each sum.
 */
export function computeRowValues({ matrix, width, from, to }: RowRange, x: Float64Array, out: Float64Array): void {
  let r = from;
  for (; r + 3 < to; r += 4) {
    let at = r * width;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < width; i++, at++) {
      const value = x[i]!;
      a += matrix[at]! * value;
      b += matrix[at + width]! * value;
      c += matrix[at + 2 * width]! * value;
      d += matrix[at + 3 * width]! * value;
    }
    out[r] = a;
    out[r + 1] = b;
    out[r + 2] = c;
    out[r + 3] = d;
  }
  for (; r < to; r++) {
    let total = 0;
    for (let i = 0, at = r * width; i < width; i++, at++) total += matrix[at]! * x[i]!;
    out[r] = total;
  }
}

/** Computes out += sum of weights[r] row r, summed in the order of the rows; four rows per pass over `out`. */
export function addRows({ matrix, width, from, to }: RowRange, weights: Float64Array, out: Float64Array): void {
  let r = from;
  for (; r + 3 < to; r += 4) {
    const [a, b, c, d] = [weights[r]!, weights[r + 1]!, weights[r + 2]!, weights[r + 3]!];
    if (a === 0 && b === 0 && c === 0 && d === 0) continue;
    for (let i = 0, at = r * width; i < width; i++, at++)
      out[i] =
        out[i]! + a * matrix[at]! + b * matrix[at + width]! + c * matrix[at + 2 * width]! + d * matrix[at + 3 * width]!;
  }
  for (; r < to; r++) {
    const weight = weights[r]!;
    if (weight !== 0) for (let i = 0, at = r * width; i < width; i++, at++) out[i]! += weight * matrix[at]!;
  }
}
