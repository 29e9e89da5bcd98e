/** Matrix with the positions of its nonzero entries, if these are few. */
export interface SparseRows {
  /** Sets the matrix, [rows x columns] row-major, which must not change until the next call. @cost rows columns */
  read(values: Float64Array, rows: number, columns: number): void;
  /** Returns true if few enough entries are nonzero to store their positions. */
  isSparse(): boolean;
  /** Computes out += times V'x, summed in the order of the rows. */
  addColumns(x: Float64Array, out: Float64Array, times?: 1 | -1): void;
  /** Returns value - (V y) at a row, summed in the order of the columns. */
  less(row: number, value: number, y: Float64Array): number;
  /**
   * Computes the lower triangle of V'V, [columns x columns], summed in the order of the rows; only valid if `isSparse`.
   */
  products(out: Float64Array): void;
}

/** Maximum fraction of nonzero entries in a sparse matrix. */
const SPARSE_SHARE = 0.25;

/** Minimum number of entries in a sparse matrix; smaller matrices count as dense. */
const ENTRIES_MIN = 1024;

/**
 * Creates sums that skip products with zero, because the rows of many programs have few nonzero entries. Results are
 * bit-identical to those of full sums.
 */
export function createSparseRows(): SparseRows {
  let matrix: Float64Array = new Float64Array(0);
  let [rowCount, width] = [0, 0];
  let starts = new Int32Array(0);
  let columnIndices = new Int32Array(0);
  let isSparse = false;

  /** Records the positions of nonzero entries; returns false if there are too many. */
  function recordPositions(): boolean {
    const size = rowCount * width;
    if (size < ENTRIES_MIN) return false;
    let remainingEntries = Math.floor(SPARSE_SHARE * size);
    for (let e = 0; e < size && remainingEntries >= 0; e++) if (matrix[e] !== 0) remainingEntries--;
    if (remainingEntries < 0) return false;
    const total = Math.floor(SPARSE_SHARE * size) - remainingEntries;
    if (starts.length <= rowCount) starts = new Int32Array(rowCount + 1);
    if (columnIndices.length < total) columnIndices = new Int32Array(total);
    let count = 0;
    for (let row = 0, e = 0; row < rowCount; row++) {
      starts[row] = count;
      for (let r = 0; r < width; r++, e++) if (matrix[e] !== 0) columnIndices[count++] = r;
    }
    starts[rowCount] = count;
    return true;
  }

  return {
    read(values, rows, columns) {
      matrix = values;
      [rowCount, width] = [rows, columns];
      isSparse = recordPositions();
    },
    isSparse: () => isSparse,
    addColumns(x, out, times = 1) {
      const values = matrix;
      for (let row = 0; row < rowCount; row++) {
        const from = row * width;
        const value = times * x[row]!;
        if (isSparse)
          for (let e = starts[row]!; e < starts[row + 1]!; e++) {
            const r = columnIndices[e]!;
            out[r]! += values[from + r]! * value;
          }
        else for (let r = 0; r < width; r++) out[r]! += values[from + r]! * value;
      }
    },
    less(row, value, y) {
      const values = matrix;
      const from = row * width;
      let total = value;
      if (isSparse)
        for (let e = starts[row]!; e < starts[row + 1]!; e++) {
          const r = columnIndices[e]!;
          total -= values[from + r]! * y[r]!;
        }
      else for (let r = 0; r < width; r++) total -= values[from + r]! * y[r]!;
      return total;
    },
    products(out) {
      out.fill(0, 0, width * width);
      for (let row = 0; row < rowCount; row++) {
        const from = row * width;
        const [begin, end] = [starts[row]!, starts[row + 1]!];
        for (let e = begin; e < end; e++) {
          const r = columnIndices[e]!;
          const value = matrix[from + r]!;
          const to = r * width;
          for (let o = begin; o <= e; o++) out[to + columnIndices[o]!]! += value * matrix[from + columnIndices[o]!]!;
        }
      }
    },
  };
}
