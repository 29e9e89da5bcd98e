import { selectGapFindings } from '#services/stores/audits.js';
import { rmSync, writeFileSync } from 'node:fs';
import { rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createLocations, listFolderFiles, selectUnreadFiles, toVersionFiles } from '#market/read/folder.js';
import { createProblems } from '#market/tables/problems.js';
import { listChildren, listReaders } from '../../market/process/reading-processes.js';
import { REFRESHED_AT, runWithDesk, createBars, createActions, selectContent } from './refresh-desk.js';

test('a refresh gives the same content as a complete read of the folder, whatever is new in it', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole }) => {
    await write({
      ...createBars('2024-01-02', ['A,2024-01-02,10', 'B,2024-01-02,20']),
      ...createBars('2024-01-03', ['A,2024-01-03,11', 'B,2024-01-03,21']),
    });
    await write({
      ...createActions('A,DIVIDEND,0.5,2024-01-03'),
      'universes.csv': 'universe,identifier,start,end\nALL,A,,\n',
    });
    await load();
    const steps: readonly (readonly [Record<string, string>, object])[] = [
      [{}, { rows_added: 0, dates_added: 0 }],
      [
        createBars('2024-01-04', ['A,2024-01-04,12', 'B,2024-01-04,22']),
        { rows_added: 2, dates_added: 1, identifiers_added: 0 },
      ],
      [createActions('A,DIVIDEND,0.5,2024-01-03', 'B,SPLIT,2,2024-02-01'), { rows_added: 1, dates_added: 0 }],
      [
        createBars('2024-01-05', ['A,2024-01-05,13,5', 'C,2024-01-05,30,6'], 'CLOSE,VOLUME'),
        { rows_added: 2, identifiers_added: 1 },
      ],
      [
        { ...createBars('2024-01-08', ['A,2024-01-08,14']), 'reference.csv': 'identifier,NAME\nA,Alpha\n' },
        { rows_added: 2, identifiers_added: 0 },
      ],
      [createBars('2024-01-08', ['A,2024-01-08,14', 'A,2024-01-09,15']), { rows_added: 1, dates_added: 1 }],
      // The file is written again, once unchanged and once with changed rows.
      [
        { ...createBars('2024-01-10', ['B,2024-01-10,16']), 'reference.csv': 'identifier,NAME\nA,Alpha\n' },
        { rows_added: 1 },
      ],
      [{ 'reference.csv': 'identifier,NAME\nA,Alfa\nB,Beta\n' }, { rows_added: 1, rows_changed: 1 }],
    ];
    for (const [files, outcome] of steps) {
      await write(files);
      expect(await refresh()).toMatchObject(outcome);
      expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
    }
  }));

test('a refresh reads the days of instants by the exchanges of a reference table that did not change', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole }) => {
    // 15:00 in UTC is midnight of the next day in Tokyo.
    await write({
      ...createBars('first', ['A,2024-01-08T15:00:00Z,10', 'A,2024-01-09T15:00:00Z,11']),
      'reference.csv': 'identifier,EXCHANGE\nA,XTKS\n',
    });
    await load();
    expect((await store()).end).toBe('2024-01-10');
    await write(createBars('second', ['A,2024-01-10T15:00:00Z,12']));
    expect(await refresh()).toMatchObject({ rows_added: 1, end: '2024-01-11' });
    // A changed file requires the whole market.
    await write(createBars('second', ['A,2024-01-10T15:00:00Z,12', 'A,2024-01-11T15:00:00Z,13']));
    expect(await refresh()).toMatchObject({ rows_added: 1, end: '2024-01-12' });
    expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
  }));

test('a table removed from the folder is removed from the store', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole, location }) => {
    await write({ ...createBars('2024-01-02', ['A,2024-01-02,10']), 'reference.csv': 'identifier,NAME\nA,Alpha\n' });
    await load();
    await rm(join(location, 'reference.csv'));
    await refresh();
    expect((await store()).rows).toMatchObject({ reference: 0 });
    expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
  }));

test('a refresh that stopped at a day finds the rest of the same files the next time', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole }) => {
    await write(createBars('2024-01-02', ['A,2024-01-02,10']));
    await load();
    await write(createBars('2024-01-03', ['A,2024-01-03,11', 'A,2024-01-04,12']));
    expect(await refresh({ until: '2024-01-03' })).toMatchObject({ rows_added: 1, end: '2024-01-03' });
    expect(await refresh()).toMatchObject({ rows_added: 1, end: '2024-01-04' });
    expect((await store()).content_hash).toBe((await readWhole()).content_hash);
  }));

test('a new file that lacks a column of the others is read like them, and a damaged one is reported', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole }) => {
    const formatRow = (day: number, close: number | null) =>
      JSON.stringify({
        identifier: 'A',
        date: `2024-01-0${day}`,
        ...(close === null ? {} : { CLOSE: close }),
        VOLUME: day,
      });
    await write({ 'market/1.jsonl': `${formatRow(2, 10)}\n` });
    await load();
    await write({ 'market/2.jsonl': `${formatRow(3, 11)}\n` });
    expect(await refresh()).toMatchObject({ rows_added: 1 });
    expect((await store()).content_hash).toBe((await readWhole()).content_hash);
    await write({ 'market/3.jsonl': '{"identifier":"A","date":"2024-01-04","CLOSE":"text"}\n' });
    await expect(refresh()).rejects.toMatchObject({
      code: 'STORE_READ_FAILED',
      detail: { findings: [{ code: 'NOT_A_NUMBER', path: 'market/3.jsonl[row 1].CLOSE' }] },
    });
    expect((await store()).end).toBe('2024-01-03');
  }));

test('a full refresh finds restatements in a file with unchanged time and length', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole, location }) => {
    const file = join(location, 'market', '2024-01-02.csv');
    await write(createBars('2024-01-02', ['A,2024-01-02,10']));
    await load();
    const { atime, mtime } = await stat(file);
    await write(createBars('2024-01-02', ['A,2024-01-02,19']));
    await utimes(file, atime, mtime);
    expect(await refresh({ full: true })).toMatchObject({
      restatements: [{ identifier: 'A', date: '2024-01-02', column: 'CLOSE', before: 10, after: 19 }],
      restatements_total: 1,
    });
    expect(selectContent(await store())).toEqual(selectContent(await readWhole()));
  }));

test('only tables with a new or changed file are read again', () =>
  runWithDesk(async ({ write, location }) => {
    const listFiles = async () =>
      listFolderFiles(location, { tables: {}, mapping: null }, createLocations([location]), createProblems());
    const listLabels = (files: Awaited<ReturnType<typeof listFiles>>) =>
      Object.values(files).flatMap((all) => all.map(({ label }) => label));
    await write({
      ...createBars('2024-01-02', ['A,2024-01-02,10']),
      ...createActions('A,SPLIT,2,2024-01-02'),
      'reference/1.csv': 'identifier\nA\n',
      'reference/2.csv': 'identifier\nB\n',
    });
    const files = await listFiles();
    const digests = listLabels(files).map((label) => ({ label, bytes: 1, sha256: '' }));
    const knownFiles = toVersionFiles(files, digests, Date.parse(REFRESHED_AT));
    expect(selectUnreadFiles(files, knownFiles)).toMatchObject({
      unchangedTables: ['reference', 'corporate_actions', 'universes', 'series'],
      files: { market: [], reference: [], corporate_actions: [], universes: [] },
    });

    await write({ ...createBars('2024-01-03', ['A,2024-01-03,10']), 'reference/2.csv': 'identifier\nC\n' });
    const laterFiles = selectUnreadFiles(await listFiles(), knownFiles);
    expect([listLabels(laterFiles.files), laterFiles.unchangedTables]).toEqual([
      ['market/2024-01-03.csv', 'reference/1.csv', 'reference/2.csv'],
      ['corporate_actions', 'universes', 'series'],
    ]);

    // If a file was written just before it was read, it may have been written again within the same tick of the clock.
    const { changedAt } = files.market[0]!;
    expect(selectUnreadFiles(files, toVersionFiles(files, digests, changedAt + 1000))).toMatchObject({
      files,
      unchanged: [],
      unchangedTables: ['universes', 'series'],
    });
    expect(selectUnreadFiles(files, toVersionFiles(files, digests, changedAt + 60_000)).unchanged).toHaveLength(4);
  }));

describe('a folder that changes while it is read', () => {
  const extraRows = 'identifier,date,CLOSE\nA,2024-01-04,12\n';
  test.each<[string, string, (folder: string) => void]>([
    [
      'gains a file',
      'market/2024-01-04.csv',
      (folder) => writeFileSync(join(folder, 'market', '2024-01-04.csv'), extraRows),
    ],
    ['loses a file', 'market/2024-01-03.csv', (folder) => rmSync(join(folder, 'market', '2024-01-03.csv'))],
    [
      'gains a table',
      'universes',
      (folder) => writeFileSync(join(folder, 'universes.csv'), 'universe,identifier\nALL,A\n'),
    ],
  ])('and %s fails its load and its refresh with a reason, and the served version remains', (_what, label, change) =>
    runWithDesk(async ({ write, load, refresh, store, served, location }) => {
      const folder = {
        ...createBars('2024-01-02', ['A,2024-01-02,10']),
        ...createBars('2024-01-03', ['A,2024-01-03,11']),
      };
      await write(folder);
      await load();
      const before = [served(), (await store()).content_hash, (await store()).end];
      const refusal = {
        code: 'STORE_READ_FAILED',
        detail: {
          findings: expect.arrayContaining([
            expect.objectContaining({ code: 'UNREADABLE_FILE', path: label }),
          ]) as object,
        },
      };
      for (const attempt of [
        () => load(() => change(location)),
        () => refresh({ full: true, onReading: () => change(location) }),
        () => refresh({ onReading: () => change(location) }),
      ]) {
        await rm(location, { recursive: true });
        await write(folder);
        await expect(attempt()).rejects.toMatchObject(refusal);
        expect([served(), (await store()).content_hash, (await store()).end]).toEqual(before);
      }
      await load();
      expect((await store()).error).toBeNull();
    }),
  );
});

test('a reading process that is killed fails its job, and the next process reads', () =>
  runWithDesk(async ({ write, load, refresh, store, served }) => {
    const manyRows = Array.from(
      { length: 80_000 },
      (_, i) =>
        `N${i % 400},${new Date(Date.UTC(2020, 0, 1 + Math.floor(i / 400))).toISOString().slice(0, 10)},${1 + (i % 977)}`,
    );
    await write({ 'market.csv': `identifier,date,CLOSE\n${manyRows.join('\n')}\n` });
    await load();
    const before = served();
    const killedJob = {
      code: 'STORE_READ_FAILED',
      message: expect.stringMatching(/ended before it was done \((SIGKILL|exit null)\)/) as string,
    };
    for (const listVictims of [
      () => listReaders(process.pid),
      () => listChildren(process.pid).filter((pid) => listChildren(pid).length > 0),
    ]) {
      const kill = () => listVictims().forEach((pid) => process.kill(pid, 'SIGKILL'));
      // If a read ends before its process is killed, the test starts another read.
      let failure: unknown;
      while (failure === undefined)
        failure = await refresh({ full: true, onReading: kill }).then(
          () => undefined,
          (error: unknown) => error,
        );
      expect(failure).toMatchObject(killedJob);
      expect([served(), (await store()).content_hash]).toEqual([before, before]);
      expect((await refresh({ full: true })).rows_changed).toBe(0);
    }
  }));

test('a refresh reports a date with only some of the securities, again while it is recent, and so does the store', () =>
  runWithDesk(async ({ write, load, refresh, store }) => {
    const createDayBars = (date: string, names: readonly string[]) =>
      createBars(
        date,
        names.map((name) => `${name},${date},10`),
      );
    const names = ['A', 'B', 'C', 'D', 'E'];
    await write({ ...createDayBars('2024-01-02', names), ...createDayBars('2024-01-03', names) });
    await load();
    await write(createDayBars('2024-01-04', ['A', 'B']));
    const partial = [{ code: 'PARTIAL_DATE', path: 'market[2024-01-04]', count: 3, places: ['C', 'D', 'E'] }];
    expect((await refresh()).findings).toMatchObject(partial);
    expect((await refresh()).findings).toMatchObject(partial);
    expect((await store()).findings).toMatchObject(partial);
    await write(createDayBars('2024-01-05', names));
    expect((await refresh()).findings).toMatchObject(partial);
    await write(Object.assign({}, ...['08', '09', '10', '11'].map((date) => createDayBars(`2024-01-${date}`, names))));
    expect((await refresh()).findings).toMatchObject(partial);
    expect((await refresh()).findings).toEqual([]);
    expect((await store()).findings).toMatchObject(partial);
  }));

test('findings of the read remain after a refresh, also after one without new data', () =>
  runWithDesk(async ({ write, load, refresh, store, readWhole }) => {
    const listIgnoredColumns = async () => (await store()).findings.filter(({ code }) => code === 'COLUMN_IGNORED');
    await write(createBars('2024-01-02', ['A,2024-01-02,10,x', 'B,2024-01-02,20,y'], 'CLOSE,NOTE'));
    await load();
    const [first] = await listIgnoredColumns();
    expect(first).toMatchObject({ path: 'market.NOTE', severity: 'warning' });
    await refresh();
    expect(await listIgnoredColumns()).toEqual([first]);
    await write(createBars('2024-01-03', ['A,2024-01-03,11,x', 'B,2024-01-03,21,y'], 'CLOSE,NOTE'));
    await refresh();
    expect(await listIgnoredColumns()).toEqual([first]);
    expect((await store()).findings).toEqual((await readWhole()).findings);
  }, Mapping.parse({})));

test('a gap of the whole market before new dates is reported by the refresh and kept with the store', () =>
  runWithDesk(async ({ write, load, refresh, store }) => {
    const days = ['02', '03', '04', '05', '08', '09'].map((day) => `2024-01-${day}`);
    await write(
      createBars(
        '2024-01',
        days.map((day) => `A,${day},10`),
      ),
    );
    await load();
    expect((await store()).findings).toEqual([]);
    // From 10 January to 1 February, the weekdays are 10 to 12, 15 to 19, 22 to 26, 29 to 31 and 1.
    await write(createBars('2024-02', ['A,2024-02-02,10']));
    const hole = [{ severity: 'warning', code: 'GAP_LONG', path: 'market[2024-02-02]' }];
    const { findings } = await refresh();
    expect(findings).toMatchObject(hole);
    expect(findings[0]!.message).toContain('on 17 weekdays between 2024-01-09 and 2024-02-02');
    expect((await store()).findings.filter(({ path }) => path === 'market[2024-02-02]')).toMatchObject(hole);
    expect(selectGapFindings(await store())).toMatchObject(hole);
  }));
