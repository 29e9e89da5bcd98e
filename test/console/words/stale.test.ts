import { expect, test } from 'vitest';
import { formatDecisionBasis } from '#console/words/methodology.js';
import { addStale, formatStale } from '#console/words/freshness.js';

const staleState = { definition: false, data: false, engine: false, reasons: [] as string[], store_id: null };
const CALENDAR = 'The calendar XNYS changed since this run: 2024-03-15.';

test('the label of a stale run states its cause: a calendar is not the definition', () => {
  expect(formatStale({ ...staleState, definition: true, reasons: [CALENDAR] })).toBe('calendar changed');
  const bothReasons = [CALENDAR, 'The index CORE changed since this run: weighting.'];
  expect(formatStale({ ...staleState, definition: true, reasons: bothReasons })).toBe('calendar, definition changed');
  const marketReasons = [CALENDAR, 'The store market holds other content than the run was made on.'];
  expect(formatStale({ ...staleState, definition: true, data: true, reasons: marketReasons })).toBe(
    'calendar, data changed',
  );
  expect(formatStale({ ...staleState, data: true, engine: true })).toBe('data, engine changed');
  expect(formatStale(staleState)).toBe('out of date');
  expect(formatStale({ ...staleState, data: true, store_id: 'asia' })).toBe('ran on asia');
  expect(formatStale({ ...staleState, definition: true, data: true, store_id: 'asia' })).toBe(
    'definition, data changed',
  );
  expect([addStale('CORE', null), addStale('CORE', staleState)]).toEqual(['CORE', 'CORE (stale)']);
});

test('a run whose store is not registered states that and not a change of the data', () => {
  const reasons = ['The store asia of the index is not registered.'];
  expect(formatStale({ ...staleState, data: true, reasons })).toBe('store missing');
  expect(formatStale({ ...staleState, data: true, engine: true, reasons })).toBe('engine changed, store missing');
});

test('the note of explained decisions states the definition and the data that apply', () => {
  const [definition, data] = [
    'The definition has changed since the run. This page uses the definition of the run.',
    'The data has changed since the run. This page uses the current data.',
  ];
  expect(formatDecisionBasis({ ...staleState, definition: true })).toBe(definition);
  expect(formatDecisionBasis({ ...staleState, data: true })).toBe(data);
  expect(formatDecisionBasis({ ...staleState, definition: true, data: true })).toBe(`${definition} ${data}`);
  expect(formatDecisionBasis({ ...staleState, engine: true })).toBe('');
});
