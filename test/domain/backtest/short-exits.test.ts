import { expect, test } from 'vitest';
import { IndexDocument } from '#domain/documents/index-document.js';
import { eventsOf } from './exported-events.js';
import { buildMarket, type ActionSketch } from './market-builder.js';
import { runOn } from './random-run.js';
import { columnsOf } from './shorts-case.js';
import { CALENDARS, holding, WEEK } from './signed-case.js';

const createDecider = holding(() => ({ A: 0.8, B: 0.4, C: -0.2 }));

/** Names that the exported events say left, with C, or B, gone from the fourth day on. */
function exitsOf(gone: 'B' | 'C', action: Omit<ActionSketch, 'name' | 'ex'>, more: Record<string, number[]> = {}) {
  const close = { A: [100, 101, 102, 100, 99, 103], B: [50, 51, 50, 52, 53, 50], C: [10, 10, 11, 10, 9, 10], ...more };
  const market = buildMarket({
    dates: WEEK,
    close: { ...close, [gone]: close[gone].map((price, t) => (t < 3 ? price : null)) },
    actions: [{ ...action, name: gone, ex: WEEK[3]! }],
  });
  const document = IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date: WEEK[0],
    rebalance: { frequency: 'none' },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const rows = eventsOf(columnsOf(runOn(CALENDARS, market, document, { createDecider })));
  return rows.map(({ date, identifier, type }) => [date, identifier, type]);
}

test.each([
  ['is merged into a name held long', { type: 'MERGER', value: 0.1, related: 'A' }],
  ['is delisted', { type: 'DELISTING', value: 12 }],
  ['is acquired', { type: 'ACQUISITION', value: 11 }],
] as const)('the events name a short position that %s, and nobody else', (_how, action) => {
  expect(exitsOf('C', action)).toEqual([[WEEK[3], 'C', 'exit']]);
});

test('and a long one merged into a name held short', () => {
  expect(exitsOf('B', { type: 'MERGER', value: 5, related: 'C' })).toEqual([[WEEK[3], 'B', 'exit']]);
});
