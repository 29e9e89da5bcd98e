import { describe, expect, test } from 'vitest';
import { dayFrom } from '#domain/time/days.js';
import { contentHash } from '#market/content/content.js';
import { refreshContent } from '#market/content/refresh-content.js';
import { temporaryFolders } from '../../store/temporary-folder.js';
import { contentOf, writeFiles } from '../store-folder.js';

const folderFor = temporaryFolders();

async function content(...rows: readonly string[]) {
  const folder = await folderFor();
  await writeFiles(folder, { 'market.csv': `identifier,date,CLOSE,VOLUME\n${rows.join('\n')}\n` });
  return contentOf(folder);
}

const HELD = ['A,2024-01-02,10,1', 'B,2024-01-02,20,2', 'A,2024-01-03,11,3'];
const NEXT = ['A,2024-01-04,12,4', 'C,2024-01-05,30,5'];

describe('a refresh that adds', () => {
  test('takes later days and leaves what is held, whatever the source says of it now', async () => {
    const held = await content(...HELD);
    const fresh = await content('A,2024-01-02,99,1', 'B,2024-01-03,21,2', ...NEXT);
    const { content: after, report } = refreshContent(held, fresh, { until: null, full: false, isWhole: true });
    expect(await contentHash(after)).toBe(await contentHash(await content(...HELD, ...NEXT)));
    expect(report).toMatchObject({
      rows_added: 2,
      rows_changed: 0,
      dates_added: 2,
      identifiers_added: 1,
      start: '2024-01-02',
      end: '2024-01-05',
      restatements: [],
      restatements_total: 0,
    });
  });

  test('stops at the day asked for', async () => {
    const { report } = refreshContent(await content(...HELD), await content(...HELD, ...NEXT), {
      until: dayFrom('2024-01-04'),
      full: false,
      isWhole: true,
    });
    expect([report.rows_added, report.end]).toEqual([1, '2024-01-04']);
  });

  test('without anything later changes nothing', async () => {
    const held = await content(...HELD);
    const { content: after, report } = refreshContent(held, held, { until: null, full: false, isWhole: true });
    expect(await contentHash(after)).toBe(await contentHash(held));
    expect(report).toMatchObject({ rows_added: 0, dates_added: 0, identifiers_added: 0 });
  });
});

describe('a full refresh', () => {
  test('takes every value of the source and tells those that were changed, added to a bar or taken away', async () => {
    const held = await content(...HELD);
    const fresh = await content('A,2024-01-02,10,', 'B,2024-01-02,19,2', 'B,2024-01-03,21,7', ...NEXT);
    const { content: after, report } = refreshContent(held, fresh, { until: null, full: true, isWhole: true });
    expect(await contentHash(after)).toBe(await contentHash(fresh));
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
  test('is counted by bars that changed, went and came, and by new columns, and is a warning with an example and what to do', async () => {
    const held = await content(...HELD);
    const fresh = await content(
      'A,2024-01-02,10,9',
      'B,2024-01-03,21,2',
      'C,2024-01-02,29,1',
      'A,2024-01-03,11,3',
      ...NEXT,
    );
    const open = new Float64Array(fresh.fields.get('CLOSE')!.length).fill(Number.NaN);
    open[0] = 5;
    const { content: after, report } = refreshContent(
      held,
      { ...fresh, fields: new Map([...fresh.fields, ['OPEN', open]]) },
      { until: null, full: false, isWhole: true },
    );
    expect(await contentHash(after)).toBe(await contentHash(await content(...HELD, ...NEXT)));
    // VOLUME of A on the 2nd; B of the 2nd is gone; B of the 3rd and C of the 2nd have come.
    expect(report.left_out).toEqual({
      changed: 1,
      removed: 1,
      added: 2,
      columns: ['OPEN'],
      identifiers: ['B', 'C'],
      identifiers_total: 2,
    });
    expect(report).toMatchObject({
      rows_added: 2,
      rows_changed: 0,
      restatements: [],
      findings: [{ severity: 'warning', code: 'HISTORY_CHANGED', path: 'market' }],
    });
    expect(report.findings[0]?.message).toMatch(
      /up to 2024-01-03.*1 changed bar, 1 removed bar, 2 bars of 2 names that the store lacks and values in the new column OPEN.*VOLUME of A on 2024-01-02, 1 in the store, 9 in the source.*full: true/,
    );
  });

  test('is none where the source tells of the days held what is held', async () => {
    const { report } = refreshContent(await content(...HELD), await content(...HELD, ...NEXT), {
      until: null,
      full: false,
      isWhole: true,
    });
    expect([report.left_out, report.findings]).toEqual([null, []]);
  });
});

test('a full refresh up to a day takes the bars of the source up to it, and leaves those held of later days', async () => {
  const held = await content(...HELD);
  const fresh = await content('A,2024-01-02,10.5,1', 'B,2024-01-02,20,2', 'A,2024-01-03,99,3', ...NEXT);
  const { content: after, report } = refreshContent(held, fresh, {
    until: dayFrom('2024-01-02'),
    full: true,
    isWhole: true,
  });
  expect(await contentHash(after)).toBe(
    await contentHash(await content('A,2024-01-02,10.5,1', 'B,2024-01-02,20,2', 'A,2024-01-03,11,3')),
  );
  expect(report).toMatchObject({
    rows_added: 0,
    rows_changed: 1,
    end: '2024-01-03',
    restatements: [{ identifier: 'A', date: '2024-01-02', column: 'CLOSE', before: 10, after: 10.5 }],
  });
});
