import { mirrorUpper } from '../algebra/products.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { computeAverageCorrelation } from './shrinkage.js';

type GramEngine = Pick<Engine, 'symmetricRankK' | 'allocate' | 'room' | 'scope'>;

/** Moments about zero of a panel. */
interface Gram {
  /** X'X, [n x n]; only the upper triangle is valid. */
  readonly products: Float64Array;
  /** Column sums, [n]. */
  readonly sums: Float64Array;
}

/** Moments of a window that rolls over a panel with fixed securities, updated by adding and removing rows. */
export interface RollingGram {
  /**
   * Returns the moments over some rows. Updates the moments of the last call if it used the same securities and mostly
   * the same rows.
   * @param names       Keys of the columns, [n].
   * @param rows   Keys of the rows, ascending, [T].
   * @param read   Function that writes the values of some rows, [rows x n] row-major.
   * @returns      Moments, valid until the next call.
   */
  over(names: Int32Array, rows: Int32Array, read: (rows: Int32Array, out: Float64Array) => void): Gram;
  /** Returns the inputs of the moments since the last full computation; null before the first call. */
  history(): GramHistory | null;
}

/**
 * Windows whose moments were computed incrementally, each from the previous one. Computing these windows again in this
 * order gives bit-identical moments.
 */
export interface GramHistory {
  /** [n] */
  readonly names: Int32Array;
  /** Rows of each window, the fully computed one first. */
  readonly rows: readonly Int32Array[];
}

/** Maximum fraction of changed rows for an update; above it the moments are computed in full. */
const CHANGED_SHARE_MAX = 0.25;

/** Maximum number of updates before a full computation, so that rounding errors do not accumulate. */
const UPDATES_MAX = 12;

/**
 * Creates the moments of a rolling window.
 *
 * @param engine  Engine that multiplies.
 * @param past    Windows to resume from; they are recomputed if the first call needs them.
 * @cost          Per update (added rows + removed rows) * n^2 / 2 multiply-adds and two passes over n^2; per full
 *                computation T n^2 / 2.
 * @source        Chan, Golub & LeVeque (1983), The American Statistician 37(3), 242-247: sums of products are additive
 *   over rows.
 */
export function createRollingGram(engine: GramEngine, past: GramHistory | null = null): RollingGram {
  let names = new Int32Array(0);
  let rows = new Int32Array(0);
  let products = new Float64Array(0);
  let sums = new Float64Array(0);
  let windows: Int32Array[] = [];
  let pendingHistory = past;

  const gram: RollingGram = {
    history: () => pendingHistory ?? (windows.length === 0 ? null : { names, rows: windows }),
    over(wantedNames, wantedRows, read) {
      const n = wantedNames.length;
      assert(n >= 1, 'names: none given');
      if (pendingHistory !== null) {
        const repeatedHistory = pendingHistory;
        pendingHistory = null;
        // Windows of other securities are computed in full in any case, and so are windows after the maximum number of
        // updates.
        if (areEqualKeys(repeatedHistory.names, wantedNames) && repeatedHistory.rows.length <= UPDATES_MAX)
          for (const historyRows of repeatedHistory.rows) gram.over(repeatedHistory.names, historyRows, read);
      }
      const droppedRows = subtractKeys(rows, wantedRows);
      const addedRows = subtractKeys(wantedRows, rows);
      if (
        areEqualKeys(names, wantedNames) &&
        windows.length <= UPDATES_MAX &&
        droppedRows.length + addedRows.length <= CHANGED_SHARE_MAX * wantedRows.length
      ) {
        if (droppedRows.length > 0) add(droppedRows, -1);
        if (addedRows.length > 0) add(addedRows, 1);
      } else {
        if (products.length !== n * n) products = new Float64Array(n * n);
        else products.fill(0);
        sums = new Float64Array(n);
        names = wantedNames.slice();
        windows = [];
        add(wantedRows, 1);
      }
      rows = wantedRows.slice();
      windows.push(rows);
      return { products, sums };

      function add(some: Int32Array, sign: 1 | -1): void {
        engine.scope(() => {
          const panel = engine.allocate(some.length * n);
          read(some, panel);
          const out = engine.room(n * n);
          engine.symmetricRankK(panel, n, out);
          addUpper(products, out, { n, sign });
          addRows(sums, panel, sign);
        });
      }
    },
  };
  return gram;
}

interface SignedRows {
  readonly n: number;
  readonly sign: 1 | -1;
}

/** Adds or subtracts the upper triangle of a matrix, [n x n]. */
function addUpper(to: Float64Array, from: Float64Array, { n, sign }: SignedRows): void {
  for (let i = 0; i < n; i++) for (let e = i * n + i; e < i * n + n; e++) to[e]! += sign * from[e]!;
}

function addRows(sums: Float64Array, panel: Float64Array, sign: 1 | -1): void {
  const n = sums.length;
  for (let position = 0; position < panel.length; position += n)
    for (let i = 0; i < n; i++) sums[i]! += sign * panel[position + i]!;
}

function areEqualKeys(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

/** Returns the keys of one ascending list that are not in the other list. */
function subtractKeys(keys: Int32Array, others: Int32Array): Int32Array {
  const results: number[] = [];
  let position = 0;
  for (const key of keys) {
    while (position < others.length && others[position]! < key) position++;
    if (others[position] !== key) results.push(key);
  }
  return Int32Array.from(results);
}

/**
 * Computes a covariance shrunk towards constant correlation, with the intensity given by the shape of the panel, from
 * the moments of the panel about zero.
 *
 * @param gram          X'X and column sums.
 * @param observations  Number of rows of the panel, at least 2.
 * @param scale         Scale of the covariance: the number of periods per year.
 * @param out           [n x n] row-major, overwritten; exactly symmetric.
 * @returns             Nothing; the matrix is in `out`: scale (delta F + (1 - delta) S), delta = n / (n +
 *   observations).
 * @throws              KernelFault on a shape mismatch.
 * @cost                Three passes over n^2 / 2.
 * @source              Ledoit & Wolf (2004), J. Portfolio Management 30(4), 110-119: the target of constant
 *   correlation.
 */
export function shrinkGram({ products, sums }: Gram, observations: number, scale: number, out: Float64Array): void {
  const n = sums.length;
  assert(out.length === n * n, `out: ${out.length} values for ${n} names`);
  assert(observations >= 2, `observations: ${observations}, at least 2 needed`);
  const inverse = 1 / (observations - 1);
  for (let i = 0; i < n; i++) {
    const mean = sums[i]! / observations;
    const row = i * n;
    for (let j = i; j < n; j++) out[row + j] = (products[row + j]! - mean * sums[j]!) * inverse;
  }
  const deviations = Float64Array.from({ length: n }, (_, i) => Math.sqrt(Math.max(0, out[i * n + i]!)));
  const average = computeAverageCorrelation(out, n);
  const delta = n / (n + observations);
  for (let i = 0; i < n; i++) {
    out[i * n + i] = scale * Math.max(0, out[i * n + i]!); // rounding errors may make the variance of a constant column negative
    const common = delta * average * deviations[i]!;
    const row = i * n;
    for (let j = i + 1; j < n; j++) out[row + j] = scale * (common * deviations[j]! + (1 - delta) * out[row + j]!);
  }
  mirrorUpper(out, n);
}
