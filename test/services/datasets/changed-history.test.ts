import type { Finding } from '#domain/refusals/findings.js';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sqlite from 'node-sqlite3-wasm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DataStore } from '#contract/stores/store.js';
import type { RefreshReport } from '#market/content/refresh-report.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
/** What a start finds in a store is told by the service alone. */
const restart = () => service.restart(undefined, 'handed on');
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const bars = (rows: readonly string[], columns = 'CLOSE') => `identifier,date,${columns}\n${rows.join('\n')}\n`;
const FIRST = ['A,2024-01-02,10', 'B,2024-01-02,20', 'A,2024-01-03,11', 'B,2024-01-03,21'];

/** A folder that is served. */
async function served(id: string, files: Readonly<Record<string, string>>) {
  const folder = join(service.root, id);
  const write = async (named: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(named)) {
      await mkdir(join(folder, name, '..'), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  };
  await write(files);
  const { status, body } = await service.ask<DataStore>('POST', '/data/stores', {
    store_id: id,
    name: id,
    kind: 'folder',
    location: folder,
    activate: true,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return {
    folder,
    write,
    async refresh(request: object = {}) {
      await service.ask('POST', `/data/stores/${id}/refresh`, request);
      const job = await service.finished(`refresh:${id}`);
      expect(job.error).toBeNull();
      return job.result as unknown as RefreshReport;
    },
    closeOf: async (name: string) =>
      (
        await service.ask<{ prices: { index: string[]; data: number[][] } }>(
          'GET',
          `/data/prices/${name}?columns=CLOSE`,
        )
      ).body.prices.data.flat(),
    store: async () => (await service.ask<DataStore>('GET', `/data/stores/${id}`)).body,
  };
}

type Told = Pick<Finding, 'severity' | 'code' | 'path'>;

const changesOf = ({ findings }: { readonly findings?: readonly Told[] | undefined }) =>
  (findings ?? [])
    .filter(({ code }) => code === 'HISTORY_CHANGED' || code === 'DATES_ADDED')
    .map(({ severity, code, path }) => `${severity} ${code} ${path}`);

describe('a refresh of later days', () => {
  test.each<[string, Readonly<Record<string, string | null>>, object]>([
    [
      'a changed bar',
      { 'market/1.csv': bars(['A,2024-01-02,19', 'B,2024-01-02,20', 'A,2024-01-03,11', 'B,2024-01-03,21']) },
      { changed: 1, removed: 0, added: 0, columns: [] },
    ],
    ['a removed bar', { 'market/1.csv': bars(FIRST.slice(1)) }, { changed: 0, removed: 1, added: 0, columns: [] }],
    ['a removed file', { 'market/2.csv': null }, { changed: 0, removed: 1, added: 0, columns: [] }],
    [
      'earlier bars of a name in a new file',
      { 'market/0.csv': bars(['C,2023-12-29,30', 'C,2024-01-02,31']) },
      { changed: 0, removed: 0, added: 2, identifiers: ['C'], columns: [] },
    ],
    [
      'a new column',
      {
        'market/1.csv': bars(
          FIRST.map((row) => `${row},7`),
          'CLOSE,VOLUME',
        ),
      },
      { changed: 0, removed: 0, added: 0, columns: ['VOLUME'] },
    ],
  ])('finds %s, reports it and leaves it out; a full one takes it', async (what, change, leftOut) => {
    const id = what.replaceAll(' ', '-');
    const desk = await served(id, { 'market/1.csv': bars(FIRST), 'market/2.csv': bars(['A,2024-01-04,12']) });
    const before = await desk.store();
    for (const [name, text] of Object.entries(change))
      await (text === null ? rm(join(desk.folder, name)) : desk.write({ [name]: text }));
    const report = await desk.refresh();
    expect(report).toMatchObject({
      rows_added: 0,
      rows_changed: 0,
      left_out: leftOut,
      findings: [{ severity: 'warning', code: 'HISTORY_CHANGED', path: 'market' }],
    });
    expect(report.findings[0]?.message).toContain('full: true');
    const after = await desk.store();
    expect(after.content_hash).toBe(before.content_hash);
    expect(changesOf(after)).toEqual(['warning HISTORY_CHANGED market']);
    // What was reported once is reported until it is taken.
    expect((await desk.refresh()).left_out).toMatchObject(leftOut);
    const full = await desk.refresh({ full: true });
    expect(full.left_out).toBeNull();
    expect(changesOf(full)).toEqual([]);
    expect(full.datasets.market.added + full.datasets.market.changed + full.datasets.market.removed).toBeGreaterThan(0);
    expect(await desk.refresh()).toMatchObject({ left_out: null, rows_changed: 0 });
    expect(changesOf(await desk.store())).toEqual([]);
  });

  test('takes tables as they are now and says that they tell of days that were held', async () => {
    const actions = (...rows: readonly string[]) => ({
      'corporate_actions.csv': `identifier,type,value,ex_date\n${rows.join('\n')}\n`,
    });
    const desk = await served('tables', { 'market.csv': bars(FIRST), ...actions('A,DIVIDEND,0.5,2024-01-03') });
    await desk.write(actions('A,DIVIDEND,0.6,2024-01-03', 'B,DIVIDEND,0.1,2024-02-01'));
    const report = await desk.refresh();
    expect(report).toMatchObject({
      rows_added: 1,
      rows_changed: 1,
      datasets: { corporate_actions: { added: 1, changed: 1, removed: 0 } },
      findings: [{ code: 'HISTORY_CHANGED', path: 'corporate_actions' }],
    });
    expect(report.findings[0]?.message).toMatch(/1 changed, 0 removed, 0 added/);
    expect(await desk.refresh()).toMatchObject({ rows_added: 0, rows_changed: 0, findings: [] });
  });

  test('of a database finds what was corrected in it', async () => {
    const path = join(service.root, 'desk.db');
    const run = (sql: string) => {
      const database = new sqlite.Database(path);
      database.exec(sql);
      database.close();
    };
    run(
      "CREATE TABLE market (identifier, date, CLOSE); INSERT INTO market VALUES ('A', '2024-01-02', 10), ('A', '2024-01-03', 11)",
    );
    expect(
      (
        await service.ask('POST', '/data/stores', {
          store_id: 'database',
          name: 'x',
          kind: 'database',
          location: `sqlite://${path}`,
          activate: true,
        })
      ).status,
    ).toBe(201);
    run("UPDATE market SET CLOSE = 10.5 WHERE date = '2024-01-02'; INSERT INTO market VALUES ('A', '2024-01-04', 12)");
    await service.ask('POST', '/data/sync', {});
    expect((await service.finished('sync:database')).result).toMatchObject({
      rows_added: 1,
      left_out: { changed: 1, removed: 0, added: 0 },
      findings: [{ code: 'HISTORY_CHANGED', path: 'market' }],
    });
  });
});

test('a full refresh counts every row it changed, whatever its table, and lists the values', async () => {
  const tablesOf = (dividend: number, sector: string, end: string) => ({
    'corporate_actions.csv': `identifier,type,value,ex_date\nA,DIVIDEND,${dividend},2024-01-03\n`,
    'reference.csv': `identifier,SECTOR\nA,${sector}\n`,
    'universes.csv': `universe,identifier,start,end\nU,A,,${end}\n`,
  });
  const desk = await served('every-row', { 'market.csv': bars(FIRST), ...tablesOf(0.5, 'Energy', '2024-01-03') });
  await desk.write({
    'market.csv': bars(['A,2024-01-02,10.5', ...FIRST.slice(1)]),
    ...tablesOf(0.6, 'Health', '2024-01-02'),
  });
  const one = { added: 0, changed: 1, removed: 0 };
  expect(await desk.refresh({ full: true })).toMatchObject({
    rows_added: 0,
    rows_changed: 4,
    datasets: { market: one, reference: one, corporate_actions: one, universes: one },
    restatements_total: 4,
    restatements: [
      { dataset: 'market', identifier: 'A', date: '2024-01-02', column: 'CLOSE', before: 10, after: 10.5 },
      { dataset: 'reference', identifier: 'A', date: null, column: 'SECTOR', before: 'Energy', after: 'Health' },
      {
        dataset: 'corporate_actions',
        identifier: 'A',
        date: '2024-01-03',
        column: 'DIVIDEND.value',
        before: 0.5,
        after: 0.6,
      },
      { dataset: 'universes', identifier: 'A', date: null, column: 'U.end', before: '2024-01-03', after: '2024-01-02' },
    ],
  });
});

test('a full refresh up to a day restates nothing behind it', async () => {
  const desk = await served('bounded', { 'market.csv': bars(FIRST) });
  await desk.write({
    'market.csv': bars([
      'A,2024-01-02,10.5',
      'B,2024-01-02,20',
      'A,2024-01-03,99',
      'B,2024-01-03,21',
      'A,2024-01-04,12',
    ]),
  });
  expect(await desk.refresh({ full: true, until: '2024-01-02' })).toMatchObject({
    rows_added: 0,
    rows_changed: 1,
    end: '2024-01-03',
  });
  expect(await desk.closeOf('A')).toEqual([10.5, 11]);
});

describe('a restart', () => {
  test('that finds another history than was served says so with the counts, until the store is read by request', async () => {
    const desk = await served('restarted', { 'market.csv': bars(FIRST) });
    const before = await desk.store();
    const later = ['A,2024-01-04,12', 'B,2024-01-04,22'];
    await desk.write({ 'market.csv': bars(['A,2024-01-02,19', ...FIRST.slice(1, 3), ...later]) });
    await restart();
    expect(await desk.closeOf('A')).toEqual([19, 11, 12]);
    const after = await desk.store();
    expect(after.content_hash).not.toBe(before.content_hash);
    expect(changesOf(after)).toEqual(['warning HISTORY_CHANGED market']);
    expect(after.findings?.[0]?.message).toMatch(
      new RegExp(
        `up to 2024-01-03.*${before.content_hash!.slice(0, 12)} before, ${after.content_hash!.slice(0, 12)} now; market 4 rows before, 5 now. 1 row changed, 1 removed, 2 added`,
      ),
    );
    await restart();
    await desk.closeOf('A');
    expect((await desk.store()).findings).toEqual(after.findings);
    const taken = { dates_added: 1, rows_added: 2, identifiers_added: 0 };
    expect((await desk.store()).taken_at_start).toMatchObject({ ...taken, findings: [{ code: 'HISTORY_CHANGED' }] });
    // The next refresh tells what starts took, and it alone.
    const report = await desk.refresh();
    expect(changesOf(report)).toEqual(['warning HISTORY_CHANGED market']);
    expect(report).toMatchObject({ dates_added: 1, rows_added: 2, datasets: { market: { added: 2 } } });
    expect(changesOf(await desk.store())).toEqual([]);
    expect(await desk.refresh()).toMatchObject({ rows_added: 0, findings: [] });
  });

  test('that finds later days alone says that the history is what it was', async () => {
    const desk = await served('grown', { 'market/1.csv': bars(FIRST) });
    await desk.write({ 'market/2.csv': bars(['A,2024-01-04,12']) });
    await restart();
    expect(await desk.closeOf('A')).toEqual([10, 11, 12]);
    expect(changesOf(await desk.store())).toEqual(['info DATES_ADDED market']);
    await desk.write({ 'market/3.csv': bars(['A,2024-01-05,13', 'B,2024-01-05,23']) });
    await restart();
    expect(await desk.closeOf('A')).toEqual([10, 11, 12, 13]);
    await desk.write({ 'market/4.csv': bars(['A,2024-01-08,14']) });
    expect(await desk.refresh()).toMatchObject({
      dates_added: 3,
      rows_added: 4,
      identifiers_added: 0,
      datasets: { market: { added: 4, changed: 0, removed: 0 } },
      end: '2024-01-08',
    });
    expect(await desk.store()).toMatchObject({ taken_at_start: null, rows: { market: 8 } });
  });

  test('that finds a name that begins later says that the history of the others is what it was', async () => {
    const reference = (rows: readonly string[]) => ({ 'reference.csv': `identifier,SECTOR\n${rows.join('\n')}\n` });
    const desk = await served('joined', { 'market/1.csv': bars(FIRST), ...reference(['A,X', 'B,Y']) });
    const later = bars(['A,2024-01-04,12', 'AB,2024-01-04,32']);
    await desk.write({ 'market/2.csv': later, ...reference(['A,X', 'AB,X', 'B,Y']) });
    await restart();
    expect(await desk.closeOf('AB')).toEqual([32]);
    expect(changesOf(await desk.store())).toEqual(['info DATES_ADDED market']);
    expect((await desk.store()).findings?.[0]?.message).toContain('2 identifiers before, 3 now');
    expect(await desk.refresh()).toMatchObject({ dates_added: 1, identifiers_added: 1 });
    // A bar of a held day comes with a name: that is another history.
    await desk.write({ 'market/3.csv': bars(['C,2024-01-05,1', 'B,2024-01-04,2']) });
    await restart();
    expect(await desk.closeOf('C')).toEqual([1]);
    expect(changesOf(await desk.store())).toEqual(['warning HISTORY_CHANGED market']);
  });

  test('that finds what was served says nothing', async () => {
    const desk = await served('same', { 'market.csv': bars(FIRST) });
    await restart();
    await desk.closeOf('A');
    expect(changesOf(await desk.store())).toEqual([]);
  });

  test('after corrections were left out serves them, and says so', async () => {
    const desk = await served('left-out', { 'market.csv': bars(FIRST) });
    await desk.write({
      'market.csv': (await readFile(join(desk.folder, 'market.csv'), 'utf8')).replace(
        'A,2024-01-02,10',
        'A,2024-01-02,15',
      ),
    });
    expect((await desk.refresh()).left_out).toMatchObject({ changed: 1 });
    await restart();
    expect(await desk.closeOf('A')).toEqual([15, 11]);
    expect(
      (await desk.store()).findings?.map(({ code, message }) => [code, message.includes('not what it was')]),
    ).toEqual([['HISTORY_CHANGED', true]]);
  });
});

test('a store that is activated again says whether it is what it was', async () => {
  const desk = await served('again', { 'market.csv': bars(FIRST) });
  await served('other', { 'market.csv': bars(FIRST) });
  await desk.write({ 'market.csv': bars(['A,2024-01-02,19', ...FIRST.slice(1)]) });
  await service.ask('POST', '/data/stores/again/activate');
  const { result } = await service.finished('load:again');
  expect(changesOf(result as unknown as DataStore)).toEqual(['warning HISTORY_CHANGED market']);
});
