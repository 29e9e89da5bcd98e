import { addProduct } from './products';
import { widePanelBytes } from './wide-panel';

/**
 * Computes c = from + a b for a tile of 3 x 6 over k summands. Each entry adds the summands in order, so a sum that is
 * split at any point is bit-identical.
 *
 * `b` is a packed panel [k][6], `a` the first of three columns of another panel; `from` has rows `step` bytes apart,
 * `c` rows `ldc` apart. Nine accumulators of two lanes, six loads per summand: two loads for three multiplications,
 * whereas a tile of 4 x 4 needs three for four and takes 3 % longer per entry on Node 20. The exit after each row is
 * deliberate: V8 moves all loads of a branch-free section to its top and then spills accumulators, which takes three
 * times as long. The exits are never taken, because no panel is at such low addresses. Summands beyond the last full
 * turn of four have a separate loop: exits that are taken between the four would each compute an address first. Inlined
 * rather than called, which takes 1 % less time.
 */
// @ts-ignore: decorator
@inline
export function wideTile(k: i32, a: usize, b: usize, from: usize, step: usize, c: usize, ldc: usize): void {
  let c00 = v128.load(from);
  let c01 = v128.load(from, 16);
  let c02 = v128.load(from, 32);
  from += step;
  let c10 = v128.load(from);
  let c11 = v128.load(from, 16);
  let c12 = v128.load(from, 32);
  from += step;
  let c20 = v128.load(from);
  let c21 = v128.load(from, 16);
  let c22 = v128.load(from, 32);
  let b0: v128;
  let b1: v128;
  let b2: v128;
  let t: v128;
  const turns = b + widePanelBytes(k & ~3);
  const end = b + widePanelBytes(k);
  while (b < turns) {
    b0 = v128.load(b);
    b1 = v128.load(b, 16);
    b2 = v128.load(b, 32);
    t = v128.load_splat<f64>(a);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    c02 = addProduct(c02, t, b2);
    if (a == 1) break;
    t = v128.load_splat<f64>(a, 8);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    c12 = addProduct(c12, t, b2);
    if (a == 2) break;
    t = v128.load_splat<f64>(a, 16);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    c22 = addProduct(c22, t, b2);
    if (a == 3) break;
    b0 = v128.load(b, 48);
    b1 = v128.load(b, 64);
    b2 = v128.load(b, 80);
    t = v128.load_splat<f64>(a, 48);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    c02 = addProduct(c02, t, b2);
    if (a == 4) break;
    t = v128.load_splat<f64>(a, 56);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    c12 = addProduct(c12, t, b2);
    if (a == 5) break;
    t = v128.load_splat<f64>(a, 64);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    c22 = addProduct(c22, t, b2);
    if (a == 6) break;
    b0 = v128.load(b, 96);
    b1 = v128.load(b, 112);
    b2 = v128.load(b, 128);
    t = v128.load_splat<f64>(a, 96);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    c02 = addProduct(c02, t, b2);
    if (a == 7) break;
    t = v128.load_splat<f64>(a, 104);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    c12 = addProduct(c12, t, b2);
    if (a == 8) break;
    t = v128.load_splat<f64>(a, 112);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    c22 = addProduct(c22, t, b2);
    if (a == 9) break;
    b0 = v128.load(b, 144);
    b1 = v128.load(b, 160);
    b2 = v128.load(b, 176);
    t = v128.load_splat<f64>(a, 144);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    c02 = addProduct(c02, t, b2);
    if (a == 10) break;
    t = v128.load_splat<f64>(a, 152);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    c12 = addProduct(c12, t, b2);
    if (a == 11) break;
    t = v128.load_splat<f64>(a, 160);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    c22 = addProduct(c22, t, b2);
    a += 192;
    b += 192;
  }
  while (b < end) {
    b0 = v128.load(b);
    b1 = v128.load(b, 16);
    b2 = v128.load(b, 32);
    t = v128.load_splat<f64>(a);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    c02 = addProduct(c02, t, b2);
    if (a == 1) break;
    t = v128.load_splat<f64>(a, 8);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    c12 = addProduct(c12, t, b2);
    if (a == 2) break;
    t = v128.load_splat<f64>(a, 16);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    c22 = addProduct(c22, t, b2);
    a += 48;
    b += 48;
  }
  v128.store(c, c00);
  v128.store(c, c01, 16);
  v128.store(c, c02, 32);
  c += ldc;
  v128.store(c, c10);
  v128.store(c, c11, 16);
  v128.store(c, c12, 32);
  c += ldc;
  v128.store(c, c20);
  v128.store(c, c21, 16);
  v128.store(c, c22, 32);
}

/** Computes `wideTile` for a tile of 3 x 4, as a call, on four adjacent columns of a packed panel. */
export function narrowTile(k: i32, a: usize, b: usize, from: usize, step: usize, c: usize, ldc: usize): void {
  let c00 = v128.load(from);
  let c01 = v128.load(from, 16);
  from += step;
  let c10 = v128.load(from);
  let c11 = v128.load(from, 16);
  from += step;
  let c20 = v128.load(from);
  let c21 = v128.load(from, 16);
  let b0: v128;
  let b1: v128;
  let t: v128;
  const end = a + widePanelBytes(k);
  const beforeLast = end - 48;
  while (true) {
    if (a >= end) break;
    b0 = v128.load(b);
    b1 = v128.load(b, 16);
    t = v128.load_splat<f64>(a);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    t = v128.load_splat<f64>(a, 8);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    t = v128.load_splat<f64>(a, 16);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    if (a >= beforeLast) break;
    b0 = v128.load(b, 48);
    b1 = v128.load(b, 64);
    t = v128.load_splat<f64>(a, 48);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    t = v128.load_splat<f64>(a, 56);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    t = v128.load_splat<f64>(a, 64);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    a += 96;
    b += 96;
  }
  v128.store(c, c00);
  v128.store(c, c01, 16);
  c += ldc;
  v128.store(c, c10);
  v128.store(c, c11, 16);
  c += ldc;
  v128.store(c, c20);
  v128.store(c, c21, 16);
}
