import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { selectContent, runWithDesk } from './refresh-desk.js';

const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'];
const CLOSE = 10;

/**
 * Returns the file of a vendor for a security. A dividend multiplies earlier prices by 1 - dividend / previous close.
 */
function formatVendorFile(days: number, dividends: Readonly<Record<string, number>>) {
  let factor = 1;
  const rows = DAYS.slice(0, days)
    .toReversed()
    .map((day) => {
      const row = `${day},${CLOSE},${(CLOSE * factor).toFixed(6)}`;
      factor *= 1 - (dividends[day] ?? 0) / CLOSE;
      return row;
    });
  return `Date,Close,Adj Close\n${rows.toReversed().join('\n')}\n`;
}

const mapping = Mapping.parse({
  identifier_from: 'file:{identifier}.csv',
  columns: { date: 'Date', CLOSE: 'Close' },
  adjusted_close: 'Adj Close',
});

test('a refresh adds dividends derived from adjusted closes of new days; with changes to stored days it keeps the security unchanged', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole, location }) => {
    await write({ 'A.csv': formatVendorFile(3, { '2024-01-03': 0.5 }) });
    await load();
    expect((await store()).derived_actions).toEqual({ dividends: 1, splits: 0 });

    await write({ 'A.csv': formatVendorFile(4, { '2024-01-03': 0.5, '2024-01-05': 0.25 }) });
    expect(await refresh()).toMatchObject({ datasets: { corporate_actions: { added: 1, changed: 0, removed: 0 } } });
    expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
    expect((await store()).rows).toMatchObject({ corporate_actions: 2 });

    const before = await store();
    await write({ 'A.csv': formatVendorFile(5, { '2024-01-03': 0.4, '2024-01-05': 0.25, '2024-01-08': 1 }) });
    expect(await refresh()).toMatchObject({
      rows_added: 0,
      rejected: [{ identifier: 'A', corporate_actions: { changed: 1 }, held_back: 1 }],
      findings: [{ code: 'HISTORY_CHANGED', path: 'market.A' }],
    });
    expect(await store()).toMatchObject({ content_hash: before.content_hash, rows: before.rows });
    expect(await refresh({ full: true })).toMatchObject({ rows_added: 2, rows_changed: 1 });
    expect(selectContent(await store())).toEqual(selectContent(await readWhole()));

    // Adds a table of actions that the adjusted closes do not reflect.
    await write({ 'corporate_actions.csv': 'identifier,type,value,ex_date\nA,DELISTING,9,2024-02-01\n' });
    expect(await refresh()).toMatchObject({ rows_added: 1, rows_changed: 0 });
    expect(await refresh()).toMatchObject({ rows_added: 0, rows_changed: 0, findings: [] });
    expect((await store()).rows).toMatchObject({ corporate_actions: 4 });
    await rm(join(location, 'corporate_actions.csv'));
    expect(await refresh()).toMatchObject({ rows_changed: 1 });
    expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
  }, mapping));

test('a refresh keeps dividends that a vendor rounds differently after a new dividend', () =>
  runWithDesk(async ({ write, load, refresh, store }) => {
    const closes = [40, 41.2, 39.6, 40.4, 40.8, 40];
    const days = [...DAYS, '2024-01-09'];
    /**
     * Adjusted closes are a quarter of the closes and have two decimals. So half a cent of rounding is two cents of a
     * dividend.
     */
    const createVendorRows = (count: number, last: number) => {
      const rows = days.slice(0, count).map((day, t) => {
        const factor = 0.25 * (t < 2 ? 1 - 1.23 / 41.2 : 1) * (t < 5 && count > 5 ? 1 - last / 40.8 : 1);
        return `${day},${closes[t]},${(closes[t]! * factor).toFixed(2)}`;
      });
      return { 'A.csv': `Date,Close,Adj Close\n${rows.join('\n')}\n` };
    };
    await write(createVendorRows(5, 0));
    await load();
    const before = (await store()).content_hash;
    for (const last of [0.41, 0.47, 0.53, 0.68, 0.71, 0.83]) {
      await write(createVendorRows(6, last));
      expect(await refresh({ isTrial: true })).toMatchObject({
        rows_added: 2,
        rejected: [],
        datasets: { market: { added: 1 }, corporate_actions: { added: 1, changed: 0, removed: 0 } },
      });
    }
    expect((await store()).content_hash).toBe(before);
  }, mapping));

test('rows of a store are its stored bars: those of two wide tables once, and a repeated bar once', async () => {
  const wideMapping = Mapping.parse({ layout: 'wide', fields: { 'close.csv': 'CLOSE', 'volume.csv': 'VOLUME' } });
  await runWithDesk(async ({ write, load, store }) => {
    const table = 'date,A,B\n2024-01-02,10,20\n2024-01-03,11,\n';
    await write({ 'close.csv': table, 'volume.csv': table });
    await load();
    expect((await store()).rows).toMatchObject({ market: 3 });
  }, wideMapping);
  await runWithDesk(
    async ({ write, load, store }) => {
      await write({ 'x.csv': 'date,identifier,CLOSE\n2024-01-02,A,10\n2024-01-02,A,12\n2024-01-03,A,11\n' });
      await load();
      expect((await store()).rows).toMatchObject({ market: 2 });
    },
    Mapping.parse({ on_duplicate: 'first' }),
  );
});
