import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/backtest/simulate/index-decider.js';
import type { Book } from '#domain/backtest/simulate/book.js';
import { openColumns, type RunColumns } from '#domain/backtest/run-file/read.js';
import { runToColumns } from '#domain/backtest/run-file/write.js';
import type { Run } from '#domain/backtest/run.js';
import type { StrategyTerms } from '#domain/backtest/plan.js';
import { IndexDocument, type IndexDocument as Definition } from '#domain/documents/index-document.js';
import { assetView } from '#views/asset-view.js';
import { attributionView } from '#views/attribution-view.js';
import { groupsView } from '#views/groups-view.js';
import { reconcileView } from '#views/reconcile/reconcile-view.js';
import { runOverviewJson } from '#views/run-json.js';
import { heldWeights, weightsView } from '#views/weights-view.js';
import { buildMarket } from './market-builder.js';
import { runOn, type RunRequest } from './random-run.js';
import { CALENDARS, holding, simulateSigned, WEEK, type Treatment, type Weights } from './signed-case.js';
import { portfolioTransactionsOf } from './transactions.js';

function heldOn({ sm, columns, weights }: Book, at: number): Record<string, number> {
  return Object.fromEntries(
    [...columns].flatMap((column, slot) =>
      weights[at * columns.length + slot] !== 0
        ? [[sm.identifiers[column]!, weights[at * columns.length + slot]!]]
        : [],
    ),
  );
}

function columnsOf(run: Run): RunColumns {
  const bytes = runToColumns(run, { contentHash: 's' });
  return openColumns((start, end) => bytes.slice(start, end));
}

function close(actual: ArrayLike<number>, expected: readonly number[], digits = 10): void {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) => expect(actual[i]).toBeCloseTo(value, digits));
}

function closeTo(actual: Weights, expected: Weights): void {
  expect(Object.keys(actual)).toEqual(Object.keys(expected));
  close(Object.values(actual), Object.values(expected), 12);
}

const levels = (run: Run): number[] => [...run.index.book.value];
const flat = (price: number): number[] => WEEK.map(() => price);

describe('a derived index with a short position', () => {
  const close = { A: [100, 110, 121, 121, 121, 121], B: [50, 50, 50, 55, 55, 55], X: [20, 22, 22, 22, 11, 11] };
  const parent = IndexDocument.parse({
    id: 'P',
    name: 'P',
    calendar: 'MAIN',
    base_date: WEEK[0],
    rebalance: { frequency: 'weekly' },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const derived = (constraints: { type: string; params: Record<string, unknown> }[]) =>
    IndexDocument.parse({
      ...parent,
      id: 'D',
      name: 'D',
      pipeline: undefined,
      universe: undefined,
      derivation: {
        source_index_id: 'P',
        objective: 'min_tracking_error',
        constraints: constraints.map((row, i) => ({ id: `r${i}`, ...row })),
      },
    });
  const run = (rows: Parameters<typeof derived>[0]) =>
    runOn(CALENDARS, buildMarket({ dates: WEEK, close }), derived(rows), {
      documents: { P: parent },
      createDecider: indexDecider,
    });
  const short = run([{ type: 'PositionBounds', params: { lower: -0.05, upper: -0.05, identifiers: ['X'] } }]);

  test('holds it at its rebalance, and its weights sum to 1', () => {
    expect(Object.keys(heldOn(short.index.book, 0))).toEqual(['A', 'B', 'X']);
    expect(heldOn(short.index.book, 0)['X']).toBeCloseTo(-0.05, 12);
    expect(Object.values(heldOn(short.index.book, 0)).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12);
  });

  test('ends where its own weights and the growth of its names lead', () => {
    let level = 100;
    for (let t = 1; t < WEEK.length; t++) {
      const before = heldOn(short.index.book, t - 1);
      level *= Object.entries(before).reduce(
        (sum, [name, weight]) => sum + (weight * close[name as 'A'][t]!) / close[name as 'A'][t - 1]!,
        0,
      );
      expect(short.index.book.value[t]).toBeCloseTo(level, 10);
    }
  });

  test('reconciles, as one that leaves cash does', () => {
    const cash = run([{ type: 'WeightSum', params: { lower: 0, upper: 0.6 } }]);
    const both = run([
      { type: 'WeightSum', params: { lower: 0.2, upper: 0.6 } },
      { type: 'PositionBounds', params: { lower: -0.3, upper: -0.1, identifiers: ['X'] } },
    ]);
    expect(cash.index.book.cash[0]).toBeCloseTo(0.4, 6);
    for (const found of [short, cash, both])
      expect(reconcileView(columnsOf(found), () => [], null).checks.filter(({ holds }) => !holds)).toEqual([]);
  });
});

describe('an index that is made from one with a short position', () => {
  const prices = { A: [100, 110, 121, 121, 121, 121], B: [50, 50, 50, 55, 55, 55], X: [20, 22, 22, 22, 11, 11] };
  const common = { calendar: 'MAIN', base_date: WEEK[0], rebalance: { frequency: 'none' } };
  const parent = IndexDocument.parse({
    ...common,
    id: 'P',
    name: 'P',
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const derive = (id: string, from: string, constraints: { type: string; params: Record<string, unknown> }[]) =>
    IndexDocument.parse({
      ...common,
      id,
      name: id,
      derivation: { source_index_id: from, constraints: constraints.map((row, i) => ({ id: `r${i}`, ...row })) },
    });
  const short = derive('S', 'P', [
    { type: 'PositionBounds', params: { lower: -0.2, upper: -0.2, identifiers: ['X'] } },
  ]);
  const run = (document: Definition, request: RunRequest = {}) =>
    runOn(CALENDARS, buildMarket({ dates: WEEK, close: prices }), document, {
      documents: { P: parent, S: short },
      createDecider: indexDecider,
      ...request,
    });

  test('by optimising it holds multiples of its short weights', () => {
    const rows = [
      { type: 'PositionBounds', params: { lower: -1 } },
      { type: 'RelativePositionBounds', params: { lower: 1.5, upper: 2, identifiers: ['X'] } },
    ];
    const found = run(derive('D', 'S', rows));
    expect(heldOn(found.index.book, 0)['X']).toBeCloseTo(-0.3, 8);
    expect(reconcileView(columnsOf(found), () => [], null).checks.filter(({ holds }) => !holds)).toEqual([]);
  });

  test('by its universe has the short names to choose from', () => {
    const child = IndexDocument.parse({
      ...common,
      id: 'C',
      name: 'C',
      universe: { kind: 'index', id: 'S' },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
    closeTo(heldOn(run(child).index.book, 0), { A: 1 / 3, B: 1 / 3, X: 1 / 3 });
  });

  test('is followed by a strategy, short as far as it is invested and under limits of its own', () => {
    const followed = (strategy: StrategyTerms) => heldOn(run(short, { strategy }).portfolio, 0);
    closeTo(followed({ rebalance: null, drift_tolerance: null, exposure: 0.5 }), { A: 0.3, B: 0.3, X: -0.1 });
    const limits = [{ id: '', type: 'PositionBounds', params: { lower: -0.05, upper: 1 } }];
    closeTo(followed({ rebalance: null, drift_tolerance: 0.01, exposure: 1, constraints: limits }), {
      A: 0.525,
      B: 0.525,
      X: -0.05,
    });
  });
});

describe('a short position', () => {
  test('loses what its name gains, and drifts with it', () => {
    const run = simulateSigned({
      close: { A: [100, 100, 110, 110, 110, 110], B: [50, 60, 60, 60, 60, 60] },
      weights: { A: 1.4, B: -0.4 },
    });
    close(levels(run), [100, 92, 106, 106, 106, 106]);
    closeTo(heldOn(run.index.book, 1), { A: 1.4 / 0.92, B: -0.48 / 0.92 });
  });

  test('pays dividends whole: nothing is withheld from what it pays', () => {
    const paying = (weights: Weights, treatment: Treatment) =>
      levels(
        simulateSigned({
          close: { A: flat(100), B: flat(50) },
          actions: [
            { name: 'A', type: 'DIVIDEND', value: 10, ex: '2024-03-06' },
            { name: 'B', type: 'DIVIDEND', value: 5, ex: '2024-03-06' },
          ],
          weights,
          treatment,
        }),
      )[2]!;
    const net = { dividends: 'net', withholding_tax: 0.2 } as const;
    close([paying({ A: 1.5, B: -0.5 }, {}), paying({ A: 1.5, B: -0.5 }, { dividends: 'total' })], [100, 110]);
    // A pays 1.5 x 8 %, B takes 0.5 x 10 %.
    close([paying({ A: 1.5, B: -0.5 }, net), paying({ A: 0.5, B: 0.5 }, net)], [107, 108]);
  });

  test('pays special dividends, splits and changes currency as a long one does', () => {
    const run = simulateSigned({
      close: { A: flat(100), B: [50, 50, 26, 26, 26, 26], EURUSD: [1, 1, 1, 1.1, 1.1, 1.1] },
      reference: { B: { CURRENCY: 'EUR' } },
      actions: [
        { name: 'B', type: 'SPLIT', value: 2, ex: '2024-03-06' },
        { name: 'B', type: 'SPECIAL_DIVIDEND', value: 1.5, ex: '2024-03-11' },
      ],
      weights: { A: 1.2, B: -0.2 },
    });
    const short = [20, 20, 20.8, 22.88, 22.88, 22.88 * (27.5 / 26)];
    close(
      levels(run),
      short.map((money) => 120 - money),
    );
    expect(run.index.book.divisor[5]).toBeCloseTo(1 + (short[5]! * (1.5 / 27.5)) / (120 - short[5]!), 12);
  });

  test('owes the child of a spin-off, and becomes one in the other name of a merger', () => {
    const spun = simulateSigned({
      close: { A: flat(100), B: [50, 50, 40, 40, 40, 40], KID: [null, null, 20, 25, 25, 25] },
      actions: [{ name: 'B', type: 'SPIN_OFF', value: 0.5, ex: '2024-03-06', related: 'KID' }],
      weights: { A: 1.5, B: -0.5 },
    });
    close(levels(spun), [100, 100, 100, 97.5, 97.5, 97.5]);
    closeTo(heldOn(spun.index.book, 2), { A: 1.5, B: -0.4, KID: -0.1 });
    const merged = simulateSigned({
      close: { A: flat(100), B: [50, 50, 55, null, null, null] },
      actions: [{ name: 'B', type: 'MERGER', value: 0.6, ex: '2024-03-06', related: 'A' }],
      weights: { A: 1.5, B: -0.5 },
    });
    // A B short becomes 0.6 A at 100: 60 for 50.
    close(levels(merged), [100, 100, 90, 90, 90, 90]);
    closeTo(heldOn(merged.index.book, 2), { A: 1 });
  });

  test('is a sale at the first purchase and a purchase when it is covered, both of positive notional', () => {
    const run = simulateSigned({
      close: { A: flat(100), B: [50, 50, 50, 50, 50, 50] },
      weights: { A: 1.5, B: -0.5 },
      request: {
        transaction_cost_bps: 100,
        createDecider: holding((session) => (session === 0 ? { A: 1.5, B: -0.5 } : { A: 1 })),
      },
      rebalance: { frequency: 'custom', dates: ['2024-03-06'] },
    });
    const rows = portfolioTransactionsOf(run);
    expect(rows.map(({ date, asset, side }) => [date, asset, side])).toEqual([
      ['2024-03-04', 'A', 'buy'],
      ['2024-03-04', 'B', 'sell'],
      ['2024-03-06', 'A', 'sell'],
      ['2024-03-06', 'B', 'buy'],
    ]);
    const start = 1_000_000 / 1.02;
    // V' + 0.01 (1.5 V - V' + 0.5 V) = V
    const left = (start * (1 - 0.02)) / 0.99;
    close(
      rows.map(({ notional }) => notional! / 1e6),
      [1.5 * start, 0.5 * start, 1.5 * start - left, 0.5 * start].map((money) => money / 1e6),
    );
    close([run.portfolio.value[2]! / 1e6], [left / 1e6]);
  });
});

describe('a name that leaves a book with short positions', () => {
  const gone = (name: string, weights: Weights, value = 0, costBps = 0) =>
    simulateSigned({
      close: { A: flat(100), B: flat(50), C: flat(10), D: flat(20), [name]: [100, 100, null, null, null, null] },
      actions: [{ name, type: 'DELISTING', value, ex: '2024-03-07' }],
      weights,
      request: { transaction_cost_bps: costBps },
    });

  test('long, leaves its weight to the long names: long, short and net exposure stay', () => {
    const run = gone('A', { A: 0.4, B: 0.6, C: 0.3, D: -0.3 });
    closeTo(heldOn(run.index.book, 3), { B: 0.6 + 0.4 * (0.6 / 0.9), C: 0.3 + 0.4 * (0.3 / 0.9), D: -0.3 });
    expect([...run.index.book.cash]).toEqual([0, 0, 0, 0, 0, 0]);
    expect([...run.index.book.divisor]).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test('short, is covered at its price, which the other short names pay for', () => {
    const run = gone('C', { A: 0.8, B: 0.7, C: -0.2, D: -0.3 }, 120);
    // Covered at 120 for 100: 0.24 of 1, which is 0.96 then.
    close(levels(run), [100, 100, 100, 96, 96, 96]);
    closeTo(heldOn(run.index.book, 3), { A: 0.8 / 0.96, B: 0.7 / 0.96, D: -0.54 / 0.96 });
  });

  test('as the last short one is paid from cash, then by selling long names', () => {
    closeTo(heldOn(gone('D', { A: 0.5, B: 0.4, D: -0.2 }).index.book, 3), { A: 0.5, B: 0.4 });
    expect(gone('D', { A: 0.5, B: 0.4, D: -0.2 }).index.book.cash[3]).toBeCloseTo(0.1, 12);
    const run = gone('D', { A: 0.6, B: 0.6, D: -0.2 });
    closeTo(heldOn(run.index.book, 3), { A: 0.5, B: 0.5 });
    expect(run.index.book.cash[3]).toBe(0);
  });

  test('as the last long one leaves cash', () => {
    const run = gone('A', { A: 1.2, D: -0.2 });
    closeTo(heldOn(run.index.book, 3), { D: -0.2 });
    expect(run.index.book.cash[3]).toBeCloseTo(1.2, 12);
  });

  test('is a free trade, at what it brought or took; what takes over its weight is paid for', () => {
    const run = gone('C', { A: 0.8, B: 0.7, C: -0.2, D: -0.3 }, 120, 100);
    const start = 1_000_000 / 1.02;
    const rows = portfolioTransactionsOf(run).filter(({ date }) => date === '2024-03-07');
    expect(rows.map(({ asset, side, reason, price }) => [asset, side, reason, price])).toEqual([
      ['C', 'buy', 'delisting', 120],
      ['D', 'sell', 'delisting', 20],
    ]);
    const taken = 0.24 * start;
    close(
      rows.flatMap(({ notional, cost }) => [notional! / 1e6, cost! / 1e6]),
      [taken, 0, taken / 0.99, taken / 99].map((money) => money / 1e6),
    );
    expect(reconcileView(columnsOf(run), () => [], null).reconciles).toBe(true);
  });

  test('pays its last dividend whole when it was short', () => {
    const run = simulateSigned({
      close: { A: flat(100), B: [50, 50, null, null, null, null] },
      actions: [
        { name: 'B', type: 'DELISTING', value: 55, ex: '2024-03-06' },
        { name: 'B', type: 'DIVIDEND', value: 5, ex: '2024-03-06' },
      ],
      treatment: { dividends: 'net', withholding_tax: 0.5 },
      weights: { A: 1.5, B: -0.5 },
    });
    close(levels(run), [100, 100, 90, 90, 90, 90]);
    expect(
      portfolioTransactionsOf(run).find(({ date, asset }) => date === '2024-03-06' && asset === 'B'),
    ).toMatchObject({ side: 'buy', price: 60 });
  });
});

describe('short positions that lose more than there was', () => {
  const squeezed = (end: string | null, value = 200) =>
    simulateSigned({
      close: { A: flat(100), B: [50, 50, 100, value, value, value] },
      weights: { A: 1.5, B: -0.5 },
      request: { end },
    });

  test('are refused by the day, with what the index was worth before and then', () => {
    expect(() => squeezed(null)).toThrow(
      expect.objectContaining({
        code: 'NUMERIC_FAILURE',
        message:
          'The index X is worth -50 on 2024-03-07 after 50 the session before: its short positions lost more than there was. A run that ends before 2024-03-07 can be measured.',
        detail: { date: '2024-03-07' },
      }),
    );
    expect(() => squeezed('2024-03-07')).toThrow(expect.objectContaining({ code: 'NUMERIC_FAILURE' }));
  });

  test('are measured up to the day before', () => close(levels(squeezed('2024-03-06')), [100, 100, 50]));
});

describe('views of a run with a short position', () => {
  const run = simulateSigned({
    close: { A: [100, 101, 102, 100, 99, 103], B: [50, 51, 50, 52, 53, 50], C: [10, 10, 11, 10, 9, 10] },
    weights: { A: 0.8, B: 0.4, C: -0.3 },
    request: { transaction_cost_bps: 20 },
  });
  const columns = columnsOf(run);

  test('the overview has the exposures of the last rebalance, and a long run has none', () => {
    const overview = (found: Run) =>
      JSON.parse(new TextDecoder().decode(runOverviewJson(found))) as Record<string, unknown>;
    expect(overview(run)['exposure']).toEqual({
      long: expect.closeTo(1.2, 12),
      short: -0.3,
      gross: expect.closeTo(1.5, 12),
      net: expect.closeTo(0.9, 12),
    });
    expect(overview(run)['concentration']).toMatchObject({
      constituents: 3,
      largest: 0.8,
      herfindahl: expect.closeTo(0.64 + 0.16 + 0.09, 12),
      top_weights: { 1: 0.8, 5: expect.closeTo(1.5, 12) },
    });
    expect(overview(simulateSigned({ close: { A: flat(100) }, weights: { A: 1 } }))).not.toHaveProperty('exposure');
  });

  test('weights have its row, last, with what it moved', () => {
    const view = weightsView({
      runId: 'X',
      requestedAsOf: null,
      weights: heldWeights(columns, null),
      benchmark: new Map([['C', 0.1]]),
      sharesOf: () => null,
      risk: null,
      activeRisk: null,
    });
    expect(view.weights.map(({ identifier }) => identifier)).toEqual(['A', 'B', 'C']);
    const held = heldOn(run.portfolio, 5)['C']!;
    expect(view.weights[2]).toMatchObject({
      weight: held,
      active_weight: held - 0.1,
      delta_since_rebalance: held + 0.3,
    });
    expect(view.exposure!.short).toBe(held);
  });

  test('its contribution is what it earned, and the rest adds up with it', () => {
    const view = attributionView(columns, { start: null, end: null });
    const short = view.contributions.find(({ asset_id: id }) => id === 'C')!;
    expect(view.reconciles).toBe(true);
    expect(view.contributions).toHaveLength(3);
    expect(short.average_weight).toBeLessThan(0);
    expect(short.total_return).toBeCloseTo(0, 12);
    const groups = groupsView(columns, {
      window: { start: null, end: null },
      by: 'SIDE',
      groupOf: (name) => (name === 'C' ? 'short' : 'long'),
      benchmark: null,
    });
    expect(groups.groups.map(({ group }) => group)).toEqual(['long', 'short', 'CASH']);
    expect(groups.groups[1]!.contribution).toBeCloseTo(short.contribution, 12);
    expect(groups.groups[1]!.average_weight).toBeCloseTo(short.average_weight, 12);
    expect(groups.reconciles).toBe(true);
  });

  test('the asset is held, at a negative weight', () => {
    expect(assetView(columns, 'C')).toMatchObject({
      rebalances_held: 1,
      weight_history: { [WEEK[0]!]: -0.3 },
      raw_weight_history: { [WEEK[0]!]: -0.3 },
    });
  });
});
