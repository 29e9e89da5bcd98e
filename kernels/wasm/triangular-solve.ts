import { subtractProduct } from './products';
import { gemm, gemmScratch } from './gemm';
import { isNative, nativeSolveLower, nativeSolveLowerTransposed } from './native';
import { computePanelBytes, countPanels } from './pack';
import { subtractTile } from './tile';
import { addScaled, dot } from './vectors';

/** Number of rows solved between two updates of the remaining rows. */
const WIDTH: i32 = 64;

/**
 * Returns the size of the scratch memory. The panels of a block follow the scratch of products, so that they have the
 * same offset from a cache line as the panels of products.
 */
export function triangularSolveScratch(): usize {
  return gemmScratch() + <usize>countPanels(WIDTH) * computePanelBytes(WIDTH) + computePanelBytes(WIDTH);
}

/** Solves L X = B in place; B is [n x columns] row-major. */
export function solveLower(l: usize, n: i32, b: usize, columns: i32, scratch: usize): void {
  if (columns == 1) return forward(l, n, b);
  if (isNative(0.5 * n * n * columns)) return nativeSolveLower(l, n, b, columns, scratch);
  const ld = <usize>n << 3;
  const row = <usize>columns << 3;
  for (let k = 0; k < n; k += WIDTH) {
    const width = min(WIDTH, n - k);
    if (k > 0) gemm(width, k, columns, l + <usize>k * ld, ld, 8, b, row, 8, b + <usize>k * row, row, -1, false, scratch);
    const corner = l + <usize>k * (ld + 8);
    solveBlock(corner, ld, 8, width, b + <usize>k * row, row, columns, scratch + gemmScratch());
  }
}

/** Solves L' X = B in place. */
export function solveLowerTransposed(l: usize, n: i32, b: usize, columns: i32, scratch: usize): void {
  if (columns == 1) return backward(l, n, b);
  if (isNative(0.5 * n * n * columns)) return nativeSolveLowerTransposed(l, n, b, columns, scratch);
  const ld = <usize>n << 3;
  const row = <usize>columns << 3;
  for (let k = ((n - 1) / WIDTH) * WIDTH; k >= 0; k -= WIDTH) {
    const width = min(WIDTH, n - k);
    const after = k + width;
    if (after < n) {
      const below = l + <usize>after * ld + (<usize>k << 3);
      gemm(width, n - after, columns, below, 8, ld, b + <usize>after * row, row, 8, b + <usize>k * row, row, -1, false, scratch);
    }
    // In reverse order, the transposed block is lower triangular, and so is its panel of right-hand sides.
    const corner = l + <usize>(after - 1) * (ld + 8);
    solveBlock(corner, -8, -ld, width, b + <usize>(after - 1) * row, -row, columns, scratch + gemmScratch());
  }
}

/** Solves a lower triangular block for all right-hand sides, four at a time; strides in bytes may be negative. */
function solveBlock(l: usize, lRow: usize, lColumn: usize, width: i32, b: usize, bRow: usize, columns: i32, scratch: usize): void {
  const panel = scratch + <usize>countPanels(WIDTH) * computePanelBytes(WIDTH);
  packLower(l, lRow, lColumn, width, scratch);
  for (let c = 0; c < columns; c += 4) {
    const lanes = min(4, columns - c);
    memory.fill(panel, 0, computePanelBytes(WIDTH));
    move(b + (<usize>c << 3), bRow, panel, 32, width, lanes);
    for (let i = 0; i < width; i += 4) {
      const rows = scratch + <usize>(i >> 2) * computePanelBytes(WIDTH);
      subtractTile(i, rows, panel, panel + computePanelBytes(i), 32);
      solveTile(rows + computePanelBytes(i), min(4, width - i), panel + computePanelBytes(i));
    }
    move(panel, 32, b + (<usize>c << 3), bRow, width, lanes);
  }
}

/** Packs the rows of the block in panels of four, with zeros right of the diagonal and an inverted diagonal. */
function packLower(l: usize, lRow: usize, lColumn: usize, width: i32, to: usize): void {
  for (let i = 0; i < countPanels(width) << 2; i++) {
    const panel = to + <usize>(i >> 2) * computePanelBytes(WIDTH) + (<usize>(i & 3) << 3);
    for (let k = 0; k < WIDTH; k++) {
      const isInside = i < width && k <= i;
      const value: f64 = isInside ? load<f64>(l + <usize>i * lRow + <usize>k * lColumn) : 0;
      store<f64>(panel + computePanelBytes(k), isInside && k == i ? 1 / value : value);
    }
  }
}

function solveTile(diagonal: usize, rows: i32, tileAddress: usize): void {
  for (let r = 0; r < rows; r++) {
    const row = tileAddress + (<usize>r << 5);
    let low = v128.load(row);
    let high = v128.load(row, 16);
    for (let k = 0; k < r; k++) {
      const factor = v128.load_splat<f64>(diagonal + (<usize>k << 5) + (<usize>r << 3));
      low = subtractProduct(low, factor, v128.load(tileAddress + (<usize>k << 5)));
      high = subtractProduct(high, factor, v128.load(tileAddress + (<usize>k << 5), 16));
    }
    const pivot = v128.load_splat<f64>(diagonal + <usize>r * 40);
    v128.store(row, f64x2.mul(low, pivot));
    v128.store(row, f64x2.mul(high, pivot), 16);
  }
}

function move(from: usize, fromRow: usize, to: usize, toRow: usize, rows: i32, lanes: i32): void {
  for (let i = 0; i < rows; i++) {
    for (let s = 0; s < lanes; s++) store<f64>(to + (<usize>s << 3), load<f64>(from + (<usize>s << 3)));
    from += fromRow;
    to += toRow;
  }
}

/** Solves one right-hand side forwards, by one dot product per row. */
function forward(l: usize, n: i32, b: usize): void {
  for (let i = 0; i < n; i++) {
    const row = l + (<usize>i * <usize>n << 3);
    const entry = b + (<usize>i << 3);
    store<f64>(entry, (load<f64>(entry) - dot(row, b, i)) / load<f64>(row + (<usize>i << 3)));
  }
}

/** Solves one right-hand side backwards. Each solved entry is subtracted from the earlier entries, along a row of L. */
function backward(l: usize, n: i32, b: usize): void {
  for (let i = n - 1; i >= 0; i--) {
    const row = l + (<usize>i * <usize>n << 3);
    const entry = b + (<usize>i << 3);
    const value = load<f64>(entry) / load<f64>(row + (<usize>i << 3));
    store<f64>(entry, value);
    addScaled(-value, row, b, i);
  }
}
