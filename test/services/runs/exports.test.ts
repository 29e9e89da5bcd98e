import { EXPORT_FORMATS, EXPORT_NAMES, EXPORTS, INDEX_FILE_TABLES } from '#domain/outputs/exports.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExportView } from '#contract/runs.js';

import {
  createExportRequest,
  closeExports,
  readCsvByDuckDb,
  expectRows,
  IDS,
  readJson,
  LAST,
  openExports,
  readParquetByDuckDb,
  formatPath,
  type Row,
  readRowsByArrow,
  readRowsByWorkbook,
  service,
} from './exports/set-up.js';
import { describeCsvByAccept } from './exports/by-accept.js';
import { describeSameNames } from './exports/same-names.js';
import { describeViewRows } from './exports/view-rows.js';
import { IS_SOAK } from '../../soak.js';

beforeAll(openExports);
afterAll(closeExports);

/**
 * Ids whose exports are written. A format writes the cells of a table in the same way for all ids. So one index and one
 * strategy are tested, and in the soak also short identifiers.
 */
const EXPORTED_IDS = IS_SOAK ? IDS : (['CAPPED', 'LAZY'] as const);

describe.each(EXPORTED_IDS)('every table of %s', (id) => {
  test.each(EXPORT_NAMES)(
    '%s is equal from CSV, Arrow, Parquet and Excel and from JSON, bit for bit',
    async (table) => {
      const rows = await readJson(createExportRequest(id, table));
      expect(rows.length).toBeGreaterThan(0);
      for (const read of [readCsvByDuckDb, readParquetByDuckDb, readRowsByArrow, readRowsByWorkbook])
        expectRows(await read(createExportRequest(id, table)), rows, read.name);
    },
  );

  test.each(EXPORT_NAMES)('%s is in the order of date and identifier, without duplicates', async (table) => {
    const rows = await readJson(createExportRequest(id, table));
    const formatRowKey = (row: Row): string =>
      `${row['date'] ?? row['begin'] ?? ''} ${row['identifier'] ?? row['group'] ?? ''}`;
    const formatKey = (row: Row): string =>
      `${formatRowKey(row)} ${row['type'] ?? row['reason'] ?? row['rule'] ?? ''} ${row['row'] ?? ''}`;
    const keys = rows.map(formatRowKey);
    expect(keys).toEqual(keys.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
    expect(new Set(rows.map(formatKey)).size).toBe(rows.length);
  });

  test.each(EXPORT_NAMES.filter((table) => 'date' in EXPORTS[table].columns && !(table in INDEX_FILE_TABLES)))(
    '%s of a window has the rows of its dates',
    async (table) => {
      const [start, end] = ['2020-11-02', '2021-06-30'];
      const all = await readJson({ id, table });
      const datedRows = all.filter(({ date }) => String(date) >= start && String(date) <= end);
      expectRows(await readJson({ id, table, query: `&start=${start}&end=${end}` }), datedRows);
      expect(await readJson({ id, table, query: '&start=2020-11-07&end=2020-11-08' })).toEqual([]);
    },
  );

  test('dates outside the run are refused with the dates of the run', async () => {
    const ask = (query: string) => readJson({ id, table: 'levels', query });
    await expect(ask('&start=2031-01-01')).rejects.toThrow(new RegExp(`start 2031-01-01 is after .* ${LAST}`));
    await expect(ask('&end=2001-01-01')).rejects.toThrow(/end 2001-01-01 is before .* 20\d\d-\d\d-\d\d/);
  });

  test('a date selects the session of a table of one session, and is refused for any other', async () => {
    await expect(readJson({ id, table: 'closing', query: '&date=2001-01-01' })).rejects.toThrow(
      /date 2001-01-01 is before .* 20\d\d-\d\d-\d\d/,
    );
    await expect(readJson({ id, table: 'levels', query: '&date=2020-11-06' })).rejects.toThrow(
      /The rows of levels are of many sessions: date does not apply to them, start and end do\./,
    );
    const rows = await readJson({ id, table: 'closing', query: '&date=2020-11-06' });
    expect(new Set(rows.map(({ date }) => date))).toEqual(new Set(['2020-11-06']));
  });
});

describeViewRows();
describeCsvByAccept();
describeSameNames();

describe('events', () => {
  test('of a long index add up to every change of its divisor', async () => {
    const levels = await readJson({ id: 'CAPPED', table: 'levels' });
    const events = await readJson({ id: 'CAPPED', table: 'events' });
    const types = new Set(events.map(({ type }) => type));
    expect(types).toContain('dividend');
    expect(types).toContain('split');
    expect(types).toContain('exit');
    let changes = 0;
    for (const [i, { date, divisor }] of levels.entries()) {
      if (i === 0) continue;
      const change = Number(divisor) / Number(levels[i - 1]!['divisor']) - 1;
      const rows = events.filter((event) => event['date'] === date);
      if (change !== 0) changes++;
      expect(rows.reduce((sum, { effect }) => sum + Number(effect), 0)).toBeCloseTo(change, 12);
      for (const row of rows) {
        expect(row['divisor_before']).toBe(levels[i - 1]!['divisor']);
        expect(row['divisor_after']).toBe(divisor);
      }
    }
    expect(changes).toBeGreaterThan(0);
  });

  test('are the stored actions on the holdings', async () => {
    const events = await readJson({ id: 'CAPPED', table: 'events' });
    const heldNames = new Set((await readJson({ id: 'CAPPED', table: 'weights' })).map((row) => row['identifier']));
    for (const identifier of heldNames) {
      const { actions } = await service.ok<{ actions: { type: string; value: number; ex_date: string }[] }>(
        'GET',
        `/data/corporate-actions/${identifier}?start=2019-07-02&end=${LAST}`,
      );
      for (const event of events.filter((row) => row['identifier'] === identifier && row['type'] !== 'exit')) {
        const sameDayActions = actions.filter(({ ex_date }) => ex_date === event['date']);
        expect(sameDayActions.map(({ value }) => value)).toContain(event['per_share']);
      }
    }
  });

  test('of a strategy have no effect on the divisor', async () => {
    const events = await readJson({ id: 'LAZY', table: 'events' });
    expect(events.filter(({ type, effect }) => type !== 'split' && effect !== null)).toEqual([]);
  });
});

describe('the answer of an export', () => {
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${service.url}/analytics/CAPPED/exports/${path}`, { headers });

  test.each([
    ['text/csv', 'text/csv; charset=utf-8'],
    ['application/vnd.apache.arrow.stream', 'application/vnd.apache.arrow.stream'],
    ['application/vnd.apache.parquet', 'application/vnd.apache.parquet'],
    ['*/*', 'application/json; charset=utf-8'],
    ['text/*, application/json;q=0.5', 'text/csv; charset=utf-8'],
    [
      'application/json;q=0.2, application/vnd.apache.arrow.stream;q=0.9, text/csv;q=0',
      'application/vnd.apache.arrow.stream',
    ],
  ])('Accept %s is met by %s', async (accept, type) => {
    const response = await ask('levels', { accept });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('vary')).toBe('Accept');
    await response.arrayBuffer();
  });

  test('with an Accept that cannot be met is 406 with the available types, unless a format is given', async () => {
    const response = await ask('levels', { accept: 'image/png, text/csv;q=0' });
    expect(response.status).toBe(406);
    const { error } = (await response.json()) as { error: { code: string; detail: { accepted: string[] } } };
    expect(error.code).toBe('NOT_ACCEPTABLE');
    expect(error.detail.accepted).toEqual(Object.values(EXPORT_FORMATS).map(({ media }) => media));
    const answer = await ask('levels?format=csv', { accept: 'image/png' });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
  });

  test('an unknown table, format or parameter is refused', async () => {
    for (const path of ['prices', 'levels?format=xml', 'levels?limit=3', 'levels?start=yesterday'])
      expect((await ask(path)).status).toBe(422);
    const { status, body } = await service.ask<{ error: { code: string } }>(
      'GET',
      formatPath({ id: 'CAPPED', table: 'levels', query: '&start=2021-01-04&end=2020-01-03' }, 'csv'),
    );
    expect([status, body.error.code]).toEqual([422, 'INVALID_RANGE']);
    expect((await service.ask('GET', '/analytics/NONE/exports/levels')).status).toBe(404);
  });

  test('content that the client has already is not sent again', async () => {
    const first = await ask('weights?format=csv');
    const etag = first.headers.get('etag')!;
    await first.arrayBuffer();
    expect((await ask('weights?format=csv', { 'if-none-match': etag })).status).toBe(304);
    const other = await ask('weights?format=csv&start=2021-01-04', { 'if-none-match': etag });
    expect(other.status).toBe(200);
    await other.arrayBuffer();
  });

  test('an export of a stale run reports it, in JSON as every view does', async () => {
    expect((await ask('levels?format=csv')).headers.get('x-run-stale')).toBeNull();
    const document = await service.ok<Record<string, unknown>>('GET', '/indices/CAPPED');
    await service.ok('PUT', '/indices/CAPPED', { ...document, base_value: 250 });
    expect((await ask('levels?format=csv')).headers.get('x-run-stale')).toBe('definition');
    const view = await service.ok<ExportView>('GET', formatPath({ id: 'CAPPED', table: 'levels' }, 'json'));
    expect(view.stale).toMatchObject({ definition: true, data: false });
    await service.ok('PUT', '/indices/CAPPED', document);
  });

  test('is not affected by a newer run while it is read', async () => {
    const path = formatPath({ id: 'WIDE', table: 'weights' }, 'csv');
    const wholeText = await (await fetch(`${service.url}${path}`)).text();
    expect(wholeText.length).toBeGreaterThan(2 * 2 ** 20); // parts have about a megabyte
    const reader = (await fetch(`${service.url}${path}`)).body!.getReader();
    const parts = [(await reader.read()).value!];
    await service.job('/analytics/WIDE/backtest', { end: '2021-06-30' });
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
    expect(Buffer.concat(parts).toString()).toBe(wholeText);
    expect(await (await fetch(`${service.url}${path}`)).text()).not.toBe(wholeText);
  });
});
