import { fc } from '../../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { randomMarket } from '../random-market.js';
import { randomDocument, randomRequest, run } from '../random-run.js';
import { DAYS_ADDED, expectResumes, createTally, RUNS } from './growing-run.js';

/** Share counts that change by up to 30 % on some sessions. */
const randomCounts = fc.array(fc.record({ cell: fc.nat(499), percent: fc.integer({ min: -25, max: 30 }) }), {
  minLength: 10,
  maxLength: 40,
});

function withCounts(market: MarketData, changes: readonly { cell: number; percent: number }[]): MarketData {
  const names = market.identifiers.length;
  const panel = market.fields.get('SHARES_OUTSTANDING')!.slice();
  for (const { cell, percent } of changes)
    for (let i = cell; i < panel.length; i += names) panel[i]! *= 1 + percent / 100;
  return { ...market, fields: new Map([...market.fields, ['SHARES_OUTSTANDING', panel]]) };
}

const randomEvents = fc.record({
  share_changes: fc.constantFrom('review', 'effective', 'effective'),
  threshold: fc.constantFrom(0, 0.05, 0.1),
  acquirer: fc.constantFrom('convert', 'remove'),
  replacement: fc.constantFrom('none', 'none', 'next_ranked', 'reserve'),
  reserve: fc.constant(['EE', 'FF', 'AA', 'BB', 'CC', 'DD']),
  fast_exit: fc.constantFrom(undefined, undefined, {
    rank: 4,
    field: 'MARKET_CAP',
    schedule: { frequency: 'weekly', weekday: 2 },
  }),
  fast_entry: fc.constantFrom(undefined, undefined, { rank: 3, field: 'MARKET_CAP', after_sessions: 2 }),
});

describe('changes between reviews', () => {
  test('have the same bits in runs that are extended and in whole ones', () => {
    const tally = createTally();
    const seenCounts = { changes: 0, replacement: 0, fast_exit: 0, fast_entry: 0 };
    fc.assert(
      fc.property(
        randomMarket,
        randomDocument,
        randomRequest,
        randomCounts,
        randomEvents,
        fc.integer({ min: 10, max: 30 }),
        fc.array(fc.integer({ min: 1, max: DAYS_ADDED }), { minLength: 1, maxLength: 4 }),
        fc.record({ selects: fc.boolean(), byValue: fc.boolean() }),
        ({ market: plain }, drawn, request, counts, events, rows, steps, { selects, byValue }) => {
          const market = withCounts(plain, counts);
          const document = IndexDocument.parse({
            ...drawn,
            pipeline: {
              ...drawn.pipeline,
              ...(selects
                ? { selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 3 } }] }
                : {}),
              weighting: { ...drawn.pipeline!.weighting, ...(byValue ? { type: 'MarketCapWeight' } : {}) },
            },
            events,
            universe: { kind: 'list', identifiers: ['AA', 'BB', 'CC', 'DD', 'EE', 'FF', 'KID'] },
          });
          expectResumes({
            market,
            document,
            request: { ...request, createDecider: indexDecider },
            rows,
            steps,
            tally,
          });
          try {
            const { index } = run(market, document, { createDecider: indexDecider });
            seenCounts.changes += index.book.shareChanges?.session.length ?? 0;
            for (const { cause } of index.compositions.list)
              if (cause) seenCounts[cause as keyof typeof seenCounts] += 1;
          } catch {
            // The engine refused the random market.
          }
        },
      ),
      { numRuns: 6 * RUNS },
    );
    expect(tally.extended).toBeGreaterThan(fc.countDraws(RUNS));
    expect(Math.min(...Object.values(seenCounts))).toBeGreaterThan(0);
    expect(tally.reasons['member_change']).toBeGreaterThan(0);
  });
});
