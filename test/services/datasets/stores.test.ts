import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sqlite from 'node-sqlite3-wasm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DataAudit } from '#contract/stores/audit.js';
import type { ImportResult } from '#contract/stores/import.js';
import type { DataStore, DataStoreCollection } from '#contract/stores/store.js';
import type { Finding } from '#domain/findings.js';
import type { JobStatus } from '#jobs/status.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const days = (count: number) =>
  Array.from({ length: count }, (_, i) => new Date(Date.UTC(2024, 0, 2 + i)).toISOString().slice(0, 10));
const marketCsv = (names: readonly string[], count = 5, price = 10) =>
  `identifier,date,CLOSE\n${days(count)
    .flatMap((day, t) => names.map((name, n) => `${name},${day},${price + t + n}`))
    .join('\n')}\n`;

async function folderWith(name: string, files: Record<string, string>): Promise<string> {
  const folder = join(service.root, name);
  await mkdir(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
  return folder;
}

async function registered(id: string, names = ['A', 'B'], activate = false): Promise<DataStore> {
  const location = await folderWith(id, { 'market.csv': marketCsv(names) });
  const { status, body } = await service.ask<DataStore>('POST', '/data/stores', {
    store_id: id,
    name: id,
    kind: 'folder',
    location,
    activate,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

async function writeTables(kind: 'sqlite' | 'duckdb', path: string, statements: readonly string[]): Promise<void> {
  if (kind === 'sqlite') {
    const database = new sqlite.Database(path);
    for (const statement of statements) database.exec(statement);
    database.close();
    return;
  }
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}

const tables = (names: readonly string[], price = 10) => ({
  market: {
    index: names.map((_, i) => i),
    columns: ['identifier', 'date', 'CLOSE'],
    data: names.map((name) => [name, '2024-01-02', price]),
  },
});
const store = async (id: string) => (await service.ask<DataStore>('GET', `/data/stores/${id}`)).body;
const active = async () => (await service.ask<DataStoreCollection>('GET', '/data/stores')).body.active;
const findingsOf = (error: { readonly detail: Readonly<Record<string, unknown>> | null }) =>
  ((error.detail ?? {})['findings'] as Finding[]).map(({ code, path }) => `${code} ${path}`);

describe('registering a folder', () => {
  test('reads it in full and does not serve it', async () => {
    expect(await registered('first')).toMatchObject({
      store_id: 'first',
      kind: 'folder',
      managed: false,
      active: false,
      status: 'ready',
      refreshable: true,
      identifiers: 2,
      start: '2024-01-02',
      end: '2024-01-06',
      error: null,
    });
    expect((await store('first')).content_hash).toMatch(/^[0-9a-f]{64}$/);
    expect((await store('first')).files).toMatchObject([{ label: 'market' }]);
  });

  test('serves it at once when asked to', async () => {
    expect(await registered('served', ['A', 'B'], true)).toMatchObject({ active: true });
    expect(await active()).toBe('served');
    expect((await service.ask('GET', '/data/prices/A')).status).toBe(200);
  });

  test('makes an id of the name', async () => {
    const location = await folderWith('named', { 'market.csv': marketCsv(['A']) });
    expect(
      (await service.ask<DataStore>('POST', '/data/stores', { name: 'US Large: Caps!', kind: 'folder', location })).body
        .store_id,
    ).toBe('us-large-caps');
  });

  test('is refused twice for one folder, whatever the way to it, and for a taken id', async () => {
    const { location } = await registered('once');
    expect(
      await service.refusal('POST', '/data/stores', { name: 'again', kind: 'folder', location: `${location}/../once` }),
    ).toMatchObject({ status: 409, code: 'FOLDER_REGISTERED' });
    const other = await folderWith('once-more', { 'market.csv': marketCsv(['A']) });
    expect(
      await service.refusal('POST', '/data/stores', { store_id: 'once', name: 'x', kind: 'folder', location: other }),
    ).toMatchObject({ status: 409, code: 'STORE_EXISTS' });
  });

  test('tells every problem and registers nothing', async () => {
    const location = await folderWith('bad', {
      'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,x\nA,2024-02-30,1\n',
    });
    const error = await service.refusal('POST', '/data/stores', {
      store_id: 'bad',
      name: 'bad',
      kind: 'folder',
      location,
    });
    expect([error.status, ...findingsOf(error)]).toEqual([
      422,
      'NOT_A_NUMBER market[row 1].CLOSE',
      'BAD_DATE market[row 2].date',
    ]);
    expect(await service.refusal('GET', '/data/stores/bad')).toMatchObject({ status: 404, code: 'STORE_NOT_FOUND' });
  });

  test('outside the roots is refused alike whether the place exists', async () => {
    const [there, absent] = [
      await service.refusal('POST', '/data/stores', { name: 'x', kind: 'folder', location: '/etc' }),
      await service.refusal('POST', '/data/stores', { name: 'x', kind: 'folder', location: '/nowhere' }),
    ];
    expect(findingsOf(there)).toEqual(['LOCATION_NOT_ALLOWED location']);
    expect(findingsOf(absent)).toEqual(findingsOf(there));
    expect(absent.message).toBe(there.message);
  });

  test('with a table that is named outside the roots is refused alike whether it exists', async () => {
    const location = await folderWith('named-outside', { 'market.csv': marketCsv(['A']) });
    const refusalOf = (market: string) =>
      service.refusal('POST', '/data/stores', { name: 'named outside', kind: 'folder', location, tables: { market } });
    const [there, absent] = [
      await refusalOf('../../../../../../etc/passwd'),
      await refusalOf('../../../../../../etc/passwd.of.nobody'),
    ];
    expect(findingsOf(there)).toEqual(['LOCATION_NOT_ALLOWED tables.market']);
    expect(absent.detail).toEqual(there.detail);
    expect(findingsOf(await refusalOf('prices.csv'))).toEqual(['LOCATION_NOT_FOUND tables.market']);
  });

  test('with more problems than are listed says how many, and counts the rest last', async () => {
    const columns = Array.from({ length: 25 }, (_, k) => `F${k}`);
    const rows = Array.from({ length: 10 }, (_, i) => `A${i},2024-01-02,1,${columns.map(() => 'x').join(',')}`);
    const location = await folderWith('very-bad', {
      'market.csv': `identifier,date,CLOSE,${columns.join(',')}\n${rows.join('\n')}\n`,
    });
    const error = await service.refusal('POST', '/data/stores', { name: 'very bad', kind: 'folder', location });
    expect(error.message).toBe('250 errors in the data.');
    const findings = (error.detail as { readonly findings: readonly Finding[] }).findings;
    expect(findings).toHaveLength(201);
    expect(findings.at(-1)).toMatchObject({
      code: 'MORE_FINDINGS',
      message: '50 more errors are not listed; the first 200 findings are.',
      count: 50,
    });
  });

  test('with a fault in its listing is told what is wrong with its files as well', async () => {
    const location = await folderWith('mixed', {
      'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,0\n',
      'reference.csv': '',
      'corporate_action.csv': 'x\n',
    });
    const error = await service.refusal('POST', '/data/stores', { name: 'mixed', kind: 'folder', location });
    expect(findingsOf(error)).toEqual([
      'NON_POSITIVE_PRICE market[row 1].CLOSE',
      'UNREADABLE_FILE reference',
      'UNKNOWN_FIELD corporate_action.csv',
    ]);
  });

  test('with a name that is nearly known is told so with the store', async () => {
    const location = await folderWith('nearly', {
      'market.csv': 'identifier,date,CLOSE,VOLUMNE\nA,2024-01-02,1,1\n',
      'universe.csv': 'x\n',
    });
    const { body } = await service.ask<DataStore>('POST', '/data/stores', {
      store_id: 'nearly',
      name: 'nearly',
      kind: 'folder',
      location,
    });
    expect(body.findings?.map(({ severity, path }) => `${severity} ${path}`)).toEqual([
      'warning market.VOLUMNE',
      'warning universe.csv',
    ]);
  });

  test('that is absent inside the roots is not found', async () => {
    expect(
      findingsOf(
        await service.refusal('POST', '/data/stores', {
          name: 'x',
          kind: 'folder',
          location: join(service.root, 'absent'),
        }),
      ),
    ).toEqual(['LOCATION_NOT_FOUND location']);
  });
});

describe('activating', () => {
  test('switches to the other store once it is read', async () => {
    await registered('one', ['ONE'], true);
    await registered('two', ['TWO']);
    const { status, body } = await service.ask<JobStatus>('POST', '/data/stores/two/activate');
    expect([status, body.job_id, body.kind]).toEqual([202, 'load:two', 'load']);
    const job = await service.finished('load:two');
    expect(job).toMatchObject({ status: 'succeeded', result: { store_id: 'two', active: true, status: 'ready' } });
    expect(await active()).toBe('two');
    expect((await store('one')).active).toBe(false);
    expect((await service.ask('GET', '/data/prices/TWO')).status).toBe(200);
    expect(await service.refusal('GET', '/data/prices/ONE')).toMatchObject({
      status: 404,
      code: 'IDENTIFIER_NOT_FOUND',
    });
  });

  test('the served store is refused, and so is deleting it', async () => {
    await registered('here', ['A'], true);
    expect(await service.refusal('POST', '/data/stores/here/activate')).toMatchObject({
      status: 409,
      code: 'STORE_ACTIVE',
    });
    expect(await service.refusal('DELETE', '/data/stores/here')).toMatchObject({ status: 409, code: 'STORE_ACTIVE' });
  });

  test('a store whose files have gone bad fails, says why, and the old one goes on', async () => {
    await registered('good', ['GOOD'], true);
    const spoilt = await registered('spoilt', ['X']);
    await writeFile(join(spoilt.location!, 'market.csv'), 'identifier,date,CLOSE\nX,2024-01-02,text\n');
    await service.ask('POST', '/data/stores/spoilt/activate');
    const job = await service.finished('load:spoilt');
    expect(job).toMatchObject({ status: 'failed', result: null, error: { code: 'STORE_READ_FAILED' } });
    expect(findingsOf(job.error!)).toEqual(['NOT_A_NUMBER market[row 1].CLOSE']);
    expect(await store('spoilt')).toMatchObject({
      status: 'error',
      error: { code: 'STORE_READ_FAILED' },
      identifiers: 1,
    });
    expect(await active()).toBe('good');
    await writeFile(join(spoilt.location!, 'market.csv'), marketCsv(['X']));
    await service.ask('POST', '/data/stores/spoilt/activate');
    expect((await service.finished('load:spoilt')).status).toBe('succeeded');
    expect(await store('spoilt')).toMatchObject({ status: 'ready', error: null });
  });

  test('an unknown store is not found', async () => {
    expect(await service.refusal('POST', '/data/stores/none/activate')).toMatchObject({
      status: 404,
      code: 'STORE_NOT_FOUND',
    });
  });
});

describe('importing tables', () => {
  test('writes a managed store that reads back as it came, and deletes its folder with it', async () => {
    const { status, body } = await service.ask<ImportResult>('POST', '/data/import', {
      store_id: 'imported',
      name: 'Imported',
      tables: tables(['A', 'B']),
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      identifiers: 2,
      start: '2024-01-02',
      end: '2024-01-02',
      rows: { market: 2 },
      findings: [],
      store: { kind: 'imported', managed: true, refreshable: false, source: null, active: false },
    });
    await service.ask('POST', '/data/stores/imported/activate');
    expect(await service.finished('load:imported')).toMatchObject({
      status: 'succeeded',
      result: { content_hash: body.store.content_hash },
    });
    await registered('beside', ['A'], true);
    expect(existsSync(body.store.location!)).toBe(true);
    expect((await service.ask('DELETE', '/data/stores/imported')).status).toBe(204);
    expect(existsSync(body.store.location!)).toBe(false);
  });

  test('tells every problem with its row and writes nothing', async () => {
    const before = await readdir(join(service.root, 'home', 'stores'));
    const bad = {
      market: {
        index: [0, 1],
        columns: ['identifier', 'date', 'CLOSE'],
        data: [
          ['A', '2024-01-02', '1,5'],
          ['A', '2024-01-03'],
        ],
      },
    };
    const error = await service.refusal('POST', '/data/import', { store_id: 'bad-import', name: 'x', tables: bad });
    expect(findingsOf(error)).toEqual(['NOT_A_NUMBER market[row 1].CLOSE', 'UNREADABLE_FILE market[row 2]']);
    expect(await readdir(join(service.root, 'home', 'stores'))).toEqual(before);
    expect(await service.refusal('GET', '/data/stores/bad-import')).toMatchObject({ status: 404 });
  });

  test('needs exactly one of content and tables', async () => {
    expect(await service.refusal('POST', '/data/import', { name: 'x' })).toMatchObject({
      status: 422,
      code: 'VALIDATION_FAILED',
    });
    expect(
      await service.refusal('POST', '/data/import', { name: 'x', content: 'eA==', tables: tables(['A']) }),
    ).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
  });

  test('refuses a taken id unless it is to replace, which keeps the store served', async () => {
    await service.ask('POST', '/data/import', { store_id: 'twice', name: 'x', tables: tables(['A']), activate: true });
    expect(
      await service.refusal('POST', '/data/import', { store_id: 'twice', name: 'x', tables: tables(['A']) }),
    ).toMatchObject({ status: 409, code: 'STORE_EXISTS' });
    const { body } = await service.ask<ImportResult>('POST', '/data/import', {
      store_id: 'twice',
      name: 'x',
      tables: tables(['NEW']),
      on_exists: 'replace',
    });
    expect(body.store).toMatchObject({ active: true, identifiers: 1 });
    expect((await service.ask('GET', '/data/prices/NEW')).status).toBe(200);
    expect(
      (await readdir(join(service.root, 'home', 'stores'))).filter((name) => name.startsWith('twice.')),
    ).toHaveLength(1);
  });

  test('an unknown table is named with the accepted ones', async () => {
    const error = await service.refusal('POST', '/data/import', {
      name: 'x',
      tables: { ...tables(['A']), prices: { index: [], columns: [], data: [] } },
    });
    expect(findingsOf(error)).toEqual(['UNKNOWN_FIELD tables.prices']);
  });
});

describe('changing a store', () => {
  test('renames it under its etag', async () => {
    await registered('rename');
    const before = await service.ask('GET', '/data/stores/rename');
    expect(before.etag).not.toBeNull();
    expect(
      (
        await service.ask<{ error: { code: string } }>(
          'PATCH',
          '/data/stores/rename',
          { name: 'x' },
          { 'if-match': '"other"' },
        )
      ).body.error.code,
    ).toBe('PRECONDITION_FAILED');
    const after = await service.ask<DataStore>(
      'PATCH',
      '/data/stores/rename',
      { name: 'New name' },
      { 'if-match': before.etag! },
    );
    expect([after.status, after.body.name]).toEqual([200, 'New name']);
    expect(after.etag).not.toBe(before.etag);
    expect((await service.ask('GET', '/data/stores/rename', undefined, { 'if-none-match': after.etag! })).status).toBe(
      304,
    );
  });

  test('needs something to change, and a place that is allowed', async () => {
    await registered('patch');
    expect(await service.refusal('PATCH', '/data/stores/patch', {})).toMatchObject({ status: 422 });
    expect(findingsOf(await service.refusal('PATCH', '/data/stores/patch', { source: '/etc' }))).toEqual([
      'LOCATION_NOT_ALLOWED source',
    ]);
    expect(await service.refusal('PATCH', '/data/stores/patch', { colour: 'red' })).toMatchObject({ status: 422 });
  });

  test('takes no place of another store, be it where that lies or where it will be refreshed from', async () => {
    const taken = await registered('taken');
    await registered('taker');
    expect(await service.refusal('PATCH', '/data/stores/taker', { source: taken.location })).toMatchObject({
      status: 409,
      code: 'FOLDER_REGISTERED',
      detail: { store_id: 'taken' },
    });
    const next = await folderWith('next', { 'market.csv': marketCsv(['A']) });
    expect((await service.ask<DataStore>('PATCH', '/data/stores/taker', { source: next })).body.source).toBe(next);
    expect((await service.ask('PATCH', '/data/stores/taker', { source: next })).status).toBe(200);
    expect(await service.refusal('POST', '/data/stores', { name: 'x', kind: 'folder', location: next })).toMatchObject({
      status: 409,
      code: 'FOLDER_REGISTERED',
      detail: { store_id: 'taker' },
    });
  });

  test('declares prices adjusted, also while it is served', async () => {
    await registered('declare', ['A'], true);
    expect((await service.ask<DataStore>('PATCH', '/data/stores/declare', { adjustment: 'total' })).body).toMatchObject(
      { adjustment: 'total', active: true },
    );
  });

  test('deleting a folder store leaves its folder', async () => {
    const { location } = await registered('leave');
    expect((await service.ask('DELETE', '/data/stores/leave')).status).toBe(204);
    expect(existsSync(join(location!, 'market.csv'))).toBe(true);
    expect(await service.refusal('DELETE', '/data/stores/leave')).toMatchObject({
      status: 404,
      code: 'STORE_NOT_FOUND',
    });
  });
});

describe('synthetic data', () => {
  const small = { assets: 5, start: '2020-01-01', end: '2020-12-31' };

  test('is listed while it is written, then served', async () => {
    const { status, body } = await service.ask<JobStatus>('POST', '/data/synthetic', { store_id: 'made', ...small });
    expect([status, body.job_id]).toEqual([202, 'generate:made']);
    expect(await store('made')).toMatchObject({ kind: 'synthetic', managed: true, active: false });
    expect(await service.finished('generate:made')).toMatchObject({
      status: 'succeeded',
      result: { store_id: 'made', status: 'ready', active: true, start: '2020-01-02', end: '2020-12-31' },
    });
    expect(await active()).toBe('made');
  });

  test('has the same content for the same request under another id, and names itself', async () => {
    const first = await store('made');
    const { body } = await service.ask<JobStatus>('POST', '/data/synthetic', { ...small, activate: false });
    expect(body.job_id).toBe('generate:synthetic-42-1');
    await service.finished(body.job_id);
    expect(await store('synthetic-42-1')).toMatchObject({
      content_hash: first.content_hash,
      active: false,
      files: first.files,
    });
  });

  test('without an id gets one of its own, however many ask at once', async () => {
    const asked = await Promise.all(
      [5, 6, 7].map((assets) =>
        service.ask<JobStatus>('POST', '/data/synthetic', {
          seed: 77,
          assets,
          start: '2022-01-01',
          end: '2022-06-30',
          activate: false,
        }),
      ),
    );
    expect(asked.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(asked.map(({ body }) => body.job_id).sort()).toEqual([
      'generate:synthetic-77-1',
      'generate:synthetic-77-2',
      'generate:synthetic-77-3',
    ]);
    for (const { body } of asked) expect(await service.finished(body.job_id)).toMatchObject({ status: 'succeeded' });
  });

  test('that is cancelled leaves nothing', async () => {
    await service.ask('POST', '/data/synthetic', {
      store_id: 'stopped',
      assets: 1000,
      start: '2000-01-01',
      end: '2020-12-31',
    });
    expect((await service.ask<JobStatus>('DELETE', '/jobs/generate:stopped')).body.status).toBe('cancelled');
    expect(await service.refusal('GET', '/data/stores/stopped')).toMatchObject({ status: 404 });
    expect(
      (await service.ask<DataStoreCollection>('GET', '/data/stores')).body.stores.map(({ store_id }) => store_id),
    ).not.toContain('stopped');
  });

  test.each([
    [{ calendar: 'NONE' }, 'UNKNOWN_CALENDAR calendar'],
    [{ start: '2020-01-04', end: '2020-01-05' }, 'EMPTY_RANGE start'],
    [{ assets: 5000, start: '1990-01-01', end: '2020-01-01' }, 'OUT_OF_RANGE assets'],
  ])('is refused for %j', async (request, place) => {
    expect(findingsOf(await service.refusal('POST', '/data/synthetic', request))).toEqual([place]);
  });
});

describe('importing a file', () => {
  test.each(['xlsx', 'csv'] as const)('the unmodified %s template makes a store', async (format) => {
    const response = await service.download(`/data/import/template?format=${format}`);
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="import-template\.(xlsx|zip)"$/);
    const content = Buffer.from(await response.arrayBuffer()).toString('base64');
    const { status, body } = await service.ask<ImportResult>('POST', '/data/import', {
      store_id: `template-${format}`,
      name: 'Template',
      format,
      content,
    });
    expect([status, body.rows]).toEqual([
      201,
      { market: 1, reference: 1, corporate_actions: 1, universes: 1, series: 1 },
    ]);
    expect(body.store.content_hash).toBe((await store('template-xlsx')).content_hash);
  });

  test('that is no base64, or no workbook, is told', async () => {
    expect(findingsOf(await service.refusal('POST', '/data/import', { name: 'x', content: 'not base64!' }))).toEqual([
      'WRONG_TYPE content',
    ]);
    expect(findingsOf(await service.refusal('POST', '/data/import', { name: 'x', content: 'eHl6' }))).toEqual([
      'UNREADABLE_FILE content',
    ]);
  });

  test('a body that is no JSON is told with its place', async () => {
    expect(
      (
        await service.download('/data/import', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"name":',
        })
      ).status,
    ).toBe(400);
  });
});

describe('appending', () => {
  const rows = (...data: readonly (readonly unknown[])[]) => ({
    market: { index: data.map((_, i) => i), columns: ['identifier', 'date', 'CLOSE'], data },
  });
  const append = (tables: object) => ({ store_id: 'grows', name: 'Grows', tables, on_exists: 'append' });

  test('adds names and dates and repeats what is there, whatever the order', async () => {
    await service.ask('POST', '/data/import', append(rows(['B', '2024-01-03', 2], ['A', '2024-01-03', 1])));
    const { status, body } = await service.ask<ImportResult>(
      'POST',
      '/data/import',
      append(rows(['C', '2024-01-02', 3], ['A', '2024-01-03', 1])),
    );
    expect([status, body.identifiers, body.start, body.end]).toEqual([201, 3, '2024-01-02', '2024-01-03']);
    const whole = await service.ask<ImportResult>('POST', '/data/import', {
      name: 'At once',
      tables: rows(['A', '2024-01-03', 1], ['B', '2024-01-03', 2], ['C', '2024-01-02', 3]),
    });
    expect(body.store.content_hash).toBe(whole.body.store.content_hash);
  });

  test('refuses to change what is there', async () => {
    const before = await store('grows');
    expect(findingsOf(await service.refusal('POST', '/data/import', append(rows(['A', '2024-01-03', 9]))))).toEqual([
      'DUPLICATE_KEY market[A 2024-01-03].CLOSE',
    ]);
    expect(await store('grows')).toEqual(before);
  });

  test('refuses prices of another basis', async () => {
    expect(
      findingsOf(
        await service.refusal('POST', '/data/import', { ...append(rows(['A', '2024-01-04', 9])), adjustment: 'total' }),
      ),
    ).toEqual(['NOT_IN_CHOICES adjustment']);
  });
});

describe('registering a database', () => {
  test('reads a SQLite file in full, serves it and refreshes it', async () => {
    const path = join(service.root, 'bars.db');
    const database = new sqlite.Database(path);
    database.exec("CREATE TABLE bars (identifier, date, CLOSE); INSERT INTO bars VALUES ('A', '2024-01-02', 1)");
    const { status, body } = await service.ask<DataStore>('POST', '/data/stores', {
      name: 'Bars',
      kind: 'database',
      location: `sqlite://${path}`,
      tables: { market: 'bars' },
      activate: true,
    });
    expect([status, body.kind, body.active, body.location]).toEqual([201, 'database', true, `sqlite://${path}`]);
    database.exec("INSERT INTO bars VALUES ('A', '2024-01-03', 2)");
    database.close();
    await service.ask('POST', '/data/stores/bars/refresh');
    expect(await service.finished('refresh:bars')).toMatchObject({
      status: 'succeeded',
      result: { rows_added: 1, end: '2024-01-03' },
    });
    const again = { name: 'Again', kind: 'database', location: `sqlite://${path}`, tables: { market: 'bars' } };
    expect(await service.refusal('POST', '/data/stores', again)).toMatchObject({
      status: 409,
      code: 'FOLDER_REGISTERED',
    });
  });

  test.each(['sqlite', 'duckdb'] as const)(
    'a second store of a %s file with other tables is another store',
    async (kind) => {
      const path = join(service.root, `two.${kind}`);
      await writeTables(kind, path, [
        'CREATE TABLE us (identifier VARCHAR, date DATE, CLOSE DOUBLE)',
        "INSERT INTO us VALUES ('A', '2024-01-02', 1)",
        'CREATE TABLE uk (identifier VARCHAR, date DATE, CLOSE DOUBLE)',
        "INSERT INTO uk VALUES ('B', '2024-01-02', 2), ('C', '2024-01-02', 3)",
      ]);
      const location = `${kind}://${path}`;
      const create = (id: string, market: string) => ({
        store_id: `${kind}-${id}`,
        name: id,
        kind: 'database',
        location,
        tables: { market },
      });
      const made = [
        await service.ask<DataStore>('POST', '/data/stores', create('us', 'us')),
        await service.ask<DataStore>('POST', '/data/stores', create('uk', 'uk')),
      ];
      expect(made.map(({ status, body }) => [status, body.identifiers])).toEqual([
        [201, 1],
        [201, 2],
      ]);
      // The same market is another store as soon as another table is.
      expect(
        await service.refusal('POST', '/data/stores', {
          ...create('us-again', 'us'),
          tables: { market: 'us', universes: 'universes' },
        }),
      ).toMatchObject({ status: 409, detail: { store_id: `${kind}-us` } });
      await service.ask('POST', `/data/stores/${kind}-uk/activate`);
      expect(await service.finished(`load:${kind}-uk`)).toMatchObject({ status: 'succeeded' });
      expect((await service.ask('GET', '/data/prices/C')).status).toBe(200);
      // A source that another store reads with the same tables stays taken.
      expect((await service.ask('PATCH', `/data/stores/${kind}-uk`, { source: location })).status).toBe(200);
    },
  );

  test('without a driver is not supported; a host that is not allowed is refused without its password', async () => {
    expect(
      await service.refusal('POST', '/data/stores', {
        name: 'x',
        kind: 'database',
        location: 'mysql://u:p@localhost/x',
      }),
    ).toMatchObject({ status: 501, code: 'NOT_SUPPORTED' });
    const error = await service.refusal('POST', '/data/stores', {
      name: 'x',
      kind: 'database',
      location: 'postgresql://u:top-secret@10.1.2.3/x',
    });
    expect(findingsOf(error)).toEqual(['LOCATION_NOT_ALLOWED location']);
    expect(JSON.stringify(error)).not.toContain('top-secret');
  });

  test.each([
    ['postgresql://u:top/secret@127.0.0.1/x', 'WRONG_TYPE location'],
    ['postgresql://u:1/secret@127.0.0.1/x', 'LOCATION_NOT_ALLOWED location'],
    ['postgresql://u:top@secret@10.1.2.3/x', 'LOCATION_NOT_ALLOWED location'],
    ['postgresql://u:top secret@10.1.2.3/x', 'LOCATION_NOT_ALLOWED location'],
    ['postgresql://u@127.0.0.1/x?password=secret', 'WRONG_TYPE location'],
    ['postgresql://u@10.1.2.3/x?password=secret', 'LOCATION_NOT_ALLOWED location'],
    ['postgresql:u:secret@127.0.0.1/x', 'WRONG_TYPE location'],
    ['postgresql://u:secret%@127.0.0.1/x', 'WRONG_TYPE location'],
    ['postgresql://u:secret@127.0.0.1:99999/x', 'WRONG_TYPE location'],
    ['postgresql://u:top@secret@127.0.0.1:1/x', 'UNREADABLE_FILE location'],
    ['sqlite:///data/%zz', 'WRONG_TYPE location'],
  ])('at %s is refused without a word of its password', async (location, told) => {
    const error = await service.refusal('POST', '/data/stores', { name: 'x', kind: 'database', location });
    expect(findingsOf(error)).toEqual([told]);
    expect(JSON.stringify(error)).not.toContain('secret');
    expect(
      JSON.stringify(await service.refusal('POST', '/data/stores', { name: 'x', kind: 'folder', location })),
    ).not.toContain('secret');
  });

  test('whose URL stands where none belongs is refused without its password', async () => {
    const error = await service.refusal('POST', '/data/stores', {
      name: 'x',
      kind: 'database',
      location: ['postgresql://u:secret@127.0.0.1/x'],
    });
    expect(findingsOf(error)).toEqual(['WRONG_TYPE location']);
    expect(JSON.stringify(error)).not.toContain('secret');
  });

  test('is refused twice for one file, whatever the way to it', async () => {
    const path = join(service.root, 'same.db');
    const database = new sqlite.Database(path);
    database.exec("CREATE TABLE market (identifier, date, CLOSE); INSERT INTO market VALUES ('A', '2024-01-02', 1)");
    database.close();
    const create = (name: string, location: string) =>
      service.ask<DataStore & { error?: { code: string } }>('POST', '/data/stores', {
        name,
        kind: 'database',
        location,
      });
    expect((await create('Same', `sqlite://${service.root}/./same.db`)).body.location).toBe(`sqlite://${path}`);
    expect((await create('Other', `sqlite://${service.root}/%73ame.db`)).body.error?.code).toBe('FOLDER_REGISTERED');
  });
});

describe('refreshing', () => {
  const append = async (id: string, text: string) => {
    const file = join((await store(id)).location!, 'market.csv');
    await writeFile(file, (await readFile(file, 'utf8')) + text);
  };

  test('a served folder adds the dates its files have gained, and tells restatements when asked for all', async () => {
    const before = await registered('daily', ['A', 'B'], true);
    await append('daily', 'A,2024-01-08,50\n');
    expect((await service.ask<JobStatus>('POST', '/data/stores/daily/refresh')).status).toBe(202);
    expect(await service.finished('refresh:daily')).toMatchObject({
      status: 'succeeded',
      result: {
        store_id: 'daily',
        rows_added: 1,
        dates_added: 1,
        identifiers_added: 0,
        end: '2024-01-08',
        restatements_total: 0,
      },
    });
    expect(await store('daily')).toMatchObject({
      end: '2024-01-08',
      active: true,
      last_refreshed_at: expect.any(String) as string,
    });
    expect((await store('daily')).content_hash).not.toBe(before.content_hash);
    const file = join(before.location!, 'market.csv');
    await writeFile(file, (await readFile(file, 'utf8')).replace('A,2024-01-02,10', 'A,2024-01-02,10.5'));
    await service.ask('POST', '/data/stores/daily/refresh', { full: true });
    expect((await service.finished('refresh:daily')).result).toMatchObject({
      rows_changed: 1,
      restatements: [{ identifier: 'A', date: '2024-01-02', column: 'CLOSE', before: 10, after: 10.5 }],
    });
    const served = (await service.ask<{ prices: { data: number[][] } }>('GET', '/data/prices/A')).body;
    expect(served.prices.data[0]).toEqual([10.5]);
  });

  test('the served store is what a sync refreshes', async () => {
    await registered('synced', ['A'], true);
    await append('synced', 'A,2024-01-09,60\n');
    expect((await service.ask<JobStatus>('POST', '/data/sync', {})).body.job_id).toBe('sync:synced');
    expect(await service.finished('sync:synced')).toMatchObject({
      kind: 'sync',
      status: 'succeeded',
      result: { rows_added: 1 },
    });
  });

  test('a bad file fails and the served version goes on', async () => {
    await registered('turns-bad', ['A'], true);
    await append('turns-bad', 'A,2024-01-09,text\n');
    await service.ask('POST', '/data/stores/turns-bad/refresh');
    expect(await service.finished('refresh:turns-bad')).toMatchObject({
      status: 'failed',
      error: { code: 'STORE_READ_FAILED' },
    });
    expect((await service.ask('GET', '/data/prices/A')).status).toBe(200);
    expect(await active()).toBe('turns-bad');
  });

  test('is refused for imported files, and for a folder that is not served', async () => {
    await service.ask('POST', '/data/import', { store_id: 'fixed', name: 'x', tables: tables(['A']) });
    expect(await service.refusal('POST', '/data/stores/fixed/refresh')).toMatchObject({
      status: 409,
      code: 'NOTHING_TO_REFRESH',
    });
    await registered('idle');
    expect(await service.refusal('POST', '/data/stores/idle/refresh')).toMatchObject({
      status: 409,
      code: 'STORE_NOT_SERVED',
    });
    expect(await service.refusal('POST', '/data/stores/none/refresh')).toMatchObject({
      status: 404,
      code: 'STORE_NOT_FOUND',
    });
    expect(await service.refusal('POST', '/data/stores/idle/refresh', { until: '2024-02-30' })).toMatchObject({
      status: 422,
    });
  });

  test('synthetic data is extended with its earlier bars as they were, served or not', async () => {
    await service.ask('POST', '/data/synthetic', {
      store_id: 'grown',
      assets: 5,
      start: '2020-01-01',
      end: '2020-06-30',
      activate: false,
    });
    await service.finished('generate:grown');
    await service.ask('POST', '/data/stores/grown/refresh', { until: '2020-12-31' });
    expect(await service.finished('refresh:grown')).toMatchObject({
      status: 'succeeded',
      result: { rows_changed: 0, restatements_total: 0, start: '2020-01-02', end: '2020-12-31' },
    });
    expect((await store('grown')).content_hash).toBe((await store('made')).content_hash);
  });
});

describe('looking a store through', () => {
  test('finds what is wrong with its evidence, and writes a repaired store beside it', async () => {
    const prices = Array.from({ length: 60 }, (_, i) => (i === 30 ? 1000 : 10 + (i % 3) / 10));
    const rows = prices.map((price, i) => `A,${days(60)[i]},${price}`);
    const location = await folderWith('doubtful', { 'market.csv': `identifier,date,CLOSE\n${rows.join('\n')}\n` });
    await service.ask('POST', '/data/stores', { store_id: 'doubtful', name: 'Doubtful', kind: 'folder', location });
    const { body: audit } = await service.ask<DataAudit>('GET', '/data/stores/doubtful/audit');
    expect(audit).toMatchObject({
      store_id: 'doubtful',
      total: 1,
      doubts: [
        {
          kind: 'currency_flip',
          identifier: 'A',
          date: days(60)[30],
          repair: { kind: 'scale', factor: 0.01, columns: ['CLOSE'] },
        },
      ],
    });
    const { status, body } = await service.ask<ImportResult>('POST', '/data/stores/doubtful/repairs', {
      doubts: [audit.doubts[0]!.id],
      activate: true,
    });
    expect([status, body.store.store_id, body.store.kind, body.store.active, body.store.name]).toEqual([
      201,
      'doubtful-repaired-1',
      'imported',
      true,
      'Doubtful, repaired',
    ]);
    expect((await service.ask<{ prices: { data: number[][] } }>('GET', '/data/prices/A')).body.prices.data[30]).toEqual(
      [10],
    );
    expect((await service.ask<DataAudit>('GET', '/data/stores/doubtful-repaired-1/audit')).body.doubts).toEqual([]);
    expect((await store('doubtful')).content_hash).toBe(audit.content_hash);
    expect(findingsOf(await service.refusal('POST', '/data/stores/doubtful/repairs', { doubts: ['none'] }))).toEqual([
      'NOT_IN_CHOICES doubts[0]',
    ]);
    expect(await service.refusal('GET', '/data/stores/none/audit')).toMatchObject({
      status: 404,
      code: 'STORE_NOT_FOUND',
    });
  });
});

describe('after a restart', () => {
  test('the store that was served is served again, and lost folders are gone', async () => {
    await service.ask('POST', '/data/import', {
      store_id: 'kept',
      name: 'kept',
      tables: tables(['KEPT']),
      activate: true,
    });
    const lost = join(service.root, 'home', 'stores', 'lost.00000000');
    await mkdir(lost);
    await writeFile(join(lost, '.divisor-store.json'), '{"format":1,"store_id":"lost"}');
    await service.restart();
    await expect.poll(active, { timeout: 20_000 }).toBe('kept');
    expect((await service.ask('GET', '/data/prices/KEPT')).status).toBe(200);
    expect(existsSync(lost)).toBe(false);
  });

  test('a store that cannot be read again says why and nothing is served', async () => {
    const gone = await registered('gone', ['A'], true);
    rmSync(gone.location!, { recursive: true });
    await service.restart();
    await expect.poll(async () => (await store('gone')).status, { timeout: 20_000 }).toBe('error');
    expect(await service.refusal('GET', '/data/prices/A')).toMatchObject({ status: 503, code: 'NO_DATA_SOURCE' });
    expect((await service.ask('GET', '/data/source')).body).toEqual({ configured: false, identifiers: 0 });
  });
});
