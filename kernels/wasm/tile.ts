// The one place where multiplications happen: every product, update and solve below is tiles of 4 x 4.

/**
 * c += sign * a b for a tile of 4 x 4 over k summands.
 *
 * `a` and `b` are packed panels [k][4]; `c` has rows `ldc` bytes apart. Eight accumulators of two lanes, one pair of loads
 * and four broadcasts a summand. The exit in the middle of the loop is deliberate: without a branch between the two halves
 * V8 hoists all loads to the top and spills accumulators, which costs 40 % (measured on Node 20).
 */
export function tile(k: i32, a: usize, b: usize, c: usize, ldc: usize, sign: f64): void {
  let c00 = f64x2.splat(0);
  let c01 = f64x2.splat(0);
  let c10 = f64x2.splat(0);
  let c11 = f64x2.splat(0);
  let c20 = f64x2.splat(0);
  let c21 = f64x2.splat(0);
  let c30 = f64x2.splat(0);
  let c31 = f64x2.splat(0);
  let b0: v128;
  let b1: v128;
  let t: v128;
  const end = a + (<usize>k << 5);
  while (true) {
    if (a >= end) break;
    b0 = v128.load(b);
    b1 = v128.load(b, 16);
    t = v128.load_splat<f64>(a);
    c00 = f64x2.add(c00, f64x2.mul(t, b0));
    c01 = f64x2.add(c01, f64x2.mul(t, b1));
    t = v128.load_splat<f64>(a, 8);
    c10 = f64x2.add(c10, f64x2.mul(t, b0));
    c11 = f64x2.add(c11, f64x2.mul(t, b1));
    t = v128.load_splat<f64>(a, 16);
    c20 = f64x2.add(c20, f64x2.mul(t, b0));
    c21 = f64x2.add(c21, f64x2.mul(t, b1));
    t = v128.load_splat<f64>(a, 24);
    c30 = f64x2.add(c30, f64x2.mul(t, b0));
    c31 = f64x2.add(c31, f64x2.mul(t, b1));
    if (a + 32 >= end) break;
    b0 = v128.load(b, 32);
    b1 = v128.load(b, 48);
    t = v128.load_splat<f64>(a, 32);
    c00 = f64x2.add(c00, f64x2.mul(t, b0));
    c01 = f64x2.add(c01, f64x2.mul(t, b1));
    t = v128.load_splat<f64>(a, 40);
    c10 = f64x2.add(c10, f64x2.mul(t, b0));
    c11 = f64x2.add(c11, f64x2.mul(t, b1));
    t = v128.load_splat<f64>(a, 48);
    c20 = f64x2.add(c20, f64x2.mul(t, b0));
    c21 = f64x2.add(c21, f64x2.mul(t, b1));
    t = v128.load_splat<f64>(a, 56);
    c30 = f64x2.add(c30, f64x2.mul(t, b0));
    c31 = f64x2.add(c31, f64x2.mul(t, b1));
    a += 64;
    b += 64;
  }
  const s = f64x2.splat(sign);
  addRow(c, s, c00, c01);
  addRow(c + ldc, s, c10, c11);
  addRow(c + 2 * ldc, s, c20, c21);
  addRow(c + 3 * ldc, s, c30, c31);
}

// @ts-ignore: decorator
@inline
function addRow(c: usize, s: v128, left: v128, right: v128): void {
  v128.store(c, f64x2.add(v128.load(c), f64x2.mul(s, left)));
  v128.store(c, f64x2.add(v128.load(c, 16), f64x2.mul(s, right)), 16);
}

/** The same for a tile that hangs over the edge: only `rows` x `columns` of `c` are touched. `edge` is 128 bytes of scratch. */
export function tileEdge(k: i32, a: usize, b: usize, c: usize, ldc: usize, sign: f64, rows: i32, columns: i32, edge: usize): void {
  memory.fill(edge, 0, 128);
  tile(k, a, b, edge, 32, sign);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const at = c + <usize>i * ldc + (<usize>j << 3);
      store<f64>(at, load<f64>(at) + load<f64>(edge + (<usize>(i * 4 + j) << 3)));
    }
  }
}

/** The same for a tile on the diagonal: of row i only the columns from i + shift on are touched. */
export function tileUpper(k: i32, a: usize, b: usize, c: usize, ldc: usize, sign: f64, rows: i32, columns: i32, shift: i32, edge: usize): void {
  memory.fill(edge, 0, 128);
  tile(k, a, b, edge, 32, sign);
  for (let i = 0; i < rows; i++) {
    for (let j = max(0, i + shift); j < columns; j++) {
      const at = c + <usize>i * ldc + (<usize>j << 3);
      store<f64>(at, load<f64>(at) + load<f64>(edge + (<usize>(i * 4 + j) << 3)));
    }
  }
}
