// Multiply-add with the product and the sum rounded separately.

/** c + a b */
// @ts-ignore: decorator
@inline
export function addProduct(c: v128, a: v128, b: v128): v128 {
  return f64x2.add(c, f64x2.mul(a, b));
}

/** c - a b */
// @ts-ignore: decorator
@inline
export function subtractProduct(c: v128, a: v128, b: v128): v128 {
  return f64x2.sub(c, f64x2.mul(a, b));
}
