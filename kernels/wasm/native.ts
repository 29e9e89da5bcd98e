// Native kernels of the host, if they are available. They compute the same sums in the same order on wider vectors, and
// are used for larger work.

// @ts-ignore: decorator
@external("native", "product")
export declare function nativeProduct(
  m: i32, k: i32, n: i32, a: usize, aRow: usize, aInner: usize, b: usize, bInner: usize, bColumn: usize, c: usize, ldc: usize,
  sign: f64, upper: bool, scratch: usize,
): void;
// @ts-ignore: decorator
@external("native", "symmetricRankK")
export declare function nativeSymmetricRankK(x: usize, rows: i32, columns: i32, c: usize, panels: usize): void;
// @ts-ignore: decorator
@external("native", "packSlab")
export declare function nativePackSlab(x: usize, rows: i32, columns: i32, slab: i32, panels: usize): void;
// @ts-ignore: decorator
@external("native", "addSlabGroup")
export declare function nativeAddSlabGroup(rows: i32, columns: i32, c: usize, slab: i32, group: i32, panels: usize): void;
// @ts-ignore: decorator
@external("native", "cholesky")
export declare function nativeCholesky(a: usize, n: i32, scratch: usize): i32;
// @ts-ignore: decorator
@external("native", "solveLower")
export declare function nativeSolveLower(l: usize, n: i32, b: usize, columns: i32, scratch: usize): void;
// @ts-ignore: decorator
@external("native", "solveLowerTransposed")
export declare function nativeSolveLowerTransposed(l: usize, n: i32, b: usize, columns: i32, scratch: usize): void;

// @ts-ignore: decorator
@external("native", "symvRows")
export declare function nativeSymvRows(a: usize, n: i32, ld: usize, x: usize, out: usize, first: i32, last: i32): void;

let nativeMinimum: f64 = Infinity;
let scratchBytes: usize = 0;

/**
 * Enables native kernels for work of at least this number of multiply-adds. `scratch` is the number of bytes of
 * workspace that their products need.
 */
export function useNative(multiplyAdds: f64, scratch: usize): void {
  nativeMinimum = multiplyAdds;
  scratchBytes = scratch;
}

/** Returns true if native kernels are used for work of this number of multiply-adds. */
// @ts-ignore: decorator
@inline
export function isNative(multiplyAdds: f64): bool {
  return multiplyAdds >= nativeMinimum;
}

/** Returns the minimum number of bytes of scratch memory of a product. */
// @ts-ignore: decorator
@inline
export function nativeScratch(): usize {
  return scratchBytes;
}
