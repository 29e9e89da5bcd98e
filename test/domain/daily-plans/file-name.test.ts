import { expect, test } from 'vitest';
import { checkPattern, createFileName } from '#domain/definition/target-addresses.js';
import { parseValidDay } from '#domain/base/time.js';

const terms = { schedule: 'close', index: 'CORE', table: 'closing', day: parseValidDay('2026-01-05') };

test('placeholders are filled in', () => {
  expect(createFileName('{index}_{date:YYYYMMDD}_{table}.csv', terms)).toBe('CORE_20260105_closing.csv');
  expect(createFileName('{schedule}-{date}-{date:YY.MM.DD}', terms)).toBe('close-2026-01-05-26.01.05');
  expect(createFileName('{index}.zip', { ...terms, index: undefined })).toBe('close.zip');
});

test('a pattern cannot leave its folder, hide, or have an unknown placeholder', () => {
  const acceptedPatterns = ['{index}_{date:YYYYMMDD}.csv', 'levels.csv', '{date:DD-MM-YY}'];
  const refusals = ['../{index}', 'a/b', '.{index}', '{indx}', '{date:HH}', '{index:YYYY}', '', 'a b', '{index'];
  expect(acceptedPatterns.map(checkPattern)).toEqual(acceptedPatterns.map(() => undefined));
  for (const pattern of refusals) expect(checkPattern(pattern), pattern).toEqual(expect.any(String));
});
