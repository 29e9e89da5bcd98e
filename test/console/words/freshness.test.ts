import { expect, test } from 'vitest';
import type { ScheduleDay } from '#clients/typescript/divisor.js';
import { listReturns } from '#console/words/actions.js';
import { describeResults, listLevels } from '#console/pages/schedules/day-states.js';
import { createEndNote, findLag } from '#console/words/freshness.js';

test('the lag of a store is the largest one over its calendars, and unknown without an index', () => {
  const row = { store_id: 'a', calendar: 'XNYS', data_through: '2024-01-02', latest_session: '2024-01-03' };
  const freshness = [
    { ...row, sessions_behind: 1 },
    { ...row, calendar: 'XLON', latest_session: '2024-01-05', sessions_behind: 3 },
    { ...row, store_id: 'b', sessions_behind: 0 },
  ];
  expect(findLag(freshness, 'a')).toEqual({ behind: 3, expected: '2024-01-05' });
  expect(findLag(freshness, 'c')).toBeUndefined();
  expect(createEndNote(findLag(freshness, 'a'), '2024-01-02')).toEqual({
    note: '3 sessions behind; 2024-01-05 was due on 2024-01-06',
    kind: 'warning',
  });
  expect(createEndNote(findLag(freshness, 'b'), '2024-01-02')).toEqual({ note: 'current' });
  expect(createEndNote(undefined, null)).toEqual({});
});

test('the levels of a session are the valid ones of the log, with the change since the previous close', () => {
  const entries = [
    { date: '2024-01-02', price: 100, total: 200 },
    { date: '2024-01-03', price: 101, total: 203 },
    { date: '2024-01-02', price: null, total: 202 }, // restated
  ];
  expect(listLevels(entries, '2024-01-03')).toEqual([
    { variant: 'Price return', level: 101, change: null },
    { variant: 'Total return', level: 203, change: 203 / 202 - 1 },
  ]);
  expect(listLevels(entries, '2024-01-04')).toEqual([]);
});

test('a completed step is described by the number of its results', () => {
  const createStep = (change: object) =>
    ({ state: 'done', indices: 3, message: 'Message.', ...change }) as unknown as ScheduleDay['steps'][number];
  const createItem = (id: string, change: object) => ({ key: id, index_id: id, state: 'done', file: null, ...change });
  const runs = ['A', 'B'].map((id, k) => createItem(id, { detail: { end: `2024-01-0${3 - k}` } }));
  expect(describeResults(createStep({ type: 'run', items: runs }))).toBe(
    '2 of 3 indices with a current run, through 2024-01-02.',
  );
  const closes = [2, 0].map((published, k) => createItem(`${k}`, { detail: { published } }));
  expect(describeResults(createStep({ type: 'publish', items: closes }))).toBe(
    '2 closes published, 1 index published before.',
  );
  const file = { key: 'A.csv', index_id: 'A', state: 'done', file: { name: 'A.csv', bytes: 1200, sha256: '' } };
  expect(describeResults(createStep({ type: 'export', items: [file, createItem('A', {})] }))).toBe(
    '1 file of 1 of 3 indices, 1.2 KB.',
  );
  expect(describeResults(createStep({ type: 'run', state: 'waiting', items: runs }))).toBe('Message.');
  expect(describeResults(createStep({ type: 'checks', items: runs }))).toBe('Message.');
});

test('a dividend is reinvested by the total return and has no effect on the price return', () => {
  const effect = { dividend_return: 0.0001, net_dividend_return: 0.00007 } as Parameters<typeof listReturns>[0];
  expect(listReturns(effect)).toEqual([
    ['Total return', '1.00 bp reinvested, 0.70 bp net of tax'],
    ['Price return', 'no effect'],
  ]);
  expect(listReturns({ ...effect, dividend_return: null })).toEqual([]);
});
