import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkpointOf } from '#domain/backtest/checkpoint.js';
import { indexDecider } from '#domain/backtest/index-decider.js';
import type { Run } from '#domain/backtest/run.js';
import { runToColumns } from '#domain/backtest/run-to-columns.js';
import { summaryOf } from '#domain/backtest/run-summary.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusal.js';
import { snapshotsOf, writeResult } from '#views/run-json.js';
import { cut, extend, opened, STAMP, told, type StoredRun } from './extended.js';
import { randomMarketOver } from './random-market.js';
import { run, type RunRequest } from './random-run.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 150);

/** Long enough for a covariance of 21 returns behind every day that is added. */
const randomMarket = randomMarketOver(fc.integer({ min: 60, max: 80 }));
const DAYS_ADDED = 14;

/** A market whose names have a volume as well, and are in a universe until the one or the other leaves it. */
function withVolume(market: MarketData): MarketData {
  const close = market.fields.get('CLOSE')!;
  const volume = close.map((price, cell) => (price === price ? 1000 + ((cell * 7919) % 997) : Number.NaN));
  const universes = market.identifiers.filter((_, n) => n % 4 !== 3).map((identifier, n) => ({ universe: 'U', identifier, start: null, end: n % 3 === 2 ? market.dates.at(-5)! : null }));
  return { ...market, fields: new Map([...market.fields, ['VOLUME', volume]]), universes };
}

const randomField = fc
  .record({ name: fc.constantFrom('RETURN', 'VOLATILITY', 'MOMENTUM', 'BETA', 'DIVIDEND_YIELD', 'AGE', 'MARKET_CAP', 'VALUE_TRADED', 'CLOSE'), lag: fc.constantFrom(0, 0, 3), window: fc.integer({ min: 2, max: 20 }), aggregate: fc.constantFrom('last', 'mean', 'std', 'sum', 'count') })
  .map(({ name, lag, window, aggregate }) => {
    const isStatistic = ['VOLATILITY', 'MOMENTUM', 'BETA'].includes(name);
    return { node: 'field', name, lag, window: isStatistic || aggregate !== 'last' ? window : null, aggregate: isStatistic ? 'last' : aggregate, transform: 'rank' };
  });

const randomRule = fc.oneof(
  fc.record({ field: randomField, value: fc.integer({ min: 3, max: 8 }) }).map(({ field, value }) => ({ type: 'ExpressionFilter', params: { expression: { node: 'comparison', field, comparison: 'le', value } } })),
  fc.constantFrom(
    { type: 'BufferedTopN', params: { field: 'VALUE_TRADED', count: 4, enter_rank: 3, exit_rank: 6 } },
    { type: 'DividendFilter', params: { minimum_yield: 0 } },
    { type: 'HistoryFilter', params: { sessions: 15, coverage: 0.8 } },
    { type: 'MomentumFilter', params: { window: 12, skip: 2, minimum: -0.1 } },
    { type: 'VolatilityFilter', params: { window: 15, maximum: 0.9 } },
    { type: 'SeasoningFilter', params: { sessions: 10 } },
    { type: 'LiquidityFilter', params: { minimum: 10_000, window: 10, incumbent_minimum: 1000 } },
  ),
);

const randomWeighting = fc.constantFrom(
  { type: 'EqualWeight' },
  { type: 'MarketCapWeight', cap: 0.35 },
  { type: 'InverseVolatilityWeight', params: { window: 18, minimum_observations: 4 } },
  { type: 'MinimumVarianceWeight', params: { window: 21, upper: 0.5 } },
  { type: 'EqualRiskWeight', params: { window: 22 } },
  { type: 'FieldWeight', params: { field: 'VALUE_TRADED' }, cap: 0.5 },
  { type: 'GroupWeight', params: { field: 'SECTOR', between: 'equal', within: 'market_cap' } },
);

/** Another index of the market: what the universe of the first may be, on a calendar and a schedule of its own. */
const randomParent = fc.constantFrom('MAIN', 'OTHER').map((calendar) =>
  IndexDocument.parse({
    id: 'P', name: 'P', calendar, base_date: '2023-12-28', rebalance: { frequency: 'weekly' },
    pipeline: { selection: [{ id: 's', type: 'TopN', params: { field: 'MOMENTUM', count: 6 } }].slice(calendar === 'MAIN' ? 1 : 0).concat([{ id: 'n', type: 'BufferedTopN', params: { field: 'VALUE_TRADED', count: 5, enter_rank: 4, exit_rank: 7 } } as never]), weighting: { type: 'EqualWeight' } },
  }),
);

const randomDefinition = fc
  .record({
    frequency: fc.constantFrom('daily', 'weekly', 'monthly'),
    lag: fc.constantFrom(0, 0, 2),
    stale: fc.constantFrom(0, 1, 5),
    adjusted: fc.constantFrom('none', 'splits', 'total'),
    universe: fc.constantFrom({ kind: 'all' }, { kind: 'named', id: 'U' }, { kind: 'index', id: 'P' }, { kind: 'list', identifiers: ['AA', 'BB', 'CC', 'EE', 'HH', 'NEW'] }),
    rules: fc.array(randomRule, { maxLength: 2 }),
    weighting: randomWeighting,
    parent: randomParent,
    isMeasured: fc.boolean(),
  })
  .map(({ frequency, lag, stale, universe, rules, weighting, ...rest }) => ({
    ...rest,
    document: IndexDocument.parse({
      id: 'X', name: 'X', calendar: 'MAIN', base_date: '2024-02-08', universe, rebalance: { frequency, effective_lag: lag },
      pipeline: { treatment: { dividends: 'total', max_stale_sessions: stale }, selection: rules.map((rule, i) => ({ id: `r${i}`, ...rule })), weighting },
    }),
  }));

/** What becomes of a run: itself, or the code that it is refused with. */
function outcomeOf(work: () => Run): Run | string {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown.code;
    throw thrown;
  }
}

test('a run gone on with day by day across its rebalances decides what the whole run decides, on no more of the market than its rules look back to', () => {
  let extended = 0;
  let rebalanced = 0;
  let wholes = 0;
  fc.assert(
    fc.property(randomMarket, randomDefinition, fc.array(fc.constantFrom(1, 1, 1, 2, 5), { minLength: 3, maxLength: 5 }), ({ market: priced }, { document, parent, adjusted, isMeasured }, steps) => {
      const market: MarketData = { ...withVolume(priced), adjustment: adjusted as MarketData['adjustment'] };
      const benchmark = isMeasured ? ({ id: 'P', kind: 'index', price_column: 'CLOSE' } as const) : null;
      const request: RunRequest = { transaction_cost_bps: 10, benchmark, documents: { P: parent }, createDecider: indexDecider };
      const rows = market.dates.length - DAYS_ADDED;
      const begun = outcomeOf(() => run(cut(market, rows), document, request));
      if (typeof begun === 'string') return;
      const base = runToColumns(begun, { contentHash: 's' });
      let stored: StoredRun = { columns: opened(base), checkpoint: checkpointOf(begun) };
      let result = writeResult(summaryOf(begun), STAMP, snapshotsOf(begun));
      let to = rows;
      for (const step of steps) {
        if (to + step > market.dates.length) return;
        to += step;
        const grown = cut(market, to);
        const whole = outcomeOf(() => run(grown, document, request));
        const onWhole = () => void wholes++;
        if (typeof whole === 'string') {
          expect(() => extend(begun.plan, grown, stored, { createDecider: indexDecider, onWhole })).toThrow(Refusal);
          return;
        }
        const gone = extend(whole.plan, grown, stored, { createDecider: indexDecider, onWhole });
        if (typeof gone === 'string') {
          expect(['new_name', 'parted', 'rebalance']).toContain(gone);
          return;
        }
        extended++;
        if (gone.rebalances.length > 0) rebalanced++;
        const columns = opened(gone.columns, base);
        expect(told(columns)).toEqual(told(opened(runToColumns(whole, { contentHash: 's' }))));
        expect(gone.checkpoint).toEqual(checkpointOf(whole));
        const { bytes, snapshots: { from, to: end, cells } } = result;
        const text = { bytes: end - from, cells, readInto: (room: Uint8Array) => room.set(bytes.subarray(from, end)) };
        result = writeResult(gone.summary, STAMP, { stored: text, added: gone.rebalances, identifiers: gone.market });
        expect(Buffer.from(result.bytes).toString()).toBe(Buffer.from(writeResult(summaryOf(whole), STAMP, snapshotsOf(whole)).bytes).toString());
        stored = { columns, checkpoint: gone.checkpoint };
      }
    }),
    { numRuns: RUNS },
  );
  expect(extended).toBeGreaterThan(RUNS / 2);
  expect(rebalanced).toBeGreaterThan(RUNS / 4);
  expect(wholes).toBe(0);
});
