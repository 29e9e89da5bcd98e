import { fc } from '../../../fast-check.js';
import { expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { formatDay } from '#domain/base/time.js';
import { CALENDARS, listWeekdays } from '../../index-mathematics/index-case.js';
import { buildMarket } from '../market-builder.js';
import { randomMarket } from '../random-market.js';
import { randomDocument, randomRequest, runOn } from '../random-run.js';
import { DAYS_ADDED, expectResumes, createTally, RUNS } from './growing-run.js';
import { createDocument } from '../../index-document.js';

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

/** Index with daily rebalances in three phases. An amendment from a session on requests an immediate rebalance. */
function createAmendedIndex(dates: readonly string[], from: string): IndexDocument {
  return createDocument({
    base_date: dates[0],
    rebalance: { frequency: 'daily', phase: { sessions: 3 } },
    pipeline: { treatment: { dividends: 'price' }, weighting: { type: 'EqualWeight' } },
    amendments: [
      { effective_from: from, rebalance: true, changes: { pipeline: { weighting: { type: 'PriceWeight' } } } },
    ],
  });
}

test('an amendment on the last stored session adds no close to the scheduled rebalance of that session', () => {
  const dates = listWeekdays(8);
  const close = { A: [100, 101, 99, 103, 100, 102, 98, 104], B: [50, 51, 52, 51, 50, 49, 50, 52] };
  const tally = createTally();
  expectResumes({
    market: buildMarket({ dates, close }),
    document: createAmendedIndex(dates, dates[5]!),
    request: { createDecider: indexDecider },
    rows: 6,
    steps: [1, 1],
    tally,
    calendars: CALENDARS,
  });
  expect(tally).toMatchObject({ extended: 2, rebalanced: 2, reasons: {} });
});

test('an amendment on a day without prices adds no rebalance to the scheduled one', () => {
  const dates = listWeekdays(8);
  const close = { A: [100, 101, 99, 103, 100, null, 98, 104], B: [50, 51, 52, 51, 50, null, 50, 52] };
  const document = createAmendedIndex(dates, dates[5]!);
  const { list, sm } = runOn(CALENDARS, buildMarket({ dates, close }), document, { createDecider: indexDecider }).index
    .compositions;
  expect(list.map(({ session }) => formatDay(sm.sessions[session]!))).toEqual(dates.filter((_, t) => t !== 5));
});
