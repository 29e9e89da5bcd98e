import { fc } from '../../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { buildMarket } from '../market-builder.js';
import { randomMarket } from '../random-market.js';
import { randomDocument, randomRequest, run } from '../random-run.js';
import { cut } from './extended.js';
import { DAYS_ADDED, expectResumes, createTally, RUNS } from './growing-run.js';
import { createDocument } from '../../index-document.js';

/** Share counts that change by up to 30 % on some sessions. */
const randomCounts = fc.array(fc.record({ cell: fc.nat(499), percent: fc.integer({ min: -25, max: 30 }) }), {
  minLength: 10,
  maxLength: 40,
});

const DAYS = ['01', '02', '03', '04', '05', '08', '09', '10', '11'].map((day) => `2024-01-${day}`);
const NO_PRICES = [null, null, null];

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
  test('a run that is extended to the first close of a phase starts it from an earlier replacement, as a whole run does', () => {
    const dates = DAYS.slice(0, 7);
    const repeat = (value: number): number[] => dates.map(() => value);
    const market = buildMarket({
      dates,
      close: { A: [100, 100, 100, 100, ...NO_PRICES], B: repeat(100), C: repeat(100) },
      fields: { SHARES_OUTSTANDING: { A: repeat(3), B: repeat(2), C: repeat(1) } },
      actions: [{ name: 'A', type: 'ACQUISITION', value: 100, ex: '2024-01-04' }],
    });
    const document = createDocument({
      base_date: dates[0],
      rebalance: {
        frequency: 'custom',
        dates: ['2024-01-08'],
        reference: { rule: 'sessions_before', sessions: 4 },
        phase: { sessions: 2 },
      },
      pipeline: {
        selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 2 } }],
        weighting: { type: 'EqualWeight' },
      },
      events: { replacement: 'next_ranked' },
      universe: { kind: 'list', identifiers: ['A', 'B', 'C'] },
    });
    const tally = createTally();
    expectResumes({ market, document, request: { createDecider: indexDecider }, rows: 5, steps: [1], tally });
    expect(tally).toMatchObject({ extended: 1, rebalanced: 1 });
    const { rebalances } = run(cut(market, 6), document, { createDecider: indexDecider });
    // C replaced A, so half of the shares before the phase are B and half are C; the target is only B.
    expect([...rebalances.at(-1)!.weights]).toEqual([0.75, 0.25]);
  });

  test.each([5, 6, 7])(
    'a run of %i sessions is computed as a whole if the entry of a new security waits for the end of a phase',
    (rows) => {
      const dates = DAYS.slice(0, 9);
      const repeat = (value: number): number[] => dates.map(() => value);
      const market = buildMarket({
        dates,
        close: { A: repeat(100), B: repeat(100), N: dates.map((_, t) => (t < 3 ? null : 100)) },
        fields: { SHARES_OUTSTANDING: { A: repeat(3), B: repeat(2), N: repeat(10) } },
      });
      const document = createDocument({
        base_date: dates[0],
        rebalance: {
          frequency: 'custom',
          dates: [dates[3]],
          reference: { rule: 'sessions_before', sessions: 2 },
          phase: { sessions: 4 },
        },
        events: { fast_entry: { rank: 1, field: 'MARKET_CAP', after_sessions: 1 } },
        universe: { kind: 'list', identifiers: ['A', 'B', 'N'] },
      });
      // N has its first price on row 3 and is ranked on row 4. The phase lasts from row 3 to 6, so N enters on row 7.
      const request = { createDecider: indexDecider };
      const { rebalances, index } = run(cut(market, 8), document, request);
      expect(rebalances.map(({ session, cause }) => [session - index.book.from, cause])).toEqual([
        [0, undefined],
        [3, undefined],
        [4, undefined],
        [5, undefined],
        [6, undefined],
        [7, 'fast_entry'],
      ]);
      const tally = createTally();
      expectResumes({ market, document, request, rows, steps: [8 - rows], tally });
      expect(tally).toMatchObject({ extended: 0, reasons: { member_change: 1 } });
    },
  );

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
