import { fc } from '../../../fast-check.js';
import { expect, test } from 'vitest';
import { indexDecider } from '#domain/backtest/index-decider.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import { formatDay } from '#domain/time/days.js';
import { randomMarket } from '../random-market.js';
import { randomDocument, randomRequest } from '../random-run.js';
import { DAYS_ADDED, expectResumes, createTally, RUNS } from './growing-run.js';

const randomChanges = fc.record({
  pipeline: fc.record({
    treatment: fc.record({
      special_dividends: fc.constantFrom('adjust', 'constituent', 'ignore'),
      rights: fc.constantFrom('subscribe', 'price_only', 'constituent'),
      spin_offs: fc.constantFrom('zero_price', 'ignore', 'drop_after_first_session'),
      splits: fc.constantFrom('apply', 'apply', 'ignore'),
      withholding_tax: fc.constantFrom(0, 0.15, 0.3),
      max_stale_sessions: fc.constantFrom(3, 60, null),
      suspension: fc.constantFrom('last_price', 'zero'),
    }),
  }),
  events: fc.record({
    share_changes: fc.constantFrom('review', 'effective'),
    acquirer: fc.constantFrom('convert', 'remove'),
  }),
  rounding: fc.constantFrom({}, { divisor: 6 }),
});

test('runs whose methodology is amended have the same bits when they are extended and when they are whole', () => {
  const tally = createTally();
  fc.assert(
    fc.property(
      randomMarket,
      randomDocument,
      randomRequest,
      randomChanges,
      fc.record({ at: fc.integer({ min: 6, max: 34 }), atOnce: fc.boolean(), rows: fc.integer({ min: 10, max: 30 }) }),
      fc.array(fc.integer({ min: 1, max: DAYS_ADDED }), { minLength: 1, maxLength: 4 }),
      ({ market }, drawn, request, changes, { at, atOnce, rows }, steps) => {
        const { reinvestment } = drawn.pipeline!.treatment;
        const unamendedIndex = { ...drawn, amendments: undefined };
        const document = IndexDocument.parse({
          ...unamendedIndex,
          amendments: [
            {
              effective_from: formatDay(market.dates[Math.min(at, market.dates.length - 1)]!),
              rebalance: atOnce,
              changes: reinvestment === 'index' ? changes : { pipeline: changes.pipeline },
            },
          ],
        });
        expectResumes({ market, document, request: { ...request, createDecider: indexDecider }, rows, steps, tally });
      },
    ),
    { numRuns: 3 * RUNS },
  );
  expect(tally.extended).toBeGreaterThan(0);
  expect(tally.rebalanced).toBeGreaterThan(0);
});
