import { expect, test } from 'vitest';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createProblems } from '#market/tables/problems.js';
import { warnOfSessions } from '#market/judge/market-warnings.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

async function createWarnings(rows: readonly string[], codes: readonly string[], reference = '') {
  const folder = await createFolder();
  await writeFiles(folder, {
    'market.csv': `identifier,date,CLOSE\n${rows.join('\n')}\n`,
    ...(reference === '' ? {} : { 'reference.csv': reference }),
  });
  const problems = createProblems();
  warnOfSessions(await readFolderContent(folder), { codes, open: openCalendars }, problems);
  return problems.findings().map(({ code, path, message }) => [code, path, message] as const);
}

// Rows on 2024-01-06 and 2024-01-15. The first is a Saturday. The second is Martin Luther King Day, on which New York
// was closed and London open.
const ROWS = ['A,2024-01-05,10', 'A,2024-01-06,11', 'B,2024-01-06,12', 'A,2024-01-15,13'];

test('a bar on a day without a session in any calendar in use is reported with the securities that have one', async () => {
  expect(await createWarnings(ROWS, ['XNYS'])).toEqual([
    [
      'NOT_A_SESSION',
      'market[2024-01-06]',
      '2 bars are on 2024-01-06, a Saturday, which is not a session of XNYS: A, B. Indices with these calendars do not use them.',
    ],
    [
      'NOT_A_SESSION',
      'market[2024-01-15]',
      '1 bar is on 2024-01-15, a Monday, which is not a session of XNYS: A. Indices with these calendars do not use it.',
    ],
  ]);
});

test('a session of any of the calendars in use is one, those of the exchanges of names among them', async () => {
  const readDays = async (codes: readonly string[], reference?: string) =>
    (await createWarnings(ROWS, codes, reference)).map(([, path]) => path);
  expect(await readDays(['XNYS', 'XLON'])).toEqual(['market[2024-01-06]']);
  expect(await readDays(['XNYS'], 'identifier,EXCHANGE\nB,XLON\n')).toEqual(['market[2024-01-06]']);
  expect(await readDays(['XNYS', '24/7'])).toEqual([]);
  expect(await readDays([])).toEqual([]);
});

test('a day before a calendar begins is not checked by it, and many days are reported together', async () => {
  expect(await createWarnings(['A,1960-01-02,10'], ['XNYS'])).toEqual([]);
  const saturdays = Array.from(
    { length: 30 },
    (_, week) => `A,${new Date(Date.UTC(2024, 0, 6 + 7 * week)).toISOString().slice(0, 10)},1`,
  );
  const sessionWarnings = await createWarnings(saturdays, ['XNYS']);
  expect(sessionWarnings).toHaveLength(1);
  expect(sessionWarnings[0]?.[2]).toContain(
    '30 bars are on 30 days that are not sessions of XNYS: 2024-01-06, 2024-01-13, 2024-01-20 and more',
  );
});

test('dates that all are sessions one day later are reported as days of another time zone', async () => {
  // Monday to Friday in Sydney as days of UTC at midnight in Sydney: Sunday to Thursday.
  const days = ['08', '09', '10', '11', '12', '15', '16', '17', '18', '19'].map((day) => `A,2021-08-${day},1`);
  const messages = (await createWarnings(days, ['XASX'])).map(([, , message]) => message);
  expect(messages).toHaveLength(2);
  for (const message of messages) expect(message).toContain('Every date is a session one day later');
});
