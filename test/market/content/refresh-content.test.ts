import { describe, expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { computeContentHash } from '#market/content/content-hash.js';
import { refreshContent } from '#market/judge/refresh.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

async function readContent(...rows: readonly string[]) {
  const folder = await createFolder();
  await writeFiles(folder, { 'market.csv': `identifier,date,CLOSE,VOLUME\n${rows.join('\n')}\n` });
  return readFolderContent(folder);
}

const HELD_ROWS = ['A,2024-01-02,10,1', 'B,2024-01-02,20,2', 'A,2024-01-03,11,3'];
const NEXT_ROWS = ['A,2024-01-04,12,4', 'C,2024-01-05,30,5'];

describe('a refresh that adds', () => {
  test('adds later days of securities with unchanged history, and nothing of securities with changed history', async () => {
    const heldContent = await readContent(...HELD_ROWS);
    const freshContent = await readContent(
      'A,2024-01-02,99,1',
      'A,2024-01-03,11,3',
      HELD_ROWS[1]!,
      'B,2024-01-04,21,2',
      ...NEXT_ROWS,
    );
    const { content: after, report } = refreshContent(heldContent, freshContent, {
      until: null,
      full: false,
      isWhole: true,
      adjustment: 'splits',
    });
    const takenRows = ['B,2024-01-04,21,2', 'C,2024-01-05,30,5'];
    expect(await computeContentHash(after)).toBe(
      await computeContentHash(await readContent(...HELD_ROWS, ...takenRows)),
    );
    expect(report).toMatchObject({
      rows_added: 2,
      rows_changed: 0,
      dates_added: 2,
      identifiers_added: 1,
      start: '2024-01-02',
      end: '2024-01-05',
      restatements: [],
      restatements_total: 0,
      rejected: [
        {
          identifier: 'A',
          bars: { added: 0, changed: 1, removed: 0 },
          held_back: 1,
          first: [{ date: '2024-01-02', column: 'CLOSE', before: 10, after: 99 }],
        },
      ],
      rejected_total: 1,
    });
  });

  test('reports an accepted close as a changed row', async () => {
    const heldContent = await readContent(...HELD_ROWS);
    const { content: after, report } = refreshContent(
      heldContent,
      await readContent('A,2024-01-02,10.5,1', ...HELD_ROWS.slice(1), ...NEXT_ROWS),
      {
        until: null,
        full: false,
        isWhole: true,
        adjustment: 'splits',
        accepted: [{ identifier: 'A', date: '2024-01-02' }],
      },
    );
    expect(after.fields.get('CLOSE')![0]).toBe(10.5);
    expect(report).toMatchObject({
      rows_added: 2,
      rows_changed: 1,
      restatements: [{ identifier: 'A', date: '2024-01-02', column: 'CLOSE', before: 10, after: 10.5 }],
      rejected_total: 0,
    });
  });

  test('stops at the requested day', async () => {
    const { report } = refreshContent(await readContent(...HELD_ROWS), await readContent(...HELD_ROWS, ...NEXT_ROWS), {
      until: parseValidDay('2024-01-04'),
      full: false,
      isWhole: true,
      adjustment: 'splits',
    });
    expect([report.rows_added, report.end]).toEqual([1, '2024-01-04']);
  });

  test('without anything later changes nothing', async () => {
    const heldContent = await readContent(...HELD_ROWS);
    const { content: after, report } = refreshContent(heldContent, heldContent, {
      until: null,
      full: false,
      isWhole: true,
      adjustment: 'splits',
    });
    expect(await computeContentHash(after)).toBe(await computeContentHash(heldContent));
    expect(report).toMatchObject({ rows_added: 0, dates_added: 0, identifiers_added: 0 });
  });
});

describe('a full refresh', () => {
  test('accepts every value of the source and reports those that were changed, added to a bar or removed', async () => {
    const heldContent = await readContent(...HELD_ROWS);
    const freshContent = await readContent('A,2024-01-02,10,', 'B,2024-01-02,19,2', 'B,2024-01-03,21,7', ...NEXT_ROWS);
    const { content: after, report } = refreshContent(heldContent, freshContent, {
      until: null,
      full: true,
      isWhole: true,
      adjustment: 'splits',
    });
    expect(await computeContentHash(after)).toBe(await computeContentHash(freshContent));
    expect(report).toMatchObject({
      rows_added: 3,
      rows_changed: 3,
      dates_added: 2,
      identifiers_added: 1,
      restatements_total: 4,
    });
    expect(report.restatements).toEqual([
      { dataset: 'market', identifier: 'A', date: '2024-01-02', column: 'VOLUME', before: 1, after: null },
      { dataset: 'market', identifier: 'B', date: '2024-01-02', column: 'CLOSE', before: 20, after: 19 },
      { dataset: 'market', identifier: 'A', date: '2024-01-03', column: 'CLOSE', before: 11, after: null },
      { dataset: 'market', identifier: 'A', date: '2024-01-03', column: 'VOLUME', before: 3, after: null },
    ]);
  });
});

describe('history that a refresh without full leaves out', () => {
  test('is counted by bars that changed, went and came, and by new columns, and is a warning for each security with examples and what to do', async () => {
    const heldContent = await readContent(...HELD_ROWS);
    const freshContent = await readContent('A,2024-01-02,10,9', 'C,2024-01-02,29,1', 'A,2024-01-03,11,3', ...NEXT_ROWS);
    const opens = new Float64Array(freshContent.fields.get('CLOSE')!.length).fill(Number.NaN);
    opens[0] = 5;
    const { content: after, report } = refreshContent(
      heldContent,
      { ...freshContent, fields: new Map([...freshContent.fields, ['OPEN', opens]]) },
      { until: null, full: false, isWhole: true, adjustment: 'splits' },
    );
    expect(await computeContentHash(after)).toBe(await computeContentHash(heldContent));
    // On the 2nd, the VOLUME of A changed, B was removed, and C was added.
    expect(report.left_out).toEqual({
      changed: 1,
      removed: 1,
      added: 1,
      columns: ['OPEN'],
      identifiers: ['C'],
      identifiers_total: 1,
    });
    expect(report).toMatchObject({ rows_added: 0, rows_changed: 0, restatements: [] });
    expect(report.findings.map(({ severity, code, path }) => [severity, code, path])).toEqual(
      ['market', 'market.A', 'market.B', 'market.C'].map((path) => ['warning', 'HISTORY_CHANGED', path]),
    );
    const [columns, messageA, messageB, messageC] = report.findings.map(({ message }) => message);
    expect(columns).toMatch(/up to 2024-01-03 in 1 column .*OPEN.*full: true/);
    expect(messageA).toMatch(
      /1 changed bar \(VOLUME on 2024-01-02 1 in the store, 9 in the source\).*1 later bar was not added.*full: true/,
    );
    expect(messageB).toMatch(/1 removed bar \(CLOSE on 2024-01-02 20 in the store, none in the source;/);
    expect(messageC).toMatch(/1 added bar .*1 later bar was not added/);
  });

  test('is empty where the source repeats the stored days', async () => {
    const { report } = refreshContent(await readContent(...HELD_ROWS), await readContent(...HELD_ROWS, ...NEXT_ROWS), {
      until: null,
      full: false,
      isWhole: true,
      adjustment: 'splits',
    });
    expect([report.left_out, report.findings]).toEqual([null, []]);
  });
});

test('a full refresh up to a day takes the bars of the source up to it, and leaves those held of later days', async () => {
  const heldContent = await readContent(...HELD_ROWS);
  const freshContent = await readContent('A,2024-01-02,10.5,1', 'B,2024-01-02,20,2', 'A,2024-01-03,99,3', ...NEXT_ROWS);
  const { content: after, report } = refreshContent(heldContent, freshContent, {
    until: parseValidDay('2024-01-02'),
    full: true,
    isWhole: true,
    adjustment: 'splits',
  });
  expect(await computeContentHash(after)).toBe(
    await computeContentHash(await readContent('A,2024-01-02,10.5,1', 'B,2024-01-02,20,2', 'A,2024-01-03,11,3')),
  );
  expect(report).toMatchObject({
    rows_added: 0,
    rows_changed: 1,
    end: '2024-01-03',
    restatements: [{ identifier: 'A', date: '2024-01-02', column: 'CLOSE', before: 10, after: 10.5 }],
  });
});
