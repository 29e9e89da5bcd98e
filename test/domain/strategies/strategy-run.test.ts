import { describe, expect, test } from 'vitest';
import type { StrategyTerms } from '#domain/definition/backtest-plan.js';
import type { Run } from '#domain/backtest/run.js';
import { createRunColumns, openColumns } from '#domain/backtest/run-file/columns.js';
import { formatDay } from '#domain/base/time.js';
import { RebalanceSpec } from '#domain/definition/schedule.js';
import { createWeightsView, readPositiveWeights } from '#views/weights.js';
import { buildMarket, createWeekdayCalendars, type MarketSketch } from '../backtest/market-builder.js';
import { runOn } from '../backtest/random-run.js';
import { createDocument } from '../index-document.js';

const CALENDARS = createWeekdayCalendars({ MAIN: { from: '2024-01-01', to: '2024-01-31' } });
const DATES = ['2024-01-01', '2024-01-02', '2024-01-03', '2024-01-04'];
const PLAIN_TERMS: StrategyTerms = { rebalance: null, drift_tolerance: null, exposure: 1 };
const createCadence = (spec: Partial<RebalanceSpec>) => RebalanceSpec.parse(spec);

/** Returns an index of all securities with equal weights. It is rebalanced daily or never. */
const createEqualWeights = (frequency: 'daily' | 'none') =>
  createDocument({ base_date: DATES[0], rebalance: { frequency } });

interface Case {
  readonly close: MarketSketch['close'];
  readonly index: 'daily' | 'none';
  readonly terms: Partial<StrategyTerms>;
  readonly capital: number;
  readonly bps?: number;
}

function runCase({ close, index, terms, capital, bps = 0 }: Case): Run {
  const market = buildMarket({ dates: DATES.slice(0, Object.values(close)[0]!.length), close });
  return runOn(CALENDARS, market, createEqualWeights(index), {
    strategy: { ...PLAIN_TERMS, ...terms },
    initial_capital: capital,
    transaction_cost_bps: bps,
  });
}

/** Returns the money in each security after a close, followed by cash. */
function listMoneyAt({ portfolio }: Run, t: number): number[] {
  const { columns, weights, value, cash } = portfolio;
  const row = [...weights.subarray(t * columns.length, (t + 1) * columns.length)];
  return [...row, cash[t]!].map((weight) => weight * value[t]!);
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  actual.forEach((value, i) =>
    expect(Math.abs(value - expected[i]!)).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(expected[i]!))),
  );
}

const TWO_SECURITIES = { A: [10, 20, 20, 20], B: [10, 10, 10, 20] };

describe('a separate cadence', () => {
  test('bought once and held, the strategy deviates from a daily index as prices move', () => {
    const result = runCase({
      close: TWO_SECURITIES,
      index: 'daily',
      terms: { rebalance: createCadence({ frequency: 'none' }) },
      capital: 1000,
    });
    expectClose([...result.level], [100, 150, 150, 200]);
    expectClose([...result.indexLevel], [100, 150, 150, 225]);
    expect(result.rebalances.map(({ date }) => formatDay(date))).toEqual(['2024-01-01']);
  });

  test('targets are the holdings of the index at the close of the date', () => {
    const result = runCase({
      close: TWO_SECURITIES,
      index: 'none',
      terms: { rebalance: createCadence({ frequency: 'custom', dates: ['2024-01-03'] }), exposure: 0.5 },
      capital: 1000,
    });
    expectClose(listMoneyAt(result, 0), [250, 250, 500]);
    expectClose(listMoneyAt(result, 1), [500, 250, 500]);
    // The index never rebalances and has drifted to two thirds in A.
    expectClose(listMoneyAt(result, 2), [1250 / 3, 625 / 3, 625]);
    expectClose(listMoneyAt(result, 3), [1250 / 3, 1250 / 3, 625]);
    expect(result.rebalances.map(({ date }) => formatDay(date))).toEqual(['2024-01-01', '2024-01-03']);
    expectClose([...result.rebalances[1]!.weights], [2 / 3, 1 / 3]);
  });

  test('if absent, the rebalances of the index are followed', () => {
    const result = runCase({ close: TWO_SECURITIES, index: 'daily', terms: { exposure: 0.5 }, capital: 1000 });
    expectClose(listMoneyAt(result, 1), [312.5, 312.5, 625]);
    expect(result.rebalances.length).toBe(4);
  });
});

describe('exposure', () => {
  test('the first purchase and its cost leave the fraction in cash', () => {
    const result = runCase({ close: TWO_SECURITIES, index: 'none', terms: { exposure: 0.5 }, capital: 1000, bps: 100 });
    const after = 1000 / 1.005;
    expectClose(listMoneyAt(result, 0), [after / 4, after / 4, after / 2]);
    expectClose([result.portfolio.costs[0]!, result.totalCosts], [1000 - after, 1000 - after]);
  });

  test('with an exposure of 0 keeps its value', () => {
    const result = runCase({ close: TWO_SECURITIES, index: 'daily', terms: { exposure: 0 }, capital: 1000, bps: 100 });
    expectClose([...result.level], [100, 100, 100, 100]);
    expect(result.totalCosts).toBe(0);
  });

  test('views show the holdings relative to the requested fraction', () => {
    const result = runCase({ close: TWO_SECURITIES, index: 'none', terms: { exposure: 0.5 }, capital: 1000 });
    const bytes = createRunColumns(result, { contentHash: 's' });
    const weights = readPositiveWeights(
      openColumns((start, end) => bytes.slice(start, end)),
      '2024-01-02',
    );
    const view = createWeightsView({
      runId: 'S',
      requestedAsOf: null,
      weights,
      benchmark: null,
      findShares: () => null,
      risk: null,
      activeRisk: null,
    });
    expectClose(
      view.weights.map(({ weight }) => weight),
      [0.4, 0.2],
    );
    expectClose(
      view.weights.map(({ delta_since_rebalance: delta }) => delta!),
      [0.15, -0.05],
    );
    expectClose([view.drift!.maximum, view.drift!.total_absolute, view.drift!.turnover], [0.15, 0.2, 0.1]);
  });
});

describe('drift tolerance', () => {
  const THREE = { A: [10, 16, 16], B: [10, 10, 10], C: [10, 10, 1] };

  test('securities beyond it trade to target, the others are unchanged, and the difference is cash', () => {
    const result = runCase({ close: THREE, index: 'daily', terms: { drift_tolerance: 0.1 }, capital: 300 });
    expectClose(listMoneyAt(result, 0), [100, 100, 100, 0]);
    // Weights are 4/9, 5/18, 5/18 and targets are 1/3. So only A deviates by more than 0.1.
    expectClose(listMoneyAt(result, 1), [120, 100, 100, 40]);
    expect(result.trades.count).toBe(3 + 1 + 2);
  });

  test('purchases shrink to the available cash, sales do not', () => {
    const result = runCase({ close: THREE, index: 'daily', terms: { drift_tolerance: 0.1 }, capital: 300 });
    // Holdings are 120, 100, 10, and 40 in cash. A sells 30, and B does not trade. C needs 80 but receives the 70 that
    // are available.
    expectClose(listMoneyAt(result, 2), [90, 100, 80, 0]);
  });

  test('costs are paid from the remaining cash', () => {
    const result = runCase({ close: THREE, index: 'daily', terms: { drift_tolerance: 0.1 }, capital: 300, bps: 100 });
    const first = 300 / 1.01;
    const money = [1.6, 1, 1].map((growth) => (growth * first) / 3);
    const before = money[0]! + money[1]! + money[2]!;
    // V' + 0.01 (A - V'/3) = V
    const after = (before - 0.01 * money[0]!) / (1 - 0.01 / 3);
    expectClose(listMoneyAt(result, 1), [after / 3, money[1]!, money[2]!, after - after / 3 - money[1]! - money[2]!]);
    expectClose([result.portfolio.costs[1]!], [0.01 * (money[0]! - after / 3)]);
    // The sale of A and the cash pay for C. Each trade has its own cost.
    const [a, b, , cash] = listMoneyAt(result, 1) as [number, number, number, number];
    const c = money[2]! / 10;
    const value = result.portfolio.value[2]!;
    const soldValue = a - value / 3;
    const boughtValue = (cash + 0.99 * soldValue) / 1.01;
    expectClose(listMoneyAt(result, 2), [value / 3, b, c + boughtValue, 0]);
    expectClose([result.portfolio.costs[2]!], [0.01 * (soldValue + boughtValue)]);
  });

  test('a distance of exactly the tolerance causes no trade', () => {
    const result = runCase({
      close: { A: [10, 30], B: [10, 10] },
      index: 'daily',
      terms: { drift_tolerance: 0.25 },
      capital: 100,
    });
    expectClose(listMoneyAt(result, 1), [150, 50, 0]);
  });

  test('the first purchase is complete however small the targets are', () => {
    const result = runCase({ close: TWO_SECURITIES, index: 'daily', terms: { drift_tolerance: 0.9 }, capital: 100 });
    expectClose(listMoneyAt(result, 0), [50, 50, 0]);
  });
});

describe('a constraint set', () => {
  const THREE = { A: [10, 16, 16], B: [10, 10, 10], C: [10, 10, 1] };
  const createRow = (type: string, params: Record<string, unknown>) => ({ id: '', type, params });

  test('caps targets at each rebalance; without risk history they are the nearest weights', () => {
    const result = runCase({
      close: THREE,
      index: 'none',
      terms: {
        rebalance: createCadence({ frequency: 'daily' }),
        constraints: [createRow('PositionBounds', { upper: 0.4 })],
      },
      capital: 300,
    });
    expectClose(listMoneyAt(result, 0), [100, 100, 100, 0]);
    // The index holds 4/9, 5/18, 5/18. The excess of A is divided equally between B and C.
    expectClose(listMoneyAt(result, 1), [0.4 * 360, 0.3 * 360, 0.3 * 360, 0]);
    expectClose([...result.rebalances[1]!.weights], [0.4, 0.3, 0.3]);
    expect(result.findings.map(({ code, path }) => [code, path])).toContainEqual([
      'RISK_FALLBACK_IDENTITY',
      'constraint_set_id',
    ]);
  });

  test('that allows cash is followed, times the exposure', () => {
    const terms = { constraints: [createRow('WeightSum', { lower: 0, upper: 0.6 })], exposure: 0.5 };
    const result = runCase({ close: THREE, index: 'none', terms, capital: 300 });
    expectClose(listMoneyAt(result, 0), [30, 30, 30, 210]);
  });

  test('that cannot be met on a later date skips the rebalance and is reported', () => {
    // From the second date on, A is two thirds of the index. So the minimum of two thirds conflicts with the maximum of
    // one half.
    const close = { A: [10, 40, 40], B: [10, 10, 10], C: [10, 10, 10] };
    const terms = {
      rebalance: createCadence({ frequency: 'daily' }),
      constraints: [
        createRow('RelativePositionBounds', { lower: 1, upper: 5 }),
        createRow('PositionBounds', { upper: 0.5 }),
      ],
    };
    const result = runCase({ close, index: 'none', terms, capital: 300 });
    expect(result.rebalances.length).toBe(1);
    expect(result.findings.filter(({ code }) => code === 'REBALANCE_HELD').map(({ path }) => path)).toEqual([
      'constraint_set_id',
      'constraint_set_id',
    ]);
    expectClose(listMoneyAt(result, 1), [400, 100, 100, 0]);
  });

  test('that cannot be met on a later date, with a row that has a priority, is met with that row relaxed and reported', () => {
    const close = { A: [10, 40, 40], B: [10, 10, 10], C: [10, 10, 10] };
    const terms = {
      rebalance: createCadence({ frequency: 'daily' }),
      constraints: [
        createRow('RelativePositionBounds', { lower: 1, upper: 5 }),
        createRow('PositionBounds', { upper: 0.5, priority: 1 }),
      ],
    };
    const result = runCase({ close, index: 'none', terms, capital: 300 });
    expect(result.rebalances.length).toBe(3);
    const relaxations = result.findings.filter(
      ({ code }) => code === 'CONSTRAINT_RELAXED' || code === 'REBALANCE_HELD',
    );
    expect(relaxations.map(({ code, path, message }) => [code, path, message.slice(0, 52)])).toEqual(
      ['2024-01-02', '2024-01-03'].map((date) => [
        'CONSTRAINT_RELAXED',
        'constraint_set_id',
        `On ${date} PositionBounds[1] was relaxed by 0.166`,
      ]),
    );
    // The index holds two thirds of A.
    expectClose(listMoneyAt(result, 1), [400, 100, 100, 0]);
  });

  test('that cannot be met on the first date fails the run with its conflict and what would resolve it', () => {
    const detail = {
      proven: true,
      conflict: [{ type: 'PositionBounds' }, { type: 'FullInvestment' }],
      relaxations: [{ index: 0, parameter: 'upper', from: 0.2, to: 0.333333334 }],
    };
    expect(() =>
      runCase({
        close: THREE,
        index: 'none',
        terms: { constraints: [createRow('PositionBounds', { upper: 0.2 })] },
        capital: 300,
      }),
    ).toThrow(
      expect.objectContaining({
        code: 'INFEASIBLE',
        message: expect.stringContaining('infeasible'),
        detail: expect.objectContaining({
          conflict: detail.conflict.map((each) => expect.objectContaining(each)),
          relaxations: detail.relaxations.map((each) => expect.objectContaining(each)),
        }),
      }),
    );
  });
});
