import { expect, test } from 'vitest';
import { type LevelMapping, openLevelFile, parseDate, proposeLevelMapping, readLevelFile } from '#base/level-file.js';

/** Returns the levels of a text as it is read without an answer of the user, or the questions. */
function read(text: string, answers: Partial<LevelMapping> = {}) {
  const file = openLevelFile(text);
  const { mapping, unsure } = proposeLevelMapping(file, answers);
  if (unsure.length > 0) return unsure.map(({ member }) => member);
  const levels = readLevelFile(file, mapping);
  return 'problem' in levels ? levels.problem : levels.levels.map(({ date, value }) => `${date} ${value}`);
}

test.each([
  ['no line', '', 'has 0 levels; a comparison needs at least 2.'],
  ['a header only', 'date,value\n', 'has 0 levels; a comparison needs at least 2.'],
  [
    'marks of holidays',
    'DATE,DJIA\n2024-01-01,.\n2024-01-02,100\n2024-01-03,101\n',
    ['2024-01-02 100', '2024-01-03 101'],
  ],
  [
    'missing numbers',
    'date,value\n2024-01-01,N/A\n2024-01-02,100\n2024-01-03,101\n',
    ['2024-01-02 100', '2024-01-03 101'],
  ],
  ['ISO dates', 'date,value\n2024-06-27,100.5\n2024-06-28,101\n', ['2024-06-27 100.5', '2024-06-28 101']],
  [
    'a spreadsheet with a decimal comma',
    'Datum;Schluss\n27.6.2024;17.067,56\n28.6.2024;999,5\n',
    ['2024-06-27 17067.56', '2024-06-28 999.5'],
  ],
  [
    'quoted thousands, newest first',
    'Date,Close\n6/28/2024,"17,067.56"\n6/27/2024,"16,999.10"\n',
    ['2024-06-27 16999.1', '2024-06-28 17067.56'],
  ],
  ['no header', '20240627\t100\n20240628\t101\n', ['2024-06-27 100', '2024-06-28 101']],
  ['a title above the header', 'Vendor\nDay;Index\n27-Jun-2024;1\n28-Jun-2024;2\n', ['2024-06-27 1', '2024-06-28 2']],
  [
    'one usual name of several columns',
    'Date,Open,Close,Volume\n2024-06-27,1,2,9000\n2024-06-28,1,3,8000\n',
    ['2024-06-27 2', '2024-06-28 3'],
  ],
])('a file with %s is read without a question', (_, text, levels) => {
  expect(read(text)).toEqual(levels);
});

test('several columns of numbers, of which none has a usual name, are asked for', () => {
  const text = 'date,Index A,Index B\n2024-06-27,1,3\n2024-06-28,2,4\n';
  expect(read(text)).toEqual(['value']);
  expect(read(text, { value: 2 })).toEqual(['2024-06-27 3', '2024-06-28 4']);
});

test('days and months that can be exchanged are asked for, unless the order of the sessions shows which is which', () => {
  const text = 'date,value\n5/6/2024,1\n6/6/2024,2\n7/6/2024,3\n'; // 5 to 7 June, or 6 May to 6 July, a Saturday
  expect(read(text)).toEqual(['2024-06-05 1', '2024-06-06 2', '2024-06-07 3']);
  const both = 'date,value\n2/1/2024,1\n3/1/2024,2\n'; // 2 January or 1 February, both on weekdays
  expect(read(both)).toEqual(['order']);
  expect(read(both, { order: 'MDY' })).toEqual(['2024-02-01 1', '2024-03-01 2']);
});

test('a comma before three digits separates what makes no level jump, and is asked for if that does not decide', () => {
  expect(read('date;value\n2024-06-27;998\n2024-06-28;1,002\n')).toEqual(['2024-06-27 998', '2024-06-28 1002']);
  expect(read('date;value\n2024-06-27;100\n2024-06-28;100,123\n')).toEqual(['2024-06-27 100', '2024-06-28 100.123']);
  const text = 'date;value\n2024-06-27;31\n2024-06-28;1,002\n';
  expect(read(text)).toEqual(['decimal']);
  expect(read(text, { decimal: '.' })).toEqual(['2024-06-27 31', '2024-06-28 1002']);
  // If each level has the comma, both readings have the same returns.
  expect(read('date;value\n2024-06-27;1,001\n2024-06-28;1,002\n')).toEqual(['2024-06-27 1.001', '2024-06-28 1.002']);
});

test('a date that does not exist, a repeated date and a level that is no number are refused with their lines', () => {
  expect(parseDate('30.2.2024', 'DMY')).toBeNull();
  expect(parseDate('2024-06-28T16:00:00', 'YMD')).toBe('2024-06-28');
  expect(read('date,value\n2024-06-27,1\n2024-06-28,2\n2024-06-27,3\n')).toContain('line 4 has the date 2024-06-27');
  expect(read('date,value\n2024-06-27,1\n2024-06-28,ten\n')).toContain('line 3 has the level ten');
});

test('stated formats of dates and numbers replace those of the mapping, and lines are skipped', () => {
  const file = openLevelFile('\uFEFFVendor, Inc\nday,close\nfirst,1k\nsecond,2k\n', 1);
  const { mapping } = proposeLevelMapping(file, { date: 0, value: 1, order: 'YMD', decimal: '.' });
  const days: Readonly<Record<string, string>> = { first: '2024-06-27', second: '2024-06-28' };
  const readDate = (cell: string): string | null => days[cell] ?? null;
  const readNumber = (cell: string): number => 1000 * Number(cell.replace('k', ''));
  expect(readLevelFile(file, mapping, { readDate, readNumber })).toMatchObject({
    levels: [
      { date: '2024-06-27', value: 1000 },
      { date: '2024-06-28', value: 2000 },
    ],
  });
  expect(readLevelFile(file, mapping, { readDate: () => null, readNumber })).toEqual({
    problem: 'line 3 has the date first, which does not have the stated format.',
  });
});
