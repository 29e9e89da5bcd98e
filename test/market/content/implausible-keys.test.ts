import { expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { findContentWarnings } from '#market/judge/content-warnings.js';
import { readImport } from '#market/read/import.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createProblems } from '#market/tables/problems.js';

const TODAY = parseValidDay('2025-10-01');

async function listWarnings(tables: Readonly<Record<string, readonly (readonly unknown[])[]>>) {
  const problems = createProblems();
  const frames = Object.entries(tables).map(([name, [columns = [], ...data]]) => [
    name,
    { columns: columns.map(String), data },
  ]);
  const result = await readImport({ kind: 'tables', tables: Object.fromEntries(frames) }, problems);
  const terms = { adjustment: 'none' as const, calendars: { codes: [], open: openCalendars }, today: TODAY };
  return findContentWarnings(result!.content, terms, createProblems());
}

const MARKET = [
  ['identifier', 'date', 'CLOSE'],
  ['A', '2025-09-29', 10],
  ['A', '2025-09-30', 11],
];

test('dates in the far future are reported in every table', async () => {
  const warnings = await listWarnings({
    market: [...MARKET, ['A', '2062-01-03', 12]],
    series: [
      ['identifier', 'date', 'CLOSE'],
      ['RATE', '2026-09-30', 1],
    ],
    corporate_actions: [
      ['identifier', 'type', 'value', 'ex_date'],
      ['A', 'DIVIDEND', 0.1, '2052-11-03'],
    ],
  });
  expect(warnings.filter(({ code }) => code === 'BAD_DATE').map(({ path, value }) => [path, value])).toEqual([
    ['corporate_actions[A 2052-11-03].ex_date', '2052-11-03'],
    ['market[A 2062-01-03].date', '2062-01-03'],
    ['series[RATE 2026-09-30].date', '2026-09-30'],
  ]);
});

test('a bar of the next weeks and an announced dividend are not reported', async () => {
  const warnings = await listWarnings({
    market: [...MARKET, ['A', '2025-10-06', 12]],
    corporate_actions: [
      ['identifier', 'type', 'value', 'ex_date'],
      ['A', 'DIVIDEND', 0.1, '2026-05-04'],
    ],
  });
  expect(warnings.filter(({ code }) => code === 'BAD_DATE')).toEqual([]);
});

test('identifiers that differ only in case are reported, in one table or in two', async () => {
  const [first] = await listWarnings({ market: [...MARKET, ['a', '2025-09-30', 11]] });
  expect(first).toMatchObject({ severity: 'warning', code: 'DUPLICATE_ID' });
  expect(first!.message).toContain('A and a differ only in upper and lower case');
  const codes = (
    await listWarnings({
      market: MARKET,
      reference: [
        ['identifier', 'NAME'],
        ['a', 'Company'],
      ],
    })
  ).map(({ code }) => code);
  expect(codes).toContain('DUPLICATE_ID');
});
