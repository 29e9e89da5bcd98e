import { expect, test } from 'vitest';
import { formatStale } from '#console/words/stale.js';

const stale = { definition: false, data: false, engine: false, reasons: [] as string[], store_id: null };
const CALENDAR = 'The calendar XNYS changed since this run: 2024-03-15.';

test('the label of a stale run states its cause: a calendar is not the definition', () => {
  expect(formatStale({ ...stale, definition: true, reasons: [CALENDAR] })).toBe('calendar changed');
  const both = [CALENDAR, 'The index CORE changed since this run: pipeline.'];
  expect(formatStale({ ...stale, definition: true, reasons: both })).toBe('calendar, definition changed');
  const market = [CALENDAR, 'The store market holds other content than the run was made on.'];
  expect(formatStale({ ...stale, definition: true, data: true, reasons: market })).toBe('calendar, data changed');
  expect(formatStale({ ...stale, data: true, engine: true })).toBe('data, engine changed');
  expect(formatStale(stale)).toBe('out of date');
});
