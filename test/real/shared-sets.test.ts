import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { hasRealSets, formatLongCsv } from '../market/real-sets.js';
import { openLiveService, type LiveService } from './live.js';

/** Price sets. Each has its exchange and the base date of its runs. Its benchmark is one of the securities. */
const SETS = [
  {
    set: 'us-large-20',
    file: 'us-large-20/sp500_dataset.csv.gz',
    calendar: 'XNYS',
    base: '2014-01-02',
    currency: 'USD',
    benchmark: 'AAPL',
  },
  {
    set: 'uk-large-64',
    file: 'uk-large-64/ftse100_dataset.csv.gz',
    calendar: 'XLON',
    base: '2014-01-02',
    currency: 'GBP',
    benchmark: null,
  },
  {
    set: 'ragged-20',
    file: 'ragged-20/stock_prices.csv',
    calendar: 'XNYS',
    base: '1990-01-02',
    currency: 'USD',
    benchmark: 'GE',
  },
  {
    set: 'small-11',
    file: 'small-11/stock_prices.csv',
    calendar: 'XNYS',
    base: '2016-01-05',
    currency: 'USD',
    benchmark: null,
  },
  {
    set: 'statistics',
    file: 'statistics/test_data.csv',
    calendar: 'XNYS',
    base: '2004-11-19',
    currency: 'USD',
    benchmark: null,
  },
] as const;

interface Series {
  readonly index: readonly string[];
  readonly data: readonly number[];
}

interface Overview {
  readonly level: Series;
  readonly metrics: Readonly<
    Record<'annualised_return' | 'max_drawdown' | 'sharpe_ratio' | 'total_return' | 'volatility', number>
  >;
  readonly rebalances: number;
}

interface Reconciliation {
  readonly reconciles: boolean;
  readonly checks: readonly { readonly name: string; readonly holds: boolean }[];
}

let service: LiveService;
beforeAll(async () => {
  if (hasRealSets) service = await openLiveService();
});
afterAll(() => service?.close());

/**
 * Sets that are also tested outside the soak: one has another exchange and currency, the other has securities that
 * begin and end. Each remaining set is similar to one of these sets.
 */
const QUICK: readonly string[] = ['uk-large-64', 'ragged-20'];
if (!IS_SOAK) console.log(`skipped: runs over other sets than ${QUICK.join(' and ')}; npm run soak has them`);

for (const [place, { set, file, calendar, base, currency, benchmark }] of SETS.entries()) {
  describe.skipIf(!hasRealSets || !(IS_SOAK || QUICK.includes(set)))(`runs over ${set}`, () => {
    const against =
      benchmark === null ? {} : { benchmark: { kind: 'identifier', id: benchmark, price_column: 'CLOSE' } };

    beforeAll(async () => {
      const folder = join(service.folder, set);
      await mkdir(folder);
      const pricesCsv = cutBars(formatLongCsv(file), addYears(base, -2));
      await writeFile(join(folder, 'market.csv'), pricesCsv);
      await writeFile(
        join(folder, 'reference.csv'),
        `identifier,CURRENCY,EXCHANGE\n${listNames(pricesCsv)
          .map((name) => `${name},${currency},${calendar}`)
          .join('\n')}\n`,
      );
      await service.ok('POST', '/data/stores', {
        name: set,
        store_id: set,
        kind: 'folder',
        location: folder,
        adjustment: 'total',
      });
      expect((await service.job(`/data/stores/${set}/activate`)).error).toBeNull();
      const createDefinition = (id: string, pipeline: object, from: string = base) => ({
        id,
        name: id,
        calendar,
        base_date: from,
        currency,
        rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
        pipeline,
      });
      await service.ok('PUT', '/indices/EVEN', createDefinition('EVEN', { weighting: { type: 'EqualWeight' } }));
      await service.ok(
        'PUT',
        '/indices/QUIET',
        createDefinition(
          'QUIET',
          { weighting: { type: 'InverseVolatilityWeight', params: { window: 120 }, cap: 0.5 } },
          addYears(base, 1),
        ),
      );
      await service.ok('POST', '/strategies', {
        id: 'FOLLOW',
        name: 'Follow',
        index_id: 'EVEN',
        rebalance: { frequency: 'monthly', anchor: 'last_session' },
        drift_tolerance: 0.02,
        exposure: 0.9,
        transaction_cost_bps: 15,
        ...against,
      });
    });
    afterAll(async () => {
      for (const path of ['/strategies/FOLLOW', '/indices/QUIET', '/indices/EVEN']) await service.ok('DELETE', path);
    });

    const runs = [
      { id: 'EVEN', request: { transaction_cost_bps: 10, ...against } },
      { id: 'QUIET', request: {} },
      { id: 'FOLLOW', request: {} },
    ].map((run, i) => ({ ...run, isReplayed: IS_SOAK || i === place % 3 }));
    test.each(runs)(
      '$id holds every identity, has the statistics of its levels, and follows from itself again where replayed: $isReplayed',
      async ({ id, request, isReplayed }) => {
        const { error } = await service.job(`/analytics/${id}/backtest`, request);
        expect(error).toBeNull();
        const { checks } = await service.ok<Reconciliation>('GET', `/analytics/${id}/reconcile`);
        expect(checks.filter(({ holds }) => !holds)).toEqual([]);
        expect(checks.length).toBeGreaterThan(25);
        const { level, metrics, rebalances } = await service.ok<Overview>('GET', `/analytics/${id}/overview`);
        expect(rebalances).toBeGreaterThan(10);
        const expected = computeStatistics(level.data);
        for (const [name, value] of Object.entries(expected))
          expect(Math.abs(metrics[name as keyof typeof metrics] / value - 1), name).toBeLessThan(1e-11);
        if (!isReplayed) return; // each set is tested with one of its runs, and each run on at least one set
        expect((await service.job(`/analytics/${id}/replay`)).result).toMatchObject({
          equal: true,
          inputs_equal: true,
        });
      },
    );

    test('contributions by sector and by name add up to the same return', async () => {
      const byName = await service.ok<{ total_return: number; reconciles: boolean }>(
        'GET',
        '/analytics/EVEN/attribution',
      );
      const byGroup = await service.ok<{ total_return: number; reconciles: boolean }>(
        'GET',
        '/analytics/EVEN/attribution/groups?by=EXCHANGE',
      );
      expect([byName.reconciles, byGroup.reconciles]).toEqual([true, true]);
      expect(byGroup.total_return).toBeCloseTo(byName.total_return, 9);
    });
  });
}

/** Returns the bars from a date on. Other tests cover bars long before the base date. */
function cutBars(csv: string, date: string): string {
  const [header, ...lines] = csv.trim().split('\n');
  return `${[header, ...lines.filter((line) => line.split(',', 2)[1]! >= date)].join('\n')}\n`;
}

function listNames(csv: string): string[] {
  return [
    ...new Set(
      csv
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.slice(0, line.indexOf(','))),
    ),
  ];
}

function addYears(date: string, years: number): string {
  return `${Number(date.slice(0, 4)) + years}${date.slice(4)}`;
}

/**
 * Computes statistics by definition. A year has 252 periods. The deviation is that of a sample. The Sharpe ratio is the
 * arithmetic mean divided by the volatility. The annual return compounds by the number of returns.
 */
function computeStatistics(level: readonly number[]): Overview['metrics'] {
  const returns = level.slice(1).map((value, t) => value / level[t]! - 1);
  const n = returns.length;
  const mean = returns.reduce((sum, r) => sum + r, 0) / n;
  const variance = returns.reduce((sum, r) => sum + (r - mean) ** 2, 0) / (n - 1);
  const total = level.at(-1)! / level[0]! - 1;
  let peak = level[0]!;
  let worst = 0;
  for (const value of level) {
    peak = Math.max(peak, value);
    worst = Math.min(worst, (value - peak) / peak);
  }
  const volatility = Math.sqrt(252 * variance);
  return {
    total_return: total,
    volatility,
    sharpe_ratio: (252 * mean) / volatility,
    max_drawdown: worst,
    annualised_return: (1 + total) ** (252 / n) - 1,
  };
}
