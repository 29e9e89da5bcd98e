import { expect, test } from 'vitest';
import { isOverdue } from '#console/words/actions.js';
import { formatDaysTo } from '#console/words/dates.js';

test('an undecided action is overdue after its ex-date', () => {
  const today = '2026-11-24';
  expect(isOverdue({ state: 'new', ex_date: '2026-11-23' }, today)).toBe(true);
  expect(isOverdue({ state: 'amended', ex_date: '2026-11-23' }, today)).toBe(true);
  expect(isOverdue({ state: 'new', ex_date: '2026-11-24' }, today)).toBe(false);
  expect(isOverdue({ state: 'confirmed', ex_date: '2026-11-23' }, today)).toBe(false);
});

test('a date is described by the days from today', () => {
  expect(formatDaysTo('2026-11-27', '2026-11-27')).toBe('today');
  expect(formatDaysTo('2026-11-28', '2026-11-27')).toBe('in 1 day');
  expect(formatDaysTo('2026-11-17', '2026-11-27')).toBe('10 days ago');
});
