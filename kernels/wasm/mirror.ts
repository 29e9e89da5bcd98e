/** Squares of so many entries a side are copied at a time: both sides of one stay in the first-level cache. */
const SIDE: i32 = 32;

/** Copies the upper triangle of a row-major [n x n] matrix to the lower one. */
export function mirrorUpper(c: usize, n: i32): void {
  const ld = <usize>n << 3;
  for (let ib = 0; ib < n; ib += SIDE) {
    const rows = min(SIDE, n - ib);
    const corner = c + <usize>ib * (ld + 8);
    for (let i = 0; i < rows; i++) {
      for (let j = i + 1; j < rows; j++) copyEntry(corner, ld, i, j);
    }
    for (let jb = ib + SIDE; jb < n; jb += SIDE) {
      transposeInto(c + <usize>ib * ld + (<usize>jb << 3), c + <usize>jb * ld + (<usize>ib << 3), ld, min(SIDE, n - jb));
    }
  }
}

// @ts-ignore: decorator
@inline
function copyEntry(corner: usize, ld: usize, i: i32, j: i32): void {
  store<f64>(corner + <usize>j * ld + (<usize>i << 3), load<f64>(corner + <usize>i * ld + (<usize>j << 3)));
}

/** SIDE rows of `columns` entries become `columns` rows of SIDE entries, written along their rows. */
function transposeInto(from: usize, to: usize, ld: usize, columns: i32): void {
  const pairs = columns & ~1;
  for (let j = 0; j < pairs; j += 2) {
    let source = from + (<usize>j << 3);
    let target = to + <usize>j * ld;
    for (let i = 0; i < SIDE; i += 2) {
      const upper = v128.load(source);
      const lower = v128.load(source + ld);
      v128.store(target, v128.shuffle<f64>(upper, lower, 0, 2));
      v128.store(target + ld, v128.shuffle<f64>(upper, lower, 1, 3));
      source += ld << 1;
      target += 16;
    }
  }
  if (pairs < columns) {
    let source = from + (<usize>pairs << 3);
    let target = to + <usize>pairs * ld;
    for (let i = 0; i < SIDE; i++) {
      store<f64>(target, load<f64>(source));
      source += ld;
      target += 8;
    }
  }
}
