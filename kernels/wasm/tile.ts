// Tiles of 4 x 4, of which every product, update and solve consists, except X'X (see `wide-tile`).

import { addProduct, subtractProduct } from './products';

/**
 * Computes c += a b for a tile of 4 x 4 over k summands. Each entry starts at its value in `c` and adds the summands in
 * order, so that a sum that is split at any point is bit-identical. `a` is a spread panel [k][4][2], `b` is a packed
 * panel [k][4], and the rows of `c` are `ldc` bytes apart. The tile uses eight accumulators of two lanes and six loads
 * per summand. On spread panels, no load needs a separate address, and decoding keeps up with the arithmetic
 * (broadcasting loads are 4 % slower on Node 20). The exits between the four summands of a turn are deliberate: without
 * a branch, V8 moves all loads to the top and stores accumulators in memory, which takes 40 % more time. The function
 * is inlined, because factorisations then take 3 % less time.
 */
// @ts-ignore: decorator
@inline
export function tile(k: i32, a: usize, b: usize, c: usize, ldc: usize): void {
  const second = c + ldc;
  const third = second + ldc;
  const fourth = third + ldc;
  let c00 = v128.load(c);
  let c01 = v128.load(c, 16);
  let c10 = v128.load(second);
  let c11 = v128.load(second, 16);
  let c20 = v128.load(third);
  let c21 = v128.load(third, 16);
  let c30 = v128.load(fourth);
  let c31 = v128.load(fourth, 16);
  let b0: v128;
  let b1: v128;
  let t: v128;
  const end = b + (<usize>k << 5);
  const beforeLast = end - 32;
  const beforeTwo = end - 64;
  const beforeThree = end - 96;
  while (true) {
    if (b >= end) break;
    b0 = v128.load(b);
    b1 = v128.load(b, 16);
    t = v128.load(a);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    t = v128.load(a, 16);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    t = v128.load(a, 32);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    t = v128.load(a, 48);
    c30 = addProduct(c30, t, b0);
    c31 = addProduct(c31, t, b1);
    if (b >= beforeLast) break;
    b0 = v128.load(b, 32);
    b1 = v128.load(b, 48);
    t = v128.load(a, 64);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    t = v128.load(a, 80);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    t = v128.load(a, 96);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    t = v128.load(a, 112);
    c30 = addProduct(c30, t, b0);
    c31 = addProduct(c31, t, b1);
    if (b >= beforeTwo) break;
    b0 = v128.load(b, 64);
    b1 = v128.load(b, 80);
    t = v128.load(a, 128);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    t = v128.load(a, 144);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    t = v128.load(a, 160);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    t = v128.load(a, 176);
    c30 = addProduct(c30, t, b0);
    c31 = addProduct(c31, t, b1);
    if (b >= beforeThree) break;
    b0 = v128.load(b, 96);
    b1 = v128.load(b, 112);
    t = v128.load(a, 192);
    c00 = addProduct(c00, t, b0);
    c01 = addProduct(c01, t, b1);
    t = v128.load(a, 208);
    c10 = addProduct(c10, t, b0);
    c11 = addProduct(c11, t, b1);
    t = v128.load(a, 224);
    c20 = addProduct(c20, t, b0);
    c21 = addProduct(c21, t, b1);
    t = v128.load(a, 240);
    c30 = addProduct(c30, t, b0);
    c31 = addProduct(c31, t, b1);
    a += 256;
    b += 128;
  }
  storeRow(c, c00, c01);
  storeRow(second, c10, c11);
  storeRow(third, c20, c21);
  storeRow(fourth, c30, c31);
}

// @ts-ignore: decorator
@inline
function storeRow(c: usize, left: v128, right: v128): void {
  v128.store(c, left);
  v128.store(c, right, 16);
}

/** Returns the size of a spread panel of k summands in bytes. */
// @ts-ignore: decorator
@inline
export function spreadBytes(k: i32): usize {
  return <usize>k << 6;
}

/** Writes the left operand of tiles, [k][4][2]: a packed panel [k][4] times `sign`, with each entry in both lanes. */
export function spread(k: i32, panel: usize, sign: f64, to: usize): void {
  const s = f64x2.splat(sign);
  for (const end = to + spreadBytes(k); to < end; to += 64) {
    v128.store(to, f64x2.mul(s, v128.load_splat<f64>(panel)));
    v128.store(to, f64x2.mul(s, v128.load_splat<f64>(panel, 8)), 16);
    v128.store(to, f64x2.mul(s, v128.load_splat<f64>(panel, 16)), 32);
    v128.store(to, f64x2.mul(s, v128.load_splat<f64>(panel, 24)), 48);
    panel += 32;
  }
}

/** Scratch bytes of a tile over an edge. */
export const EDGE_BYTES: usize = 128;

/**
 * Computes `tile` if only part of `c` exists. The part has `rows` x `columns` entries; of row i, it has the columns
 * from i + shift on (a shift of -4 has no effect). `edge` is scratch.
 */
export function tileEdge(k: i32, a: usize, b: usize, c: usize, ldc: usize, rows: i32, columns: i32, shift: i32, edge: usize): void {
  memory.fill(edge, 0, EDGE_BYTES);
  for (let i = 0; i < rows; i++) {
    for (let j = max(0, i + shift); j < columns; j++) store<f64>(edge + (<usize>(i * 4 + j) << 3), load<f64>(c + <usize>i * ldc + (<usize>j << 3)));
  }
  tile(k, a, b, edge, 32);
  for (let i = 0; i < rows; i++) {
    for (let j = max(0, i + shift); j < columns; j++) store<f64>(c + <usize>i * ldc + (<usize>j << 3), load<f64>(edge + (<usize>(i * 4 + j) << 3)));
  }
}

/**
 * Computes c -= a b for two packed panels [k][4]. Used within a block of a factorisation, where few tiles share the
 * left panel.
 */
// @ts-ignore: decorator
@inline
export function subtractTile(k: i32, a: usize, b: usize, c: usize, ldc: usize): void {
  const second = c + ldc;
  const third = second + ldc;
  const fourth = third + ldc;
  let c00 = v128.load(c);
  let c01 = v128.load(c, 16);
  let c10 = v128.load(second);
  let c11 = v128.load(second, 16);
  let c20 = v128.load(third);
  let c21 = v128.load(third, 16);
  let c30 = v128.load(fourth);
  let c31 = v128.load(fourth, 16);
  let b0: v128;
  let b1: v128;
  let t: v128;
  const end = a + (<usize>k << 5);
  while (true) {
    if (a >= end) break;
    b0 = v128.load(b);
    b1 = v128.load(b, 16);
    t = v128.load_splat<f64>(a);
    c00 = subtractProduct(c00, t, b0);
    c01 = subtractProduct(c01, t, b1);
    t = v128.load_splat<f64>(a, 8);
    c10 = subtractProduct(c10, t, b0);
    c11 = subtractProduct(c11, t, b1);
    t = v128.load_splat<f64>(a, 16);
    c20 = subtractProduct(c20, t, b0);
    c21 = subtractProduct(c21, t, b1);
    t = v128.load_splat<f64>(a, 24);
    c30 = subtractProduct(c30, t, b0);
    c31 = subtractProduct(c31, t, b1);
    if (a + 32 >= end) break;
    b0 = v128.load(b, 32);
    b1 = v128.load(b, 48);
    t = v128.load_splat<f64>(a, 32);
    c00 = subtractProduct(c00, t, b0);
    c01 = subtractProduct(c01, t, b1);
    t = v128.load_splat<f64>(a, 40);
    c10 = subtractProduct(c10, t, b0);
    c11 = subtractProduct(c11, t, b1);
    t = v128.load_splat<f64>(a, 48);
    c20 = subtractProduct(c20, t, b0);
    c21 = subtractProduct(c21, t, b1);
    t = v128.load_splat<f64>(a, 56);
    c30 = subtractProduct(c30, t, b0);
    c31 = subtractProduct(c31, t, b1);
    a += 64;
    b += 64;
  }
  storeRow(c, c00, c01);
  storeRow(second, c10, c11);
  storeRow(third, c20, c21);
  storeRow(fourth, c30, c31);
}
