import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Mapping } from '#domain/documents/mapping.js';
import { contentOf, withDesk } from './refresh-desk.js';

const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'];
const CLOSE = 10;

/** A vendor's file of one name: adjusted closes make the growth on an ex-date (close + dividend) / previous close. */
function vendorFile(days: number, dividends: Readonly<Record<string, number>>) {
  let factor = 1;
  const rows = DAYS.slice(0, days)
    .toReversed()
    .map((day) => {
      const row = `${day},${CLOSE},${(CLOSE * factor).toFixed(6)}`;
      factor /= 1 + (dividends[day] ?? 0) / CLOSE;
      return row;
    });
  return `Date,Close,Adj Close\n${rows.toReversed().join('\n')}\n`;
}

const mapping = Mapping.parse({
  identifier_from: 'file:{identifier}.csv',
  columns: { date: 'Date', CLOSE: 'Close' },
  adjusted_close: 'Adj Close',
});

test('a refresh serves the dividends that adjusted closes tell of new days, and tells those that were restated', () =>
  withDesk(async ({ write, load, refresh, store, readWhole, location }) => {
    await write({ 'A.csv': vendorFile(3, { '2024-01-03': 0.5 }) });
    await load();
    expect((await store()).derived_actions).toEqual({ dividends: 1, splits: 0 });

    await write({ 'A.csv': vendorFile(4, { '2024-01-03': 0.5, '2024-01-05': 0.25 }) });
    expect(await refresh()).toMatchObject({ datasets: { corporate_actions: { added: 1, changed: 0, removed: 0 } } });
    expect(contentOf(await store())).toEqual(contentOf(await readWhole()));
    expect((await store()).rows).toMatchObject({ corporate_actions: 2 });

    await write({ 'A.csv': vendorFile(5, { '2024-01-03': 0.4, '2024-01-05': 0.25, '2024-01-08': 1 }) });
    expect(await refresh()).toMatchObject({
      rows_added: 2,
      findings: [{ code: 'HISTORY_CHANGED', path: 'corporate_actions' }],
    });
    expect(contentOf(await store())).toEqual(contentOf(await readWhole()));

    // Beside them, a table of actions that adjusted closes do not tell.
    await write({ 'corporate_actions.csv': 'identifier,type,value,ex_date\nA,DELISTING,9,2024-02-01\n' });
    expect(await refresh()).toMatchObject({ rows_added: 1, rows_changed: 0 });
    expect(await refresh()).toMatchObject({ rows_added: 0, rows_changed: 0, findings: [] });
    expect((await store()).rows).toMatchObject({ corporate_actions: 4 });
    await rm(join(location, 'corporate_actions.csv'));
    expect(await refresh()).toMatchObject({ rows_changed: 1 });
    expect(contentOf(await store())).toEqual(contentOf(await readWhole()));
  }, mapping));

test('rows of a store are bars kept: those of two wide tables once, and a bar said twice once', async () => {
  const wide = Mapping.parse({ layout: 'wide', fields: { 'close.csv': 'CLOSE', 'volume.csv': 'VOLUME' } });
  await withDesk(async ({ write, load, store }) => {
    const table = 'date,A,B\n2024-01-02,10,20\n2024-01-03,11,\n';
    await write({ 'close.csv': table, 'volume.csv': table });
    await load();
    expect((await store()).rows).toMatchObject({ market: 3 });
  }, wide);
  await withDesk(
    async ({ write, load, store }) => {
      await write({ 'x.csv': 'date,identifier,CLOSE\n2024-01-02,A,10\n2024-01-02,A,12\n2024-01-03,A,11\n' });
      await load();
      expect((await store()).rows).toMatchObject({ market: 2 });
    },
    Mapping.parse({ on_duplicate: 'first' }),
  );
});
