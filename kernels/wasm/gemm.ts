import { isNative, nativeProduct, nativeScratch } from './native';
import { pack, computePanelBytes, countPanels } from './pack';
import { PANEL_SKEW } from './panel-skew';
import { EDGE_BYTES, spread, spreadBytes, tile, tileEdge } from './tile';

const DEPTH: i32 = 256;
/**
 * Number of rows of the left operand packed at a time: 128 x 256 doubles, a quarter of a second-level cache of 1 MiB.
 */
const ROWS: i32 = 128;
/** Number of columns of the right operand packed at a time: 192 x 256 doubles. */
const COLUMNS: i32 = 192;

/** Offset of the panels in the scratch memory. */
const PANELS_AT: usize = EDGE_BYTES + PANEL_SKEW;

export function gemmScratch(): usize {
  return max(nativeScratch(), PANELS_AT + spreadBytes(DEPTH) + <usize>(countPanels(ROWS) + countPanels(COLUMNS)) * computePanelBytes(DEPTH));
}

/**
 * Computes C += sign * A B. Element (i, k) of A is at a + i * aRow + k * aInner, and element (k, j) of B is at b + k *
 * bInner + j * bColumn. Strides are in bytes. C is row-major, and its rows are `ldc` bytes apart. With `upper`, entries
 * below the diagonal of C are not written. Each entry starts at its value in C and is summed over k in order.
 */
export function gemm(
  m: i32, k: i32, n: i32,
  a: usize, aRow: usize, aInner: usize,
  b: usize, bInner: usize, bColumn: usize,
  c: usize, ldc: usize, sign: f64, upper: bool, scratch: usize,
): void {
  if (isNative(<f64>m * k * n)) return nativeProduct(m, k, n, a, aRow, aInner, b, bInner, bColumn, c, ldc, sign, upper, scratch);
  const left = scratch + PANELS_AT + spreadBytes(DEPTH);
  const right = left + <usize>countPanels(ROWS) * computePanelBytes(DEPTH);
  for (let kk = 0; kk < k; kk += DEPTH) {
    const depth = min(DEPTH, k - kk);
    for (let jj = 0; jj < n; jj += COLUMNS) {
      const width = min(COLUMNS, n - jj);
      pack(b + <usize>kk * bInner + <usize>jj * bColumn, bColumn, bInner, width, depth, right);
      const rowEnd = upper ? min(m, jj + width) : m;
      for (let ii = 0; ii < rowEnd; ii += ROWS) {
        const height = min(ROWS, rowEnd - ii);
        pack(a + <usize>ii * aRow + <usize>kk * aInner, aRow, aInner, height, depth, left);
        addBlock(height, depth, width, left, right, c + <usize>ii * ldc + (<usize>jj << 3), ldc, sign, upper, ii - jj, scratch);
      }
    }
  }
}

/** Adds the tiles of one block. With `upper`, adds only entries whose column is at least row + `below`. */
function addBlock(m: i32, depth: i32, n: i32, left: usize, right: usize, c: usize, ldc: usize, sign: f64, upper: bool, below: i32, edge: usize): void {
  const bytes = computePanelBytes(depth);
  const panel = edge + PANELS_AT;
  for (let i = 0; i < m; i += 4) {
    const rows = min(4, m - i);
    const diagonal = i + below;
    spread(depth, left, sign, panel);
    let b = right;
    let tileAddress = c + <usize>i * ldc;
    for (let j = 0; j < n; j += 4) {
      const columns = min(4, n - j);
      if (upper && j < diagonal + 3) {
        if (j + 3 >= diagonal) tileEdge(depth, panel, b, tileAddress, ldc, rows, columns, diagonal - j, edge);
      } else if (rows == 4 && columns == 4) tile(depth, panel, b, tileAddress, ldc);
      else tileEdge(depth, panel, b, tileAddress, ldc, rows, columns, -4, edge);
      b += bytes;
      tileAddress += 32;
    }
    left += bytes;
  }
}
