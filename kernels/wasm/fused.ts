// Multiply-add. The default module rounds it twice. The relaxed module rounds it once on processors with fused
// multiply-add.

/** c + a b */
// @ts-ignore: decorator
@inline
export function addProduct(c: v128, a: v128, b: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return f64x2.relaxed_madd(a, b, c);
  return f64x2.add(c, f64x2.mul(a, b));
}

/** c - a b */
// @ts-ignore: decorator
@inline
export function subtractProduct(c: v128, a: v128, b: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return f64x2.relaxed_nmadd(a, b, c);
  return f64x2.sub(c, f64x2.mul(a, b));
}
