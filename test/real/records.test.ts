import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import { openLiveService, type LiveService } from './live.js';

interface Series {
  readonly index: readonly string[];
  readonly data: readonly number[];
}

interface Frame {
  readonly index: readonly (string | number)[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly (string | number)[])[];
}

interface Book {
  readonly levels: Series;
  readonly weights: Frame;
  readonly weights_dates_total: number;
  readonly rebalances: readonly { readonly date: string; readonly weights: Readonly<Record<string, number>> }[];
  readonly rebalances_total: number;
}

interface StoredRecord {
  readonly index: { readonly target: Book | null; readonly optimised: Book | null };
  readonly benchmark: Book | null;
  readonly portfolio: {
    readonly cash: Series;
    readonly nav: Series;
    readonly initial_capital: number;
    readonly positions: Frame;
    readonly positions_total: number;
    readonly transactions: Frame;
    readonly transactions_total: number;
    readonly weights: Frame;
    readonly weights_dates_total: number;
  };
}

const DAILY = {
  id: 'DAILY',
  name: 'Daily',
  calendar: 'XNYS',
  base_date: '2019-01-02',
  rebalance: { frequency: 'daily' },
  pipeline: { selection: [{ id: 'largest', type: 'TopN', params: { count: 20 } }], weighting: { type: 'EqualWeight' } },
};

let service: LiveService;
let record: StoredRecord;
/** Sessions of the run. */
let days: readonly string[];

beforeAll(async () => {
  service = await openLiveService(['--workers', '1']);
  expect(
    (
      await service.job('/data/synthetic', {
        store_id: 'long',
        seed: 3,
        assets: 30,
        start: '2019-01-02',
        end: '2023-12-29',
      })
    ).error,
  ).toBeNull();
  await service.ok('PUT', '/indices/DAILY', DAILY);
  const {
    assets: [first],
  } = await service.ok<{ assets: readonly { identifier: string }[] }>('POST', '/indices/DAILY/preview', {
    as_of: '2019-01-02',
  });
  expect(
    (
      await service.job('/analytics/DAILY/backtest', {
        transaction_cost_bps: 5,
        initial_capital: 250_000,
        benchmark: { kind: 'identifier', id: first!.identifier, price_column: 'CLOSE' },
      })
    ).error,
  ).toBeNull();
  record = await service.ok('GET', '/analytics/DAILY/record');
  days = (await service.ok<{ levels: Series }>('GET', '/analytics/DAILY/levels')).levels.index;
  expect(days.length).toBe(1258);
});
afterAll(() => service?.close());

describe('the record of a run longer than the served rows', () => {
  test('has the latest rows of the weights and states their number', () => {
    for (const book of [record.index.target!, record.portfolio]) {
      expect(book.weights_dates_total).toBe(days.length);
      expect(book.weights.index).toEqual(days.slice(-LIMITS.MAX_WEIGHT_DATES));
      expect(book.weights.columns).toEqual([...book.weights.columns].toSorted());
    }
  });

  test('has the latest rebalances and states their number', () => {
    const { rebalances, rebalances_total: total } = record.index.target!;
    expect(total).toBe(days.length);
    expect(rebalances.map(({ date }) => date)).toEqual(days.slice(-LIMITS.MAX_REBALANCES));
  });

  test('has the latest rows of the positions, by date and security, which are the value of their dates', () => {
    const { positions, positions_total: total, nav, cash } = record.portfolio;
    expect(positions.columns).toEqual(['date', 'asset_id', 'units', 'price', 'value', 'weight']);
    expect([positions.data.length, total > LIMITS.MAX_POSITION_ROWS]).toEqual([LIMITS.MAX_POSITION_ROWS, true]);
    expect(positions.index).toEqual(positions.data.map((_, i) => i));
    const keys = positions.data.map(([date, name]) => `${date} ${name}`);
    expect(keys).toEqual(keys.toSorted());
    const heldCount = record.portfolio.weights.data.reduce(
      (count, row) => count + row.filter((weight) => Number(weight) > 0).length,
      0,
    );
    const before = total - heldCount;
    // On each date before the dates of the weights panel, all securities of the panel are held as well.
    expect(before / (days.length - LIMITS.MAX_WEIGHT_DATES)).toBeCloseTo(20, 0);
    const values = new Map<string, number>();
    for (const [date, , units, price, value] of positions.data as readonly (readonly [
      string,
      string,
      number,
      number,
      number,
      number,
    ])[]) {
      expect(Math.abs(units * price - value)).toBeLessThan(1e-9 * value);
      values.set(date, (values.get(date) ?? 0) + value);
    }
    values.delete(positions.data[0]![0] as string); // the limit may have removed rows of the first date
    expect(values.size).toBeGreaterThan(900);
    for (const [date, value] of values) {
      const position = nav.index.indexOf(date);
      expect(Math.abs(value + cash.data[position]! - nav.data[position]!)).toBeLessThan(1e-9 * nav.data[position]!);
    }
  });

  test('begins its values a session before the first with the initial capital, and has every trade', async () => {
    const { nav, cash, initial_capital: capital, transactions, transactions_total: total } = record.portfolio;
    expect([nav.index[0], nav.data[0], cash.data[0], capital]).toEqual(['2018-12-31', 250_000, 250_000, 250_000]);
    expect(nav.index.slice(1)).toEqual(days);
    expect(transactions.columns).toEqual(['date', 'asset_id', 'side', 'units', 'price', 'notional', 'cost', 'reason']);
    expect(transactions.data.length).toBe(total);
    const { result } = await service.ok<{
      result: { total_costs: number; rebalances: readonly unknown[]; rebalances_total: number };
    }>('GET', '/jobs/backtest:DAILY');
    expect(transactions.data.reduce((sum, row) => sum + Number(row[6]), 0)).toBeCloseTo(result.total_costs, 6);
    expect([result.rebalances.length, result.rebalances_total]).toEqual([days.length, days.length]);
  });

  test('has a benchmark that is a bare series as such', () => {
    const { levels, weights, weights_dates_total: dates, rebalances, rebalances_total: total } = record.benchmark!;
    expect([levels.data[0], weights.index, weights.columns, weights.data, dates, rebalances, total]).toEqual([
      100,
      [],
      [],
      [],
      0,
      [],
      0,
    ]);
  });

  test('has both books of a derived index', async () => {
    await service.ok('POST', '/indices/DAILY/optimise', {
      id: 'CHILD',
      name: 'Child',
      constraints: [{ type: 'PositionBounds', params: { upper: 0.0505 } }],
    });
    expect((await service.job('/analytics/CHILD/backtest', { start: '2023-11-01' })).error).toBeNull();
    const { index } = await service.ok<StoredRecord>('GET', '/analytics/CHILD/record');
    expect([record.index.target === null, record.index.optimised]).toEqual([false, null]);
    const { target, optimised } = index;
    expect(Math.max(...Object.values(optimised!.rebalances.at(-1)!.weights))).toBeLessThanOrEqual(0.0505 + 1e-9);
    expect(target!.levels.data.at(-1)).toBe(record.index.target!.levels.data.at(-1));
  });
});
