import { expect, test } from 'vitest';
import { listTermFindings } from '#console/pages/index/changed-terms.js';

const createRefusal = (code: string, message: string, detail: Record<string, string> | null = null) => ({
  code,
  message,
  findings: [],
  detail,
});

/** Returns the path and the message of each finding. */
const listTexts = (...input: Parameters<typeof listTermFindings>) =>
  listTermFindings(...input).map(({ path, message }) => [path, message]);

test('a refusal without findings is shown at the term that caused it, which the message names', () => {
  const unknownSecurity = createRefusal('BENCHMARK_NOT_FOUND', 'The data contains no identifier NOPE.');
  expect(listTexts(unknownSecurity, { benchmark: 'identifier:NOPE' })).toEqual([
    ['benchmark', 'Benchmark: The data contains no identifier NOPE.'],
  ]);
  const unknownStore = createRefusal('STORE_NOT_FOUND', 'No data store is registered under the id nope.');
  expect(listTexts(unknownStore, { store_id: 'nope' })).toEqual([['store_id', unknownStore.message]]);
  const calendar = createRefusal('CALENDAR_NOT_COVERED', 'The calendar XNYS covers 1970-01-01 to 2030-12-31.');
  expect(listTexts(calendar, { start: '2050-01-01' })).toEqual([['start', `Start: ${calendar.message}`]]);
  expect(listTexts(calendar, { end: '1950-01-01' })).toEqual([['end', `End: ${calendar.message}`]]);
});

test('the path in the detail of a refusal is the field', () => {
  const range = createRefusal('INVALID_RANGE', 'start 2020-01-01 is after end 2010-01-01.', { path: 'start' });
  expect(listTexts(range, { start: '2020-01-01', end: '2010-01-01' })).toEqual([['start', range.message]]);
});

test('the missing store of the index itself is not shown at the store of the run', () => {
  const missingStore = createRefusal('STORE_NOT_FOUND', 'No data store is registered under the id gone.');
  expect(listTexts(missingStore, { benchmark: 'identifier:SPX' })).toEqual([]);
});
