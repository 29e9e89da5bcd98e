import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import sqlite from 'node-sqlite3-wasm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DataStore } from '#contract/stores.js';
import { runService, type RunningService } from '../running-service.js';
import { formatBars, listChanges, FIRST, serveFolder } from './served-folder.js';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const serveFiles = (id: string, files: Readonly<Record<string, string>>) => serveFolder(service, id, files);

describe('a refresh of later days', () => {
  test.each<[string, Readonly<Record<string, string | null>>, object, string]>([
    [
      'a changed bar',
      { 'market/1.csv': formatBars(['A,2024-01-02,19', 'B,2024-01-02,20', 'A,2024-01-03,11', 'B,2024-01-03,21']) },
      { changed: 1, removed: 0, added: 0, columns: [] },
      'market.A',
    ],
    [
      'a removed bar',
      { 'market/1.csv': formatBars(FIRST.slice(1)) },
      { changed: 0, removed: 1, added: 0, columns: [] },
      'market.A',
    ],
    ['a removed file', { 'market/2.csv': null }, { changed: 0, removed: 1, added: 0, columns: [] }, 'market.A'],
    [
      'earlier bars of a name in a new file',
      { 'market/0.csv': formatBars(['C,2023-12-29,30', 'C,2024-01-02,31']) },
      { changed: 0, removed: 0, added: 2, identifiers: ['C'], columns: [] },
      'market.C',
    ],
    [
      'a new column',
      {
        'market/1.csv': formatBars(
          FIRST.map((row) => `${row},7`),
          'CLOSE,VOLUME',
        ),
      },
      { changed: 0, removed: 0, added: 0, columns: ['VOLUME'] },
      'market',
    ],
  ])('finds %s, reports it and leaves it out; a full one takes it', async (what, change, leftOut, path) => {
    const id = what.replaceAll(' ', '-');
    const desk = await serveFiles(id, {
      'market/1.csv': formatBars(FIRST),
      'market/2.csv': formatBars(['A,2024-01-04,12']),
    });
    const before = await desk.store();
    for (const [name, text] of Object.entries(change))
      await (text === null ? rm(join(desk.folder, name)) : desk.write({ [name]: text }));
    const report = await desk.refresh();
    expect(report).toMatchObject({
      rows_added: 0,
      rows_changed: 0,
      left_out: leftOut,
      findings: [{ severity: 'warning', code: 'HISTORY_CHANGED', path }],
    });
    expect(report.findings[0]?.message).toContain('full: true');
    const after = await desk.store();
    expect(after.content_hash).toBe(before.content_hash);
    expect(listChanges(after)).toEqual([`warning HISTORY_CHANGED ${path}`]);
    // A change is reported until a user accepts it.
    expect((await desk.refresh()).left_out).toMatchObject(leftOut);
    const full = await desk.refresh({ full: true });
    expect(full.left_out).toBeNull();
    expect(listChanges(full)).toEqual([]);
    expect(full.datasets.market.added + full.datasets.market.changed + full.datasets.market.removed).toBeGreaterThan(0);
    expect(await desk.refresh()).toMatchObject({ left_out: null, rows_changed: 0 });
    expect(listChanges(await desk.store())).toEqual([]);
  });

  test('keeps a security with changed actions on stored days unchanged, and adds the bars of the others', async () => {
    const createActions = (...rows: readonly string[]) => ({
      'corporate_actions.csv': `identifier,type,value,ex_date\n${rows.join('\n')}\n`,
    });
    const desk = await serveFiles('actions', {
      'market/1.csv': formatBars(FIRST),
      ...createActions('A,DIVIDEND,0.5,2024-01-03'),
    });
    await desk.write({
      'market/2.csv': formatBars(['A,2024-01-04,12', 'B,2024-01-04,22']),
      ...createActions('A,DIVIDEND,0.6,2024-01-03', 'B,DIVIDEND,0.1,2024-01-04'),
    });
    const rejectedJob = {
      identifier: 'A',
      bars: { added: 0, changed: 0, removed: 0 },
      corporate_actions: { added: 0, changed: 1, removed: 0 },
      held_back: 1,
      first: [{ dataset: 'corporate_actions', date: '2024-01-03', column: 'DIVIDEND.value', before: 0.5, after: 0.6 }],
    };
    expect(await desk.refresh()).toMatchObject({
      rows_added: 2,
      rows_changed: 0,
      datasets: { market: { added: 1 }, corporate_actions: { added: 1, changed: 0, removed: 0 } },
      rejected: [rejectedJob],
      findings: [{ severity: 'warning', code: 'HISTORY_CHANGED', path: 'market.A' }],
    });
    expect([await desk.closeOf('A'), await desk.closeOf('B')]).toEqual([
      [10, 11],
      [20, 21, 22],
    ]);
    // If a change was not accepted, it is found again. It disappears when the source has the stored history again.
    expect(await desk.refresh()).toMatchObject({ rows_added: 0, rejected: [rejectedJob] });
    await desk.write(createActions('A,DIVIDEND,0.5,2024-01-03', 'B,DIVIDEND,0.1,2024-01-04'));
    expect(await desk.refresh()).toMatchObject({ rows_added: 1, rejected: [] });
    expect(await desk.closeOf('A')).toEqual([10, 11, 12]);
  });

  test('uses the current reference data and reports changes to stored days', async () => {
    const createReference = (sector: string) => ({ 'reference.csv': `identifier,SECTOR\nA,${sector}\n` });
    const desk = await serveFiles('tables', { 'market.csv': formatBars(FIRST), ...createReference('Energy') });
    await desk.write(createReference('Health'));
    const report = await desk.refresh();
    expect(report).toMatchObject({
      rows_changed: 1,
      datasets: { reference: { added: 0, changed: 1, removed: 0 } },
      findings: [{ code: 'HISTORY_CHANGED', path: 'reference' }],
    });
    expect(report.findings[0]?.message).toMatch(/1 changed, 0 removed, 0 added/);
    expect(await desk.refresh()).toMatchObject({ rows_added: 0, rows_changed: 0, findings: [] });
  });

  test('of a database finds corrections', async () => {
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
    expect((await service.waitForJob('sync:database')).result).toMatchObject({
      rows_added: 0,
      left_out: { changed: 1, removed: 0, added: 0 },
      rejected: [{ identifier: 'A', held_back: 1 }],
      findings: [{ code: 'HISTORY_CHANGED', path: 'market.A' }],
    });
  });
});

test('a full refresh counts every changed row of every table, and lists the values', async () => {
  const createTables = (dividend: number, sector: string, end: string) => ({
    'corporate_actions.csv': `identifier,type,value,ex_date\nA,DIVIDEND,${dividend},2024-01-03\n`,
    'reference.csv': `identifier,SECTOR\nA,${sector}\n`,
    'universes.csv': `universe,identifier,start,end\nU,A,,${end}\n`,
  });
  const desk = await serveFiles('every-row', {
    'market.csv': formatBars(FIRST),
    ...createTables(0.5, 'Energy', '2024-01-03'),
  });
  await desk.write({
    'market.csv': formatBars(['A,2024-01-02,10.5', ...FIRST.slice(1)]),
    ...createTables(0.6, 'Health', '2024-01-02'),
  });
  const counts = { added: 0, changed: 1, removed: 0 };
  expect(await desk.refresh({ full: true })).toMatchObject({
    rows_added: 0,
    rows_changed: 4,
    datasets: { market: counts, reference: counts, corporate_actions: counts, universes: counts },
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

test('a full refresh up to a day changes nothing after it', async () => {
  const desk = await serveFiles('bounded', { 'market.csv': formatBars(FIRST) });
  await desk.write({
    'market.csv': formatBars([
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

test('a store that is activated again states whether its content changed', async () => {
  const desk = await serveFiles('again', { 'market.csv': formatBars(FIRST) });
  await serveFiles('other', { 'market.csv': formatBars(FIRST) });
  await desk.write({ 'market.csv': formatBars(['A,2024-01-02,19', ...FIRST.slice(1)]) });
  await service.ask('POST', '/data/stores/again/activate');
  const { result } = await service.waitForJob('load:again');
  expect(listChanges(result as unknown as DataStore)).toEqual(['warning HISTORY_CHANGED market']);
});
