import { expect, test } from 'vitest';
import { formatEventKind, getEventColour, groupNextEvents } from '#console/pages/calendar/event-kinds.js';

test('the next events are in order of date, each kind with all its events of the day', () => {
  const events = [
    { date: '2026-11-26', kind: 'holiday' },
    { date: '2026-12-15', kind: 'announcement', id: 'A' },
    { date: '2026-12-15', kind: 'announcement', id: 'B' },
    { date: '2027-01-15', kind: 'closure' },
    { date: '2026-12-25', kind: 'holiday' },
    { date: '2026-11-27', kind: 'early_close' },
    { date: '2026-12-24', kind: 'early_close' },
  ] as const;
  expect(groupNextEvents(events, '2026-11-27').map(([first, ...same]) => [first.date, same.length])).toEqual([
    ['2026-11-27', 0],
    ['2026-12-15', 1],
    ['2026-12-25', 0],
    ['2027-01-15', 0],
  ]);
});

test('scheduled and recorded early closes have one name and colour, other than a closure', () => {
  const scheduled = { kind: 'early_close', calendar: 'XNYS', summary: 'XNYS: closes 13:00: Christmas Eve' } as const;
  const recorded = { kind: 'closure', calendar: 'XNYS', summary: 'XNYS: closes 13:00: Half day' } as const;
  const closed = { kind: 'closure', calendar: 'XNYS', summary: 'XNYS: closed: Storm' } as const;
  expect([scheduled, recorded, closed].map(formatEventKind)).toEqual(['early close', 'early close', 'closure']);
  expect([scheduled, recorded, closed].map(getEventColour)).toEqual(['warning', 'warning', 'bad']);
});
