import { describe, expect, test } from 'vitest';
import { createCheckpoint } from '#domain/backtest/checkpoint.js';
import { findFirstDifference } from '#domain/backtest/run-file/compare.js';
import { createRunColumns, type RunColumns } from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import { createAssetView } from '#views/asset.js';
import { createAttributionView } from '#views/attribution.js';
import { createReconcileView } from '#views/reconcile.js';
import { cut, extend, listFilesAfter, openExtended } from './extend/extended.js';
import { exportEvents } from './exported-events.js';
import { buildMarket } from './market-builder.js';
import { runOn, createColumns } from './random-run.js';
import { CONSTITUENT } from './event-case.js';
import { CALENDARS, createHolding, WEEK, type Treatment } from './signed-case.js';
import { createDocument } from '../index-document.js';

const MARKET = buildMarket({
  dates: WEEK,
  close: { A: [100, 101, 102, 100, 99, 103], B: [50, 51, 50, 52, 53, 50], C: [10, 10, 11, 10, 9, 10] },
  actions: [
    { name: 'A', type: 'DIVIDEND', value: 2, ex: WEEK[1]! },
    { name: 'C', type: 'DIVIDEND', value: 0.25, ex: WEEK[2]! },
    { name: 'C', type: 'DIVIDEND', value: 0.5, ex: WEEK[4]! },
    { name: 'C', type: 'SPECIAL_DIVIDEND', value: 0.75, ex: WEEK[4]! },
  ],
});

function runTo(rows: number, treatment: Treatment): Run {
  const document = createDocument({
    base_date: WEEK[0],
    rebalance: { frequency: 'custom', dates: [WEEK[0], WEEK[3]] },
    pipeline: { treatment: { ...CONSTITUENT, ...treatment }, weighting: { type: 'EqualWeight' } },
  });
  return runOn(CALENDARS, cut(MARKET, rows), document, { createDecider });
}

const createDecider = createHolding(() => ({ A: 0.8, B: 0.4, C: -0.2 }));

/**
 * Computes the return of one unit of C from its first to its last close. Every variant of the index reinvests the
 * special dividend.
 */
const computeUnitReturn = (dividend: number): number =>
  ((11 + 0.25 * dividend) / 10) * (10 / 11) * ((9 + 0.75 + 0.5 * dividend) / 10) * (10 / 9);

describe.each([
  ['price', { dividends: 'price' }, computeUnitReturn(0)],
  ['total', { dividends: 'total' }, computeUnitReturn(1)],
  ['net, nothing withheld', { dividends: 'net' }, computeUnitReturn(1)],
  ['net, a part withheld', { dividends: 'net', withholding_tax: 0.25 }, computeUnitReturn(1)],
  ['net, everything withheld', { dividends: 'net', withholding_tax: 1 }, computeUnitReturn(1)],
] as [string, Treatment, number][])('a short position pays dividends whole: %s', (_name, treatment, growth) => {
  const run = runTo(WEEK.length, treatment);
  const columns = createColumns(run);

  test('in the view of the asset as in the attribution', () => {
    const { contributions } = createAttributionView(columns, { start: null, end: null });
    expect(contributions.find(({ asset_id: id }) => id === 'C')!.total_return).toBeCloseTo(growth - 1, 12);
    expect(createAssetView(columns, 'C').total_return).toBeCloseTo(growth - 1, 12);
  });

  test('in the view of a run that was stored without its dividend payments', () => {
    if (treatment.withholding_tax === 1) return; // such a run does not record the ex-dates either
    const olderColumns: RunColumns = { ...columns, has: (name) => name !== 'shortCash' && columns.has(name) };
    expect(createAssetView(olderColumns, 'C').total_return).toBeCloseTo(growth - 1, 12);
  });

  test('in the reconciliation', () => {
    const { checks } = createReconcileView(columns, () => []);
    expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    expect(checks.map(({ name }) => name)).toContain('drift');
  });

  test('and the changes of the divisor are all explained', () => {
    const rows = exportEvents(columns);
    for (const date of new Set(rows.map((row) => row['date']))) {
      const dayRows = rows.filter((row) => row['date'] === date);
      const explainedEffect = dayRows.reduce((sum, row) => sum + Number(row['effect']), 0);
      expect(Number(dayRows[0]!['divisor_after']) / Number(dayRows[0]!['divisor_before']) - 1).toBeCloseTo(
        explainedEffect,
        12,
      );
    }
    const cash = rows.filter((row) => row['identifier'] === 'C').map((row) => row['per_share']);
    expect(cash).toEqual(treatment.dividends === 'price' ? [0.75] : [0.25, 1.25]);
  });

  test('after an extension as in a whole run', () => {
    for (const rows of [2, 3, 4]) {
      const before = runTo(rows, treatment);
      const storedColumns = createRunColumns(before, { contentHash: 's' });
      const goneRun = extend(
        before.plan,
        MARKET,
        { columns: openExtended(storedColumns), checkpoint: createCheckpoint(before) },
        { createDecider, calendars: CALENDARS },
      );
      if (typeof goneRun === 'string') throw new Error(goneRun);
      const files = listFilesAfter([storedColumns], goneRun);
      const extendedColumns = openExtended(files.at(-1)!, files);
      expect(findFirstDifference(extendedColumns, columns)).toBeNull();
      expect(extendedColumns.has('shortCash')).toBe(columns.has('shortCash'));
      if (columns.has('shortCash')) expect(extendedColumns.f64('shortCash')).toEqual(columns.f64('shortCash'));
    }
  });
});
