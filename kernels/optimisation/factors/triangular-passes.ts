/** Order of a lower triangular factor, and the distance between its rows. */
export interface FactorShape {
  readonly n: number;
  readonly stride: number;
}

/**
 * b := L^-1 b. Two sums go side by side.
 * @param l rows of `stride` values, of which row i uses the first i + 1
 * @cost n^2 / 2
 */
export function forward(l: Float64Array, b: Float64Array, { n, stride }: FactorShape): void {
  for (let i = 0; i < n; i++) {
    const row = i * stride;
    let first = b[i]!;
    let second = 0;
    let j = 0;
    for (; j + 1 < i; j += 2) {
      first -= l[row + j]! * b[j]!;
      second -= l[row + j + 1]! * b[j + 1]!;
    }
    if (j < i) first -= l[row + j]! * b[j]!;
    b[i] = (first + second) / l[row + i]!;
  }
}

/** b := L'^-1 b. @param l as in `forward` @cost n^2 / 2 */
export function backward(l: Float64Array, b: Float64Array, { n, stride }: FactorShape): void {
  for (let i = n - 1; i >= 0; i--) {
    const row = i * stride;
    const value = b[i]! / l[row + i]!;
    b[i] = value;
    for (let j = 0; j < i; j++) b[j]! -= l[row + j]! * value;
  }
}
