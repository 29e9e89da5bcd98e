/** Number of terms added sequentially at the leaves of the tree. */
const LEAF: i32 = 128;

/** Computes a sum by pairwise halving, in an order that depends only on the length. */
export function pairwiseSum(values: usize, n: i32): f64 {
  if (n > LEAF) {
    const left = LEAF * ((n + 2 * LEAF - 1) / (2 * LEAF));
    return pairwiseSum(values, left) + pairwiseSum(values + (<usize>left << 3), n - left);
  }
  let s0 = f64x2.splat(0);
  let s1 = f64x2.splat(0);
  let i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 = f64x2.add(s0, v128.load(values));
    s1 = f64x2.add(s1, v128.load(values, 16));
    values += 32;
  }
  s0 = f64x2.add(s0, s1);
  let total = f64x2.extract_lane(s0, 0) + f64x2.extract_lane(s0, 1);
  for (; i < n; i++) {
    total += load<f64>(values);
    values += 8;
  }
  return total;
}
