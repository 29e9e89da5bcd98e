import { expect, test } from 'vitest';
import type { Calendars, SessionChange } from '#domain/calendars/calendar.js';
import { correctCalendars } from '#domain/calendars/exchange-calendars.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { findPartialDates, warnOfSessions } from '#market/judge/market-warnings.js';
import { createProblems } from '#market/tables/problems.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

const NAMES = Array.from({ length: 20 }, (_, n) => `N${String(n + 1).padStart(2, '0')}`);

/** Securities with a bar, by day. */
type Bars = Readonly<Record<string, readonly string[]>>;

async function listFindings(bars: Bars, tables: Readonly<Record<string, string>> = {}, codes: readonly string[] = []) {
  const folder = await createFolder();
  const rows = Object.entries(bars).flatMap(([day, names]) => names.map((name) => `${name},${day},10\n`));
  await writeFiles(folder, { 'market.csv': `identifier,date,CLOSE\n${rows.join('')}`, ...tables });
  return findPartialDates(await readFolderContent(folder), { codes, open: openCalendars });
}

const readPaths = async (...terms: Parameters<typeof listFindings>) =>
  (await listFindings(...terms)).map(({ path }) => path);

test('a date with bars of 2 of 20 names is partial, with how many lack one and which', async () => {
  const findings = await listFindings({ '2020-12-30': NAMES, '2020-12-31': NAMES, '2021-01-04': NAMES.slice(0, 2) });
  expect(findings).toEqual([
    {
      severity: 'warning',
      code: 'PARTIAL_DATE',
      path: 'market[2021-01-04]',
      message:
        '2 of 20 securities have a bar on 2021-01-04. 18 that traded shortly before have none (N03, N04, N05 and more).',
      count: 18,
      places: NAMES.slice(2),
    },
  ]);
});

test('the partial date after a partial date is one, too, and one inside the history that is filled later stays one', async () => {
  const partNames = NAMES.slice(0, 2);
  expect(
    await readPaths({ '2020-12-31': NAMES, '2021-01-04': partNames, '2021-01-05': partNames, '2021-01-06': NAMES }),
  ).toEqual(['market[2021-01-05]', 'market[2021-01-04]']);
});

test('names that ended, one name alone and less than a tenth of the securities make no date partial', async () => {
  const actionsCsv = `identifier,ex_date,type,value\n${NAMES.slice(0, 18)
    .map((name) => `${name},2021-01-04,DELISTING,9\n`)
    .join('')}`;
  const bars = { '2020-12-31': NAMES, '2021-01-04': NAMES.slice(18) };
  expect(await readPaths(bars)).toEqual(['market[2021-01-04]']);
  expect(await readPaths(bars, { 'corporate_actions.csv': actionsCsv })).toEqual([]);
  expect(await readPaths({ '2020-12-31': NAMES.slice(0, 3), '2021-01-04': NAMES.slice(0, 2) })).toEqual([]);
  const manyNames = Array.from({ length: 21 }, (_, n) => `M${n}`);
  expect(await readPaths({ '2020-12-31': manyNames, '2021-01-04': manyNames.slice(2) })).toEqual([]);
  expect(await readPaths({ '2020-12-31': manyNames, '2021-01-04': manyNames.slice(3) })).toEqual([
    'market[2021-01-04]',
  ]);
});

test('names that never came back after their last bar are no hole of the earlier dates', async () => {
  const days = Array.from({ length: 12 }, (_, i) => `2021-02-${String(i + 1).padStart(2, '0')}`);
  const bars = Object.fromEntries(days.map((day, i) => [day, i === 0 ? NAMES : NAMES.slice(0, 10)]));
  expect(await readPaths(bars)).toEqual([]);
});

// 2024-01-15 was Martin Luther King Day. New York was closed, London was not.
test('a holiday of an exchange lacks no bar of its securities according to the calendars', async () => {
  const bars = { '2024-01-12': NAMES, '2024-01-15': NAMES.slice(0, 5), '2024-01-16': NAMES };
  const referenceCsv = `identifier,EXCHANGE\n${NAMES.map((name, n) => `${name},${n < 5 ? 'XLON' : 'XNYS'}\n`).join('')}`;
  expect(await readPaths(bars)).toEqual(['market[2024-01-15]']);
  expect(await readPaths(bars, { 'reference.csv': referenceCsv })).toEqual([]);
  expect(await readPaths(bars, {}, ['XLON', 'XNYS'])).toEqual([]);
  expect(await readPaths(bars, {}, ['XLON'])).toEqual(['market[2024-01-15]']);
  const before = { '2024-01-16': NAMES, '2024-01-17': NAMES.slice(0, 5) };
  expect(await readPaths(before, { 'reference.csv': referenceCsv })).toEqual(['market[2024-01-17]']);
});

test('a recorded closure of an exchange lacks no bar, and an added session lacks those that are missing', async () => {
  const folder = await createFolder();
  const bars = { '2024-03-04': NAMES, '2024-03-05': NAMES.slice(0, 5), '2024-03-09': NAMES.slice(0, 5) };
  const rows = Object.entries(bars).flatMap(([day, names]) => names.map((name) => `${name},${day},10\n`));
  await writeFiles(folder, { 'market.csv': `identifier,date,CLOSE\n${rows.join('')}` });
  const changes: SessionChange[] = [
    { date: '2024-03-05', session: 'closed', reason: 'Storm' },
    { date: '2024-03-09', session: 'open', reason: 'Test of the new system' }, // a Saturday
  ];
  const open = () => correctCalendars(openCalendars(), { XNYS: { version: 1, changes } });
  const content = await readFolderContent(folder);
  const paths = findPartialDates(content, { codes: ['XNYS'], open }).map(({ path }) => path);
  expect(paths).toEqual(['market[2024-03-09]']);
  const problems = createProblems();
  warnOfSessions(content, { codes: ['XNYS'], open }, problems);
  expect(problems.findings().map(({ path }) => path)).toEqual(['market[2024-03-05]']);
});

test('the calendars are opened once, however many bars are of days on which others rest', async () => {
  const folder = await createFolder();
  const days = Array.from({ length: 28 }, (_, i) => `2021-02-${String(i + 1).padStart(2, '0')}`);
  const isWeekend = (i: number): boolean => i % 7 > 4; // 2021-02-01 is a Monday
  const rows = days.flatMap((day, i) =>
    (isWeekend(i) ? ['COIN'] : ['COIN', ...NAMES]).map((name) => `${name},${day},10\n`),
  );
  await writeFiles(folder, { 'market.csv': `identifier,date,CLOSE\n${rows.join('')}` });
  let openedCount = 0;
  const open = (): Calendars => {
    openedCount++;
    return openCalendars();
  };
  expect(findPartialDates(await readFolderContent(folder), { codes: ['XNYS'], open })).toEqual([]);
  expect(openedCount).toBe(1);
});
