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

/** Order of a lower triangular factor without room between its rows, and the place of the first entry that is not zero. */
export interface PartialShape {
  readonly n: number;
  readonly from: number;
}

/** The same of `forward` for four columns side by side, zero before `from`. @cost 2 (n - from)^2 */
export function forwardFour(
  l: Float64Array,
  [a, b, c, d]: readonly [Float64Array, Float64Array, Float64Array, Float64Array],
  { n, from }: PartialShape,
): void {
  for (let i = from; i < n; i++) {
    const row = i * n;
    let [ra, rb, rc, rd] = [a[i]!, b[i]!, c[i]!, d[i]!];
    for (let j = from; j < i; j++) {
      const value = l[row + j]!;
      ra -= value * a[j]!;
      rb -= value * b[j]!;
      rc -= value * c[j]!;
      rd -= value * d[j]!;
    }
    const pivot = l[row + i]!;
    a[i] = ra / pivot;
    b[i] = rb / pivot;
    c[i] = rc / pivot;
    d[i] = rd / pivot;
  }
}
