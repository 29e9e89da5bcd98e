import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { SHARE_FRACTION_WIDTH, SHARE_CHANGE_WIDTH } from '#domain/backtest/run-file/share-changes.js';

/** Returns the fraction of its weight that every security kept when share counts changed, by position of the date. */
export function listUnchangedWeights(columns: RunColumns): ReadonlyMap<number, number> {
  const rows = columns.has('keptShares') ? columns.f64('keptShares') : new Float64Array(0);
  return new Map(
    Array.from({ length: rows.length / SHARE_FRACTION_WIDTH }, (_, i) => [
      rows[SHARE_FRACTION_WIDTH * i]!,
      rows[SHARE_FRACTION_WIDTH * i + 1]!,
    ]),
  );
}

/**
 * Change of the index shares of a security on a date. The factor is the index shares after the change divided by those
 * before it.
 */
export interface CountChange {
  readonly at: number;
  readonly name: number;
  readonly factor: number;
}

/** Returns the changes of share counts in a stored run, by date. */
export function listCountChanges(columns: RunColumns): CountChange[] {
  if (!columns.has('shareChanges')) return [];
  const rows = columns.f64('shareChanges');
  return Array.from({ length: rows.length / SHARE_CHANGE_WIDTH }, (_, i) => {
    const [name, at, before, after] = rows.subarray(SHARE_CHANGE_WIDTH * i, SHARE_CHANGE_WIDTH * (i + 1));
    return { at: at!, name: name!, factor: after! / before! };
  });
}
