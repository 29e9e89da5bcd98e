import { describe, expect, test } from 'vitest';
import { convertCsvToTabs, formatCommaSeparated } from '#console/words/tables.js';

describe('a CSV file as spreadsheets paste it', () => {
  test.each([
    ['cells, rows and line breaks of both kinds', 'a,b\r\n1,2\n3,4\n', 'a\tb\n1\t2\n3\t4'],
    [
      'quoted cells, with commas, quotes and line breaks in them',
      '"a,b","say ""x""","two\nlines"\n',
      'a,b\tsay "x"\ttwo lines',
    ],
    ['empty cells, the last of the file included', 'a,,\n,b,', 'a\t\t\n\tb\t'],
    ['a last row without a line break', 'a\n"b"', 'a\nb'],
    ['an empty file', '', ''],
  ])('%s', async (_, csv, expected) => {
    expect(await convertCsvToTabs(csv)).toBe(expected);
  });
});

test('a table is a CSV file with all digits, in which no text is a formula', async () => {
  const rows = [
    ['A, B', 0.1234567890123456, null],
    ['=1+1', -1, 'say "x"'],
  ];
  expect(formatCommaSeparated({ header: ['Run', 'Return', 'Note'], rows })).toBe(
    `Run,Return,Note\r\n"A, B",0.1234567890123456,\r\n'=1+1,-1,"say ""x"""\r\n`,
  );
  expect(await convertCsvToTabs(formatCommaSeparated({ header: ['Run'], rows: rows.slice(0, 1) }))).toBe(
    'Run\nA, B\t0.1234567890123456\t',
  );
});
