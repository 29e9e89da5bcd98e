import { fc } from '../../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { findFirstDifference } from '#domain/backtest/run-file/compare.js';
import { createRunColumns, openColumns, type RunColumns } from '#domain/backtest/run-file/columns.js';
import type { BlockName } from '#domain/backtest/run-file/blocks.js';
import { formatDay } from '#domain/base/time.js';
import { buildMarket, createWeekdayCalendars } from '../market-builder.js';
import { runOn } from '../random-run.js';
import { createDocument } from '../../index-document.js';

const CALENDARS = createWeekdayCalendars({ MAIN: { from: '2024-01-01', to: '2024-01-31' } });
const DATES = ['2024-01-01', '2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];
const DOCUMENT = createDocument({ base_date: DATES[0], rebalance: { frequency: 'daily' } });
const CLOSE = { A: [10, 11, 12, 13, 14], B: [20, 19, 18, 19, 20], C: [5, 5, 6, 6, 5] };

function createBytes(count = DATES.length, close: Record<string, number[]> = CLOSE): Uint8Array<ArrayBuffer> {
  const market = buildMarket({
    dates: DATES.slice(0, count),
    close: Object.fromEntries(Object.entries(close).map(([name, prices]) => [name, prices.slice(0, count)])),
  });
  return createRunColumns(runOn(CALENDARS, market, DOCUMENT, { transaction_cost_bps: 10 }), { contentHash: 's' });
}

const openBytes = (bytes: Uint8Array): RunColumns => openColumns((start, end) => bytes.slice(start, end));

function changeBlock(bytes: Uint8Array<ArrayBuffer>, block: BlockName, element: number): Uint8Array {
  const copy = bytes.slice();
  const { offset } = openBytes(bytes).header.blocks[block]!;
  const view = new DataView(copy.buffer);
  view.setFloat64(offset + 8 * element, view.getFloat64(offset + 8 * element, true) * 1.5 + 1, true);
  return copy;
}

describe('the first difference of two runs', () => {
  const bytes = createBytes();

  test('is none between equal ones', () => {
    expect(findFirstDifference(openBytes(bytes), openBytes(createBytes()))).toBeNull();
  });

  test('is the element that was changed, with its date and its name', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('weights', 'price', 'value', 'level', 'indexLevel', 'divisorNet'),
        fc.nat(4),
        fc.nat(2),
        (block, date, place) => {
          const name = block === 'weights' || block === 'price' ? ['A', 'B', 'C'][place]! : null;
          const element = name === null ? date : date * 3 + place;
          const result = findFirstDifference(openBytes(changeBlock(bytes, block, element)), openBytes(bytes));
          expect(result).toMatchObject({ part: block, date: DATES[date], name });
          expect(result!.stored).toBe((result!.replayed as number) * 1.5 + 1);
        },
      ),
    );
  });

  test('of several is the earliest, and on one date the cause', () => {
    const bothChanges = changeBlock(changeBlock(bytes, 'level', 3) as Uint8Array<ArrayBuffer>, 'weights', 3 * 3 + 1);
    expect(findFirstDifference(openBytes(bothChanges), openBytes(bytes))).toMatchObject({
      part: 'weights',
      date: DATES[3],
      name: 'B',
    });
    const earlierChange = changeBlock(changeBlock(bytes, 'level', 1) as Uint8Array<ArrayBuffer>, 'weights', 3 * 3 + 1);
    expect(findFirstDifference(openBytes(earlierChange), openBytes(bytes))).toMatchObject({
      part: 'level',
      date: DATES[1],
    });
  });

  test('of an extended run is its first additional date', () => {
    expect(findFirstDifference(openBytes(createBytes(4)), openBytes(bytes))).toEqual({
      part: 'days',
      date: DATES[4],
      name: null,
      stored: null,
      replayed: DATES[4],
    });
    expect(findFirstDifference(openBytes(bytes), openBytes(createBytes(4)))).toMatchObject({
      part: 'days',
      stored: DATES[4],
      replayed: null,
    });
  });

  test('of runs that held other securities is the first name', () => {
    const { C: _, ...twoCloses } = CLOSE;
    expect(findFirstDifference(openBytes(bytes), openBytes(createBytes(5, twoCloses)))).toMatchObject({
      part: 'names',
      stored: 'C',
      replayed: null,
    });
  });

  test('after a changed price is that price', () => {
    const result = findFirstDifference(
      openBytes(bytes),
      openBytes(createBytes(5, { ...CLOSE, B: [20, 19, 17, 19, 20] })),
    );
    expect(result).toEqual({
      part: 'price',
      date: formatDay(openBytes(bytes).i32('days')[2]!),
      name: 'B',
      stored: 18,
      replayed: 17,
    });
  });
});
