import { expect, test } from 'vitest';
import { computeFreeSpace, type DayFinding, listMoves, listOpenIndices } from '#console/pages/schedules/day-states.js';

const createFinding = (check: string, identifier: string | null, value: number | null, limit = 0.03) =>
  ({
    key: `${check} ${identifier}`,
    check,
    detail: { check, identifier, measure: value === null ? null : { value, limit, unit: 'fraction' } },
  }) as unknown as DayFinding;

test('moves of a common limit are listed by size, and other findings separately', () => {
  const otherFindings = [createFinding('weights', 'A', 0.2), createFinding('moves', null, null)];
  const otherLimit = createFinding('moves', 'D', 0.3, 0.25);
  const moves = [createFinding('moves', 'A', 0.031), createFinding('moves', 'B', -0.0459)];
  expect(listMoves([...moves, ...otherFindings, otherLimit])).toEqual({
    limit: 0.03,
    moves: [
      { identifier: 'B', value: -0.0459 },
      { identifier: 'A', value: 0.031 },
    ],
    others: [...otherFindings, otherLimit],
  });
});

test('a move has the prices and the weight of its finding', () => {
  const evidence = { previous_date: '2026-11-20', previous_close: 10, close: 9.5, weight: 0.02 };
  const finding = createFinding('moves', 'A', -0.05);
  const detailed = { ...finding, detail: { ...finding.detail, evidence } };
  expect(listMoves([detailed]).moves).toEqual([{ identifier: 'A', value: -0.05, evidence }]);
});

test('the free space is what whole cells leave of a width', () => {
  expect(computeFreeSpace([28, 28, 28], 70)).toBe(14);
  expect(computeFreeSpace([28, 50, 28], 70)).toBe(42);
  expect(computeFreeSpace([28], 20)).toBe(20);
});

test('an index is open unless a request names it or includes every index', () => {
  const request = { approval_id: 1, schedule_id: 'close', date: '2026-11-23', check: 'moves' } as const;
  expect(listOpenIndices(['A', 'B'], [])).toEqual(['A', 'B']);
  expect(listOpenIndices(['A', 'B'], [{ ...request, index_id: 'A' }])).toEqual(['B']);
  expect(listOpenIndices(['A', 'B'], [{ ...request, index_id: null }])).toEqual([]);
});
