import { expect, test } from 'vitest';
import { alignDays, createDeciderOf, createTableMarket } from './rule-market.js';

/** Market of the golden fixture: four securities on their first session. */
const golden = createTableMarket({
  identifiers: ['A', 'B', 'C', 'E'],
  fields: { CLOSE: [[100, 200, 50, 20]], SHARES_OUTSTANDING: [[10, 3, 4, 5]] },
});

test('the golden four, capped at 0.40, have the weights of the golden vector', () => {
  const sm = alignDays(golden);
  const decision = createDeciderOf(sm, {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 4 } }],
    weighting: { type: 'MarketCapWeight', params: { free_float: true }, cap: 0.4 },
  }).decide(0, null);
  if (decision.kind !== 'decided') throw new Error(decision.finding.message);
  expect(Array.from(decision.uncapped)).toEqual([
    0.5263157894736842, 0.3157894736842105, 0.10526315789473684, 0.05263157894736842,
  ]);
  [0.4, 0.4, 0.13333333333333333, 0.06666666666666667].forEach((weight, i) =>
    expect(decision.weights[i]).toBeCloseTo(weight, 15),
  );
  expect(Array.from(decision.capped, (column) => sm.identifiers[column])).toEqual(['A']);
  expect(decision.redistributed).toBeCloseTo(0.12631578947368416, 15);
  expect(decision.cap).toBe(0.4);
});
