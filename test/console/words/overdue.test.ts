import { expect, test } from 'vitest';
import { isOverdue } from '#console/words/actions.js';

test('an undecided action is overdue after its ex-date', () => {
  const last = '2026-11-24';
  expect(isOverdue({ state: 'new', ex_date: '2026-11-23' }, last)).toBe(true);
  expect(isOverdue({ state: 'amended', ex_date: '2026-11-23' }, last)).toBe(true);
  expect(isOverdue({ state: 'new', ex_date: '2026-11-24' }, last)).toBe(false);
  expect(isOverdue({ state: 'confirmed', ex_date: '2026-11-23' }, last)).toBe(false);
  expect(isOverdue({ state: 'new', ex_date: '2026-11-23' }, null)).toBe(false);
});
