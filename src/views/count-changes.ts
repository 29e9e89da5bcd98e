import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { KEPT_WIDTH, SHARE_CHANGE_WIDTH } from '#domain/backtest/run-file/share-changes.js';

/** Returns the fraction of its weight that each security of a portfolio kept, by date. */
export function listKeptWeights(columns: RunColumns): ReadonlyMap<number, number> {
  const rows = columns.has('keptShares') ? columns.f64('keptShares') : new Float64Array(0);
  return new Map(
    Array.from({ length: rows.length / KEPT_WIDTH }, (_, i) => [rows[KEPT_WIDTH * i]!, rows[KEPT_WIDTH * i + 1]!]),
  );
}

/** Index shares on a date, after over before a change of share counts. */
export interface CountChange {
  readonly at: number;
  readonly name: number;
  readonly factor: number;
}

/** Changes of share counts of a stored run, by date. */
export function countChanges(columns: RunColumns): CountChange[] {
  if (!columns.has('shareChanges')) return [];
  const rows = columns.f64('shareChanges');
  return Array.from({ length: rows.length / SHARE_CHANGE_WIDTH }, (_, i) => {
    const [name, at, before, after] = rows.subarray(SHARE_CHANGE_WIDTH * i, SHARE_CHANGE_WIDTH * (i + 1));
    return { at: at!, name: name!, factor: after! / before! };
  });
}
