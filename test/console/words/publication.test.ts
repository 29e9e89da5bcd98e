import { expect, test } from 'vitest';
import { listFirstTimes, latestClose, throughProblem } from '#console/words/publication.js';

const run = { start: '2024-01-02', end: '2024-01-31', last: '2024-01-15', isRestated: false };

test('closes are published through a day of the run that is not published yet', () => {
  expect(throughProblem(undefined, run)).toBeNull();
  expect(throughProblem('2024-01-16', run)).toBeNull();
  expect(throughProblem('2024-13-01', run)).toContain('not a date');
  expect(throughProblem('2024-02-30', run)).toContain('not a date');
  expect(throughProblem('2023-12-29', run)).toContain(run.start);
  expect(throughProblem('2024-02-01', run)).toContain(run.end);
  expect(throughProblem('2024-01-15', run)).toContain('are published');
  expect(throughProblem('2024-01-15', { ...run, isRestated: true })).toBeNull();
});

test('the first publication contains the closes after the log', () => {
  const dates = ['2024-01-12', '2024-01-15', '2024-01-16', '2024-01-17'];
  expect(listFirstTimes(dates, undefined, run)).toEqual(['2024-01-16', '2024-01-17']);
  expect(listFirstTimes(dates, '2024-01-16', run)).toEqual(['2024-01-16']);
  expect(listFirstTimes(dates, undefined, { last: null })).toEqual(dates);
});

test('the latest close is that of the last date, not the last entry of the log', () => {
  const createEntry = (date: string, price: number) => ({ date, price });
  const log = [createEntry('2024-01-12', 100), createEntry('2024-01-15', 101), createEntry('2024-01-12', 99)];
  expect(latestClose(log)).toEqual(createEntry('2024-01-15', 101));
  expect(latestClose([...log, createEntry('2024-01-15', 102)])).toEqual(createEntry('2024-01-15', 102));
  expect(latestClose([])).toBeUndefined();
});
