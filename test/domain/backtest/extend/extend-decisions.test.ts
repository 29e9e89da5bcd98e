import { fc } from '../../../fast-check.js';
import { expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { formatDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { RunRequest } from '../random-run.js';
import { randomMarket, addVolume, randomDefinition, randomNewcomers } from './random-definitions.js';
import { RUNS, DAYS_ADDED, createTally, expectResumes, randomSteps } from './growing-run.js';

test('an extended run day by day across its rebalances decides what the whole run decides, on no more of the market than its rules look back to', () => {
  const tally = createTally();
  fc.assert(
    fc.property(
      randomMarket,
      randomDefinition,
      randomSteps,
      fc.constantFrom(0, 3, 1000),
      ({ market: priced }, { document, parent, adjusted, isMeasured }, steps, datesMax) => {
        const market: MarketData = { ...addVolume(priced), adjustment: adjusted as MarketData['adjustment'] };
        const benchmark = isMeasured ? ({ id: 'P', kind: 'index', price_column: 'CLOSE' } as const) : null;
        const request: RunRequest = {
          transaction_cost_bps: 10,
          benchmark,
          documents: { P: parent },
          createDecider: indexDecider,
        };
        expectResumes({ market, document, request, steps, tally, datesMax, rows: market.dates.length - DAYS_ADDED });
      },
    ),
    { numRuns: RUNS },
  );
  expect(tally.extended).toBeGreaterThan(RUNS / 30);
  expect(tally.rebalanced).toBeGreaterThan(RUNS / 30);
  expect(Object.keys(tally.reasons)).not.toContain('rebalance');
  expect(Object.keys(tally.reasons)).not.toContain('new_name');
  expect(tally.wholes).toBe(0);
});

test('a run is extended when securities are first held, regardless of their earlier events', () => {
  const tally = createTally();
  fc.assert(
    fc.property(
      randomMarket,
      randomNewcomers,
      randomSteps,
      ({ market: priced }, { count, isCapped, variant, currency, benchmark, strategy, datesMax }, steps) => {
        const market = addVolume(priced);
        const rows = market.dates.length - DAYS_ADDED;
        const findDefinition = (id: string, size: number) =>
          IndexDocument.parse({
            id,
            name: id,
            calendar: 'MAIN',
            currency,
            base_date: formatDay(market.dates[rows - 6]!),
            rebalance: { frequency: 'daily' },
            pipeline: {
              treatment: {
                dividends: variant,
                withholding_tax: variant === 'net' ? 0.2 : 0,
                max_stale_sessions: 5,
              },
              selection: [{ id: 's', type: 'TopN', params: { field: 'VALUE_TRADED', count: size } }],
              weighting: { type: isCapped ? 'MarketCapWeight' : 'EqualWeight', cap: isCapped ? 0.7 : null },
            },
          });
        const reference =
          benchmark === null ? null : ({ id: benchmark, kind: 'index', price_column: 'CLOSE' } as const);
        const request: RunRequest = {
          transaction_cost_bps: 10,
          benchmark: reference,
          documents: { P: findDefinition('P', 2) },
          createDecider: indexDecider,
          ...(strategy ? { strategy } : {}),
        };
        expectResumes({ market, document: findDefinition('X', count), request, steps, tally, rows, datesMax });
      },
    ),
    { numRuns: RUNS },
  );
  expect(tally.joined).toBeGreaterThan(RUNS / 30);
  expect(Object.keys(tally.reasons)).not.toContain('new_name');
});
