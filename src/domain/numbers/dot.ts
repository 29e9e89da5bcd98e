/**
 * Computes the dot product, summed in ascending order.
 * @param a [n]
 * @param b [n]
 * @cost O(n)
 */
export function computeDotProduct(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
