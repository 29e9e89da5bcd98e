import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { referenceEngine } from '#kernels/engines/reference.js';
import { computeRun } from '#domain/backtest/run-backtest.js';
import type { StrategyTerms } from '#domain/definition/backtest-plan.js';
import type { ComputedRun, ComputeInput } from '#domain/backtest/run.js';
import type { DeciderFactory } from '#domain/books/compositions.js';
import { createIndexDeciders, indexDecider } from '#domain/optimisation/derived-index.js';
import { createSparseMemory } from '#domain/books/book.js';
import { assertReturns } from '#domain/backtest/summary.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createSharedDecisions } from '#domain/decide/shared-decisions.js';
import { runVariants, type VariantOutcome } from '#domain/studies/sweep-runs.js';
import { createSweepTable } from '#domain/studies/sweep-table.js';
import type { Variant } from '#domain/studies/sweep.js';
import { Refusal } from '#domain/base/refusals.js';
import type { MarketData } from '#domain/market/market-data.js';
import { buildMarket } from '../backtest/market-builder.js';
import { randomMarket } from '../backtest/random-market.js';
import { CALENDARS, randomDocument, randomRequest, run } from '../backtest/random-run.js';
import { createPlainDecider } from '../backtest/test-deciders.js';
import { createOutcomeSource } from './outcome-source.js';
import { createDocument } from '../index-document.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 10);
const HALF_EXPOSURE: StrategyTerms = { rebalance: null, drift_tolerance: 0.02, exposure: 0.5 };

function runSingle(market: MarketData, { document, request, strategy }: Variant): VariantOutcome {
  try {
    const singleRun = run(market, document, { ...request, ...(strategy === null ? {} : { strategy }) });
    assertReturns(singleRun);
    const { metrics, totalCosts, days, level } = singleRun;
    return { kind: 'run', metrics, totalCosts, days, level };
  } catch (refusal) {
    if (refusal instanceof Refusal) return { kind: 'refused', error: refusal.toDetail() };
    throw refusal;
  }
}

/** Returns the levels of a run, or undefined if the random market is refused. */
function computeLevels(
  market: MarketData,
  document: IndexDocument,
  { start, roomForWeights }: { readonly start: string | null } & Required<Pick<ComputeInput, 'roomForWeights'>>,
): ComputedRun | undefined {
  const request = { benchmark: null, start, end: null, initial_capital: 1, transaction_cost_bps: 10 };
  const plan = { runId: 'X', name: 'X', indexId: 'X', documents: { X: document }, request };
  try {
    return computeRun({
      market,
      calendars: CALENDARS,
      plan,
      createDecider: createPlainDecider,
      report: () => {},
      levelsOnly: true,
      roomForWeights,
    });
  } catch (refusal) {
    if (refusal instanceof Refusal) return undefined;
    throw refusal;
  }
}

const runAll = (market: MarketData, variants: readonly Variant[]) =>
  runVariants({
    market,
    calendars: CALENDARS,
    variants,
    documents: {},
    createDecider: createPlainDecider,
    report: () => {},
  });

test('variants with shared computations equal their single runs, bit for bit', () => {
  fc.assert(
    fc.property(
      randomMarket,
      fc.array(randomDocument, { minLength: 2, maxLength: 3 }),
      fc.array(randomRequest, { minLength: 2, maxLength: 3 }),
      ({ market }, documents, requests) => {
        const variants = documents.flatMap((document) =>
          requests.flatMap((request) =>
            [null, HALF_EXPOSURE].map((strategy): Variant => ({
              patch: {},
              document,
              request: { benchmark: null, end: null, ...request },
              strategy,
            })),
          ),
        );
        const outcomes = runAll(market, variants);
        variants.forEach((variant, i) => expect(outcomes[i]).toEqual(runSingle(market, variant)));
        const reversedRun = runAll(market, variants.toReversed());
        expect(reversedRun.toReversed()).toEqual(outcomes);
        const isPlain = ({ strategy }: Variant): boolean => strategy === null;
        expect(runAll(market, variants.filter(isPlain))).toEqual(outcomes.filter((_, i) => isPlain(variants[i]!)));
      },
    ),
    { numRuns: RUNS },
  );
});

test('definitions that share the data of a session equal those with separate reads', () => {
  const rules = fc.record({
    count: fc.integer({ min: 1, max: 4 }),
    ascending: fc.boolean(),
    missing: fc.constantFrom('exclude', 'include'),
    field: fc.constantFrom('CLOSE', 'MARKET_CAP', { name: 'CLOSE', window: 3, aggregate: 'mean' }),
  });
  const otherVariant = {
    identifiers: fc.constantFrom(undefined, 2),
    type: fc.constantFrom('TopN', 'BufferedTopN'),
    weighting: fc.record({ type: fc.constantFrom('EqualWeight', 'PriceWeight'), cap: fc.constantFrom(null, 0.3, 0.6) }),
  };
  const draws = fc.array(fc.record({ rules, ...otherVariant }), { minLength: 3, maxLength: 6 });
  let ranCount = 0;
  fc.assert(
    fc.property(
      randomMarket,
      randomDocument,
      draws,
      fc.constantFrom(1 << 20, 12),
      (randomCase, document, drawn, namesMax) => {
        const { market } = randomCase;
        const variants = drawn.map(({ rules: params, identifiers, type, weighting }): Variant => ({
          patch: {},
          document: IndexDocument.parse({
            ...document,
            ...(identifiers && { universe: { kind: 'list', identifiers: market.identifiers.slice(0, identifiers) } }),
            pipeline: {
              ...document.pipeline,
              selection: [{ id: 'best', type, params }],
              weighting,
            },
          }),
          request: { benchmark: null, start: null, end: null, initial_capital: 1, transaction_cost_bps: 0 },
          strategy: null,
        }));
        const listOutcomes = (createDecider: DeciderFactory) =>
          runVariants({ market, calendars: CALENDARS, variants, documents: {}, createDecider, report: () => {} });
        const sharing = createSharedDecisions(namesMax);
        const sharedDeciders = createIndexDeciders(referenceEngine, sharing);
        const ownOutcomes = listOutcomes(indexDecider);
        expect(listOutcomes(sharedDeciders)).toEqual(ownOutcomes);
        sharing.makeRoom();
        expect(listOutcomes(sharedDeciders)).toEqual(ownOutcomes);
        ranCount += ownOutcomes.filter(({ kind }) => kind === 'run').length;
      },
    ),
    { numRuns: 2 * RUNS },
  );
  expect(ranCount).toBeGreaterThan(RUNS);
});

test('memory for weights is zero again when the next book takes it', () => {
  fc.assert(
    fc.property(randomMarket, randomDocument, randomRequest, ({ market }, document, { start }) => {
      const memory = createSparseMemory();
      let takenMemory: Float64Array | undefined;
      const reserveWeights = (cells: number): Float64Array => (takenMemory = memory.take(cells));
      const computedLevels = computeLevels(market, document, { start, roomForWeights: reserveWeights });
      if (computedLevels === undefined) return;
      const { index, from } = computedLevels;
      expect(takenMemory!.some((weight) => weight !== 0)).toBe(true);
      memory.giveBack(index.book, from);
      expect(takenMemory!.every((weight) => Object.is(weight, 0))).toBe(true);
      expect(memory.take(takenMemory!.length).buffer).toBe(takenMemory!.buffer);
    }),
    { numRuns: 2 * RUNS },
  );
});

test('the table is ranked, refused variants come last, and ties keep their order', () => {
  const createLevel = (...values: number[]): VariantOutcome => ({
    kind: 'run',
    metrics: {
      annualised_return: 0,
      max_drawdown: 0,
      sharpe_ratio: values.at(-1)!,
      total_return: 0,
      tracking_difference: 0,
      tracking_error: values[1]!,
      volatility: 0,
    },
    totalCosts: 0,
    days: Int32Array.from(values, (_, t) => t),
    level: Float64Array.from(values),
  });
  const refusal: VariantOutcome = { kind: 'refused', error: { code: 'EMPTY_INDEX', message: '', detail: null } };
  const outcomes = [createLevel(100, 101, 102), refusal, createLevel(100, 99, 104), createLevel(100, 99, 102)];
  const findRanks = (rankBy: 'sharpe_ratio' | 'tracking_error') =>
    createSweepTable({ outcomes: createOutcomeSource(outcomes), rankBy, partitions: 2, folds: null }).rows.map(
      ({ rank, variant }) => [rank, variant],
    );
  expect(findRanks('sharpe_ratio')).toEqual([
    [1, 2],
    [2, 0],
    [3, 3],
    [null, 1],
  ]);
  expect(findRanks('tracking_error')).toEqual([
    [1, 2],
    [2, 3],
    [3, 0],
    [null, 1],
  ]);
  const { selection, overfitting } = createSweepTable({
    outcomes: createOutcomeSource([refusal]),
    rankBy: 'sharpe_ratio',
    partitions: 2,
    folds: null,
  });
  expect([selection, overfitting]).toEqual([null, null]);
});

test('a definition that the market cannot run is refused, and the others run', () => {
  const document = createDocument({ base_date: '2024-03-01' });
  const { market } = fc.sample(randomMarket, { numRuns: 1, seed: 1 })[0]!;
  const request = { benchmark: null, start: null, end: null, initial_capital: 1, transaction_cost_bps: 0 };
  const [first, second] = runAll(market, [
    { patch: {}, document, request, strategy: null },
    { patch: {}, document: { ...document, base_date: '2023-12-27' }, request, strategy: null },
  ]);
  expect(first!.kind).toBe('refused');
  expect(second!.kind).toBe('run');
});

test('a variant that loses everything is refused with the day, and the others run', () => {
  const dates = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07', '2024-03-08'];
  const market = buildMarket({
    dates,
    close: { A: [100, 110, null, null, null], B: [50, 51, 52, 53, 54] },
    actions: [{ name: 'A', type: 'DELISTING', value: 0, isUnpriced: true, ex: '2024-03-06' }],
  });
  const createVariant = (delisting: string): Variant => ({
    patch: {},
    document: createDocument({
      base_date: dates[0],
      rebalance: { frequency: 'none' },
      universe: { kind: 'list', identifiers: ['A'] },
      pipeline: { treatment: { delisting }, weighting: { type: 'EqualWeight' } },
    }),
    request: { benchmark: null, start: null, end: null, initial_capital: 1, transaction_cost_bps: 0 },
    strategy: null,
  });
  const [priced, lost] = runAll(market, [createVariant('last_price'), createVariant('zero')]);
  expect(priced).toMatchObject({ kind: 'run', metrics: { total_return: expect.closeTo(0.1, 12) as number } });
  expect(lost).toMatchObject({ kind: 'refused', error: { code: 'NUMERIC_FAILURE', detail: { date: '2024-03-06' } } });
});

test('a variant whose short position loses more than the whole value is refused with the day, and the others run', () => {
  const dates = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07', '2024-03-08'];
  const market = buildMarket({ dates, close: { A: [100, 100, 100, 100, 100], B: [50, 50, 100, 200, 200] } });
  const commonFields = { name: 'X', calendar: 'MAIN', base_date: dates[0], rebalance: { frequency: 'none' } };
  const parent = IndexDocument.parse({ ...commonFields, id: 'P', pipeline: { weighting: { type: 'EqualWeight' } } });
  const createVariant = (lower: number): Variant => ({
    patch: {},
    document: IndexDocument.parse({
      ...commonFields,
      id: 'X',
      derivation: {
        source_index_id: 'P',
        constraints: [{ id: 'short', type: 'PositionBounds', params: { lower, upper: lower, identifiers: ['B'] } }],
      },
    }),
    request: { benchmark: null, start: null, end: null, initial_capital: 1, transaction_cost_bps: 0 },
    strategy: null,
  });
  const variants = [createVariant(-0.1), createVariant(-0.5)];
  const [priced, lost] = runVariants({
    market,
    calendars: CALENDARS,
    variants,
    documents: { P: parent },
    createDecider: indexDecider,
    report: () => {},
  });
  expect(priced).toMatchObject({ kind: 'run', metrics: { total_return: expect.closeTo(-0.3, 8) as number } });
  expect(lost).toMatchObject({ kind: 'refused', error: { code: 'NUMERIC_FAILURE', detail: { date: '2024-03-07' } } });
});
