import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RefreshReport } from '#market/judge/refresh.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09'];
const CLOSES = [301.2, 305.4, 304.8, 309.16, 312.88, 311.24];
const DIVIDEND = 0.82;
const EX = 2;

/**
 * Returns the file of a vendor with this number of days on a share basis. It has a dividend and may have a wrong close.
 */
function formatVendorFile(count: number, { split = 1, wrong = -1 } = {}): string {
  const rows = DAYS.slice(0, count).map((day, t) => {
    const close = (CLOSES[t]! * (t === wrong ? 1.01 : 1)) / split;
    const factor = t < EX ? 1 - DIVIDEND / CLOSES[EX - 1]! : 1;
    return `${day},${close.toFixed(2)},${(close * factor).toFixed(6)},${1000 * (t + 1) * split}`;
  });
  return `Date,Close,Adj Close,Volume\n${rows.join('\n')}\n`;
}

const mapping = {
  identifier_from: 'file:{identifier}.csv',
  columns: { date: 'Date', CLOSE: 'Close', VOLUME: 'Volume' },
  adjusted_close: 'Adj Close',
};

/**
 * Computes the last level with reinvested dividends by hand. Each step is (close + dividend) / previous close, on one
 * share basis.
 */
const computeExpectedLevel = (count: number) =>
  CLOSES.slice(1, count).reduce(
    (level, close, t) => (level * (close + (t + 1 === EX ? DIVIDEND : 0))) / CLOSES[t]!,
    100,
  );

async function readLastLevel(): Promise<number> {
  await service.ask('POST', '/analytics/ONE/backtest', {});
  expect((await service.waitForJob('backtest:ONE')).error).toBeNull();
  const { body } = await service.ask<{ levels: { data: number[] } }>('GET', '/analytics/ONE/levels?variant=total');
  return body.levels.data.at(-1)!;
}

test('a level continues over a split that the vendor restated, and ignores a changed close', async () => {
  const folder = join(service.root, 'vendor');
  await mkdir(folder);
  const write = (text: string) => writeFile(join(folder, 'AAPL.csv'), text);
  const refresh = async (request: object = {}) => {
    await service.ask('POST', '/data/stores/desk/refresh', request);
    return (await service.waitForJob('refresh:desk')).result as unknown as RefreshReport;
  };
  await write(formatVendorFile(5));
  const store = { store_id: 'desk', name: 'Desk', kind: 'folder', location: folder, adjustment: 'splits', mapping };
  expect((await service.ask('POST', '/data/stores', { ...store, activate: true })).status).toBe(201);
  const pipeline = { weighting: { type: 'EqualWeight' } };
  const index = { id: 'ONE', name: 'One', calendar: 'XNYS', base_date: DAYS[0], pipeline };
  expect((await service.ask('PUT', '/indices/ONE', index)).status).toBe(200);
  expect(await readLastLevel()).toBeCloseTo(computeExpectedLevel(5), 9);

  // A changed close would imply other dividends as well. The service serves none of these changes.
  await write(formatVendorFile(6, { wrong: 1 }));
  expect(await refresh()).toMatchObject({ rows_added: 0, rejected: [{ identifier: 'AAPL', held_back: 1 }] });
  expect(await readLastLevel()).toBeCloseTo(computeExpectedLevel(5), 9);

  await write(formatVendorFile(6, { split: 4 }));
  expect(await refresh({ fail_on: ['PARTIAL_DATE', 'HISTORY_CHANGED'] })).toMatchObject({
    dates_added: 1,
    split_restatements: [{ identifier: 'AAPL', ratio: 4, date: '2024-01-09' }],
  });
  // Closes are rounded to cents. 312.88 / 4 and 301.2 / 4 are exact. Other closes are within half a cent of 75.
  expect(Math.abs((await readLastLevel()) / computeExpectedLevel(6) - 1)).toBeLessThan(1e-5);
  expect(
    (
      await service.ask<{ prices: { data: number[][] } }>('GET', '/data/prices/AAPL?columns=CLOSE')
    ).body.prices.data.flat(),
  ).toEqual(CLOSES.map((close) => Number((close / 4).toFixed(2))));
});
