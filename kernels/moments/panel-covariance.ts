import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { computePairwiseSum } from '../sums/pairwise-sum.js';
import type { LowRankCovariance } from './low-rank-covariance.js';
import { sumCorrelations } from './shrinkage-target.js';

/** Number of columns that are multiplied in one block: 10 MB with 1,250 observations. */
const BLOCK_COLUMNS = 1024;

/** Covariance defined by a panel: keep X'X + common s s' + diag(addedVariances). */
export interface PanelCovariance {
  /** X, [rows x assets] row-major. */
  readonly panel: Float64Array;
  readonly assets: number;
  readonly keep: number;
  readonly common: number;
  /** s, [assets]. */
  readonly scale: Float64Array;
  /** Diagonal term, [assets]. */
  readonly addedVariances: Float64Array;
}

/** Returns a low-rank covariance in terms of its panel. */
export function createPanelCovariance({ panel, assets, intensity, target, scale }: LowRankCovariance): PanelCovariance {
  const targetScale = scale * intensity;
  return {
    panel,
    assets,
    keep: scale * (1 - intensity),
    common: targetScale * target.common,
    scale: target.scale,
    addedVariances: target.addedVariances.map((value) => targetScale * value),
  };
}

/** Returns the number of entries in rows [from, to) of an upper triangle. */
export function countTriangleEntries(assets: number, from: number, to: number): number {
  return (to - from) * assets - (to * (to - 1) - from * (from - 1)) / 2;
}

/**
 * Computes rows of the upper triangle of a covariance.
 *
 * @param engine      Engine that multiplies.
 * @param covariance  Covariance defined by a panel.
 * @param from        First row.
 * @param to          One past the last row.
 * @param out         Entries of the rows, overwritten: each row from its diagonal on, row after row.
 * @returns           Nothing; the rows are in `out`. Entries are bit-identical to those of `expandCovariance`.
 * @throws            KernelFault on a shape mismatch.
 * @cost              One multiply-add per row of the panel and entry; scratch for the columns of the requested rows and
 *                    for 1,024 further columns.
 * @source            Definition. Each entry is summed over the rows of the panel in ascending order.
 */
export function fillCovarianceRows(
  engine: Pick<Engine, 'gemm' | 'room' | 'scope'>,
  covariance: PanelCovariance,
  from: number,
  to: number,
  out: Float64Array,
): void {
  const { panel, assets } = covariance;
  const inner = panel.length / assets;
  assert(Number.isInteger(inner), `panel: ${panel.length} values over ${assets} assets`);
  assert(from >= 0 && from <= to && to <= assets, `rows: ${from} to ${to} of ${assets}`);
  const entries = countTriangleEntries(assets, from, to);
  assert(out.length === entries, `out: ${out.length} values for ${entries} entries`);
  const rows = to - from;
  if (rows === 0) return;
  engine.scope(() => {
    const leftColumns = copyColumns(panel, assets, from, to, engine.room(inner * rows));
    for (let first = from; first < assets; first += BLOCK_COLUMNS) {
      const end = Math.min(assets, first + BLOCK_COLUMNS);
      engine.scope(() => {
        const columns = end - first;
        const right = copyColumns(panel, assets, first, end, engine.room(inner * columns));
        const products = engine.room(rows * columns);
        engine.gemm({ rows, inner, columns, transposeA: true }, leftColumns, right, products);
        placeEntries(covariance, { from, to, first, end }, products, out);
      });
    }
  });
}

/** Copies columns [from, to) of a panel to `out` and returns it. */
function copyColumns(panel: Float64Array, width: number, from: number, to: number, out: Float64Array): Float64Array {
  for (let position = 0, row = 0; row < panel.length; row += width, position += to - from)
    out.set(panel.subarray(row + from, row + to), position);
  return out;
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly end: number;
}

/** Writes the entries of a block of products that are on or above the diagonal. */
function placeEntries(
  { assets, keep, common, scale, addedVariances }: PanelCovariance,
  { from, to, first, end }: Block,
  products: Float64Array,
  out: Float64Array,
): void {
  for (let i = from; i < Math.min(to, end); i++) {
    const position = countTriangleEntries(assets, from, i) - i;
    const product = (i - from) * (end - first) - first;
    const rowScale = common * scale[i]!;
    if (i >= first) out[position + i] = keep * products[product + i]! + rowScale * scale[i]! + addedVariances[i]!;
    for (let j = Math.max(first, i + 1); j < end; j++)
      out[position + j] = keep * products[product + j]! + rowScale * scale[j]!;
  }
}

/**
 * Returns standard deviations: square roots of the diagonal of a covariance.
 * @param squares  sums of squares of the panel's columns, [assets]
 */
export function computeDeviations(
  { keep, common, scale, addedVariances }: PanelCovariance,
  squares: Float64Array,
): Float64Array {
  return squares.map((square, i) =>
    Math.sqrt(Math.max(0, keep * square + common * scale[i]! * scale[i]! + addedVariances[i]!)),
  );
}

/**
 * Sums the correlations of each row of an upper triangle.
 *
 * @param rows        Rows [from, from + out.length) as written by `fillCovarianceRows`.
 * @param from        First row.
 * @param deviations  Square roots of the diagonal, [assets].
 * @param out         Overwritten with the sum of each row right of the diagonal, [rows].
 * @returns           Nothing; the sums are in `out`.
 * @throws            KernelFault on a shape mismatch.
 * @cost              One division per entry.
 * @source            Definition; see `computeAverageCorrelation`.
 */
export function fillCorrelationSums(
  rows: Float64Array,
  from: number,
  deviations: Float64Array,
  out: Float64Array,
): void {
  const assets = deviations.length;
  const entries = countTriangleEntries(assets, from, from + out.length);
  assert(rows.length === entries, `rows: ${rows.length} values for ${entries} entries`);
  for (let i = 0, position = 0; i < out.length; position += assets - from - i, i++)
    out[i] = sumCorrelations(rows.subarray(position, position + assets - from - i), from + i, deviations);
}

/**
 * Returns the mean off-diagonal correlation from the correlation sums of all rows, bit-identical to
 * `computeAverageCorrelation`.
 */
export function averageCorrelationSums(sums: Float64Array): number {
  const assets = sums.length;
  return assets === 1 ? 0 : computePairwiseSum(sums) / ((assets * (assets - 1)) / 2);
}
