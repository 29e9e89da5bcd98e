import { subtractProduct } from './products';
import { isNative, nativeCholesky } from './native';
import { pack, computePanelBytes, countPanels } from './pack';
import { PANEL_SKEW } from './panel-skew';
import { EDGE_BYTES, spread, spreadBytes, subtractTile, tile } from './tile';

/** Number of columns factored between two updates of the columns to their right. */
const WIDTH: i32 = 128;

/** Workspace of the native kernel in addition to the rows: a square block, a panel of eight rows and a cache line. */
const NATIVE_ROOM: usize = (<usize>(WIDTH + 8) * WIDTH << 3) + 64;

/**
 * Minimum work of a native factorisation as a multiple of the minimum work of a native product. The latency of square
 * roots dominates smaller factorisations.
 */
const NATIVE_PRODUCTS: f64 = 16;

/** Size of the inverted pivots of one tile, on a separate cache line. */
const PIVOT_BYTES: usize = 128;

export function choleskyScratch(n: i32): usize {
  const blockedBytes = EDGE_BYTES + PIVOT_BYTES + PANEL_SKEW + spreadBytes(WIDTH) + <usize>countPanels(n) * computePanelBytes(WIDTH);
  return max(blockedBytes, NATIVE_ROOM + <usize>n * (<usize>WIDTH << 3));
}

/**
 * Factors a = L L' in the lower triangle, row-major. Returns n, or the first column whose pivot is not positive. Blocks
 * of 128 columns are factored from left to right, and each block updates the columns to its right. Inside a block,
 * tiles use panels that are packed once; the same panels then serve the update. A panel contains four interleaved rows
 * of L, so that a tile of four of its columns is a contiguous 4 x 4 block, column by column.
 */
export function cholesky(a: usize, n: i32, scratch: usize): i32 {
  if (isNative(<f64>n * n * n / (6 * NATIVE_PRODUCTS))) return nativeCholesky(a, n, scratch);
  const pivots = scratch + EDGE_BYTES;
  const left = pivots + PIVOT_BYTES + PANEL_SKEW;
  const packed = left + spreadBytes(WIDTH);
  const ld = <usize>n << 3;
  for (let k = 0; k < n; k += WIDTH) {
    const width = min(WIDTH, n - k);
    const corner = a + <usize>k * (ld + 8);
    pack(corner, ld, 8, n - k, width, packed);
    const failed = factorBlock(width, packed, pivots);
    if (failed < width) return k + failed;
    solveRows(width, n - k, packed, pivots);
    unpack(corner, ld, n - k, width, packed);
    updateTrailing(corner, ld, width, n - k, packed, left, scratch);
  }
  return n;
}

/** Factors the square block at the top of the panels. `pivots` receives 1/l_jj of the current tile. */
function factorBlock(width: i32, packed: usize, pivots: usize): i32 {
  const bytes = computePanelBytes(width);
  for (let j = 0; j < width; j += 4) {
    const columns = min(4, width - j);
    const row = packed + <usize>(j >> 2) * bytes;
    for (let p = j >> 2; p < countPanels(width); p++) updateTile(j, columns, row, packed + <usize>p * bytes);
    const failed = factorTile(row + computePanelBytes(j), columns, pivots);
    if (failed < columns) return j + failed;
    for (let p = (j >> 2) + 1; p < countPanels(width); p++) solveTile(columns, row + computePanelBytes(j), packed + <usize>p * bytes + computePanelBytes(j), pivots);
  }
  return width;
}

/**
 * Solves the rows below the block. Each panel is solved against the whole block while it is in the first-level cache.
 */
function solveRows(width: i32, height: i32, packed: usize, pivots: usize): void {
  const bytes = computePanelBytes(width);
  for (let p = countPanels(width); p < countPanels(height); p++) {
    const panel = packed + <usize>p * bytes;
    for (let j = 0; j < width; j += 4) {
      const columns = min(4, width - j);
      const row = packed + <usize>(j >> 2) * bytes;
      updateTile(j, columns, row, panel);
      invertPivots(row + computePanelBytes(j), columns, pivots);
      solveTile(columns, row + computePanelBytes(j), panel + computePanelBytes(j), pivots);
    }
  }
}

/** Subtracts the contribution of the columns before j from four columns of a panel. */
// @ts-ignore: decorator
@inline
function updateTile(j: i32, columns: i32, row: usize, panel: usize): void {
  if (columns == 4) subtractTile(j, row, panel, panel + computePanelBytes(j), 32);
  else updateColumns(j, columns, row, panel);
}

function updateColumns(j: i32, columns: i32, row: usize, panel: usize): void {
  for (let s = 0; s < columns; s++) {
    const target = panel + computePanelBytes(j + s);
    for (let k = 0; k < j; k++) {
      const factor = v128.load_splat<f64>(row + computePanelBytes(k) + (<usize>s << 3));
      v128.store(target, subtractProduct(v128.load(target), factor, v128.load(panel + computePanelBytes(k))));
      v128.store(target, subtractProduct(v128.load(target, 16), factor, v128.load(panel + computePanelBytes(k), 16)), 16);
    }
  }
}

/**
 * Factors one diagonal tile. Entry (r, s) is at tile + s * 32 + r * 8. Entries above the diagonal of the tile are set
 * to 0.
 */
function factorTile(tileAddress: usize, columns: i32, pivots: usize): i32 {
  for (let s = 0; s < columns; s++) {
    const column = tileAddress + (<usize>s << 5);
    for (let k = 0; k < s; k++) {
      const earlier = tileAddress + (<usize>k << 5);
      const factor = load<f64>(earlier + (<usize>s << 3));
      for (let r = s; r < 4; r++) {
        const cell = column + (<usize>r << 3);
        store<f64>(cell, load<f64>(cell) - factor * load<f64>(earlier + (<usize>r << 3)));
      }
    }
    const pivot = load<f64>(column + (<usize>s << 3));
    if (!(pivot > 0)) return s;
    const root = sqrt(pivot);
    store<f64>(column + (<usize>s << 3), root);
    store<f64>(pivots + (<usize>s << 3), 1 / root);
    for (let r = s + 1; r < 4; r++) {
      const cell = column + (<usize>r << 3);
      store<f64>(cell, load<f64>(cell) * (1 / root));
    }
    for (let r = 0; r < s; r++) store<f64>(column + (<usize>r << 3), 0);
  }
  return columns;
}

// @ts-ignore: decorator
@inline
function invertPivots(diagonal: usize, columns: i32, pivots: usize): void {
  for (let s = 0; s < columns; s++) store<f64>(pivots + (<usize>s << 3), 1 / load<f64>(diagonal + <usize>s * 40));
}

/** Solves four rows against a factored diagonal tile, column by column. */
function solveTile(columns: i32, diagonal: usize, tileAddress: usize, pivots: usize): void {
  for (let s = 0; s < columns; s++) {
    const column = tileAddress + (<usize>s << 5);
    let low = v128.load(column);
    let high = v128.load(column, 16);
    for (let k = 0; k < s; k++) {
      const factor = v128.load_splat<f64>(diagonal + (<usize>k << 5) + (<usize>s << 3));
      low = subtractProduct(low, factor, v128.load(tileAddress + (<usize>k << 5)));
      high = subtractProduct(high, factor, v128.load(tileAddress + (<usize>k << 5), 16));
    }
    const pivot = v128.load_splat<f64>(pivots + (<usize>s << 3));
    v128.store(column, f64x2.mul(low, pivot));
    v128.store(column, f64x2.mul(high, pivot), 16);
  }
}

/** Writes the factored columns back, the lower triangle only. */
function unpack(corner: usize, ld: usize, height: i32, width: i32, packed: usize): void {
  const bytes = computePanelBytes(width);
  for (let i = 0; i < height; i++) {
    const row = corner + <usize>i * ld;
    const panel = packed + <usize>(i >> 2) * bytes + (<usize>(i & 3) << 3);
    const end = min(width, i + 1);
    for (let j = 0; j < end; j++) store<f64>(row + (<usize>j << 3), load<f64>(panel + computePanelBytes(j)));
  }
}

/** Updates the lower tiles right of the block: A22 -= L21 L21'. The panels are both operands. */
function updateTrailing(corner: usize, ld: usize, width: i32, height: i32, packed: usize, left: usize, edge: usize): void {
  const bytes = computePanelBytes(width);
  const panels = countPanels(height);
  const first = countPanels(width); // width is a multiple of 4 if there are columns right of the block
  for (let block = first; block < panels; block += 32) {
    const blockEnd = min(block + 32, panels);
    for (let p = block; p < panels; p++) {
      const rows = min(4, height - (p << 2));
      const end = rows == 4 ? min(blockEnd, p) : block;
      let tileAddress = corner + <usize>(p << 2) * ld + (<usize>block << 5);
      let right = packed + <usize>block * bytes;
      spread(width, packed + <usize>p * bytes, -1, left);
      for (let q = block; q < end; q++) {
        tile(width, left, right, tileAddress, ld);
        tileAddress += 32;
        right += bytes;
      }
      for (let q = end; q < min(blockEnd, p + 1); q++) {
        subtractEdge(width, left, right, tileAddress, ld, rows, q == p, edge);
        tileAddress += 32;
        right += bytes;
      }
    }
  }
}

/**
 * Subtracts a tile on the diagonal or the last tile of a column. On the diagonal, only the lower half may be written;
 * the last tile is shorter.
 */
function subtractEdge(width: i32, left: usize, right: usize, edgeAddress: usize, ld: usize, rows: i32, onDiagonal: bool, edge: usize): void {
  memory.fill(edge, 0, EDGE_BYTES);
  tile(width, left, right, edge, 32);
  for (let r = 0; r < rows; r++) {
    const end = onDiagonal ? r + 1 : 4;
    for (let s = 0; s < end; s++) {
      const cell = edgeAddress + <usize>r * ld + (<usize>s << 3);
      store<f64>(cell, load<f64>(cell) + load<f64>(edge + (<usize>(r * 4 + s) << 3)));
    }
  }
}
