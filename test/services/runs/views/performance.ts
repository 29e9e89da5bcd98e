import { expect, test } from 'vitest';
import type { LevelsView } from '#contract/analytics/analytics.js';
import type { PerformanceView, RunSummaryCollection } from '#contract/analytics/run-views.js';
import { service } from './set-up.js';

const WINDOW = 'start=2022-05-09&end=2023-08-18';

const ask = async <T>(view: string): Promise<T> => {
  const { status, body } = await service.call('GET', `/analytics/MAIN/${view}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as T;
};

/** Tests the performance of a portfolio over a window. Also tests the performance of the index that it follows. */
export function describePerformance(): void {
  test('an index is measured in each of its returns, without costs and without a tracking error', async () => {
    const totals: number[] = [];
    for (const variant of ['price', 'net', 'total'] as const) {
      const view = await ask<PerformanceView>(`performance?${WINDOW}&variant=${variant}`);
      const { levels } = await ask<LevelsView>(`levels?${WINDOW}&variant=${variant}`);
      const points = levels.data.map(Number);
      expect(view).toMatchObject({ of: 'index', return_variant: variant });
      expect(view.metrics).toMatchObject({ tracking_error: null, tracking_difference: null });
      expect(view.metrics.total_return).toBeCloseTo(points.at(-1)! / points[0]! - 1, 12);
      const falls = points.map((value, t) => value / Math.max(...points.slice(0, t + 1)) - 1);
      expect(view.metrics.max_drawdown).toBeCloseTo(Math.min(...falls), 12);
      view.drawdown.data.forEach((value, t) => expect(value).toBeCloseTo(falls[t]!, 12));
      totals.push(view.metrics.total_return);
    }
    // Without withholding tax the net return equals the total return. The price return is lower than both.
    expect(totals[0]!).toBeLessThan(totals[1]!);
    expect(totals[1]!).toBeCloseTo(totals[2]!, 12);
  });

  test('the figures of the portfolio differ from those of its index by its costs, against the same benchmark', async () => {
    const portfolio = await ask<PerformanceView>(`performance?${WINDOW}`);
    const index = await ask<PerformanceView>(`performance?${WINDOW}&of=index`);
    expect([portfolio.of, index.of]).toEqual(['portfolio', 'index']);
    // MAIN is a total return index. Its benchmark WIDE sets no dividends, so it is a price index.
    for (const view of [portfolio, index])
      expect(view).toMatchObject({ return_variant: 'total', benchmark: 'WIDE', benchmark_variant: 'price' });
    const cost = portfolio.metrics.total_return - index.metrics.total_return;
    expect(cost).toBeCloseTo(portfolio.metrics.tracking_difference!, 12);
    expect(cost).toBeLessThan(0);
    const [ownStatistics, indexStatistics] = [portfolio.benchmark_statistics!, index.benchmark_statistics!];
    expect(indexStatistics.benchmark_return).toBe(ownStatistics.benchmark_return);
    expect(indexStatistics.excess_return).toBeCloseTo(index.metrics.total_return - ownStatistics.benchmark_return, 12);
    expect(ownStatistics.excess_return - indexStatistics.excess_return).toBeCloseTo(cost, 12);
    expect(ownStatistics.tracking_error).toBeGreaterThan(portfolio.metrics.tracking_error!);
  });

  test('a summary has the figures of the index next to those of the portfolio, which paid for its trades', async () => {
    const { body } = await service.call('GET', '/analytics/summaries');
    const [row] = (body as RunSummaryCollection).summaries.filter(({ index_id: id }) => id === 'MAIN');
    const { levels } = await ask<LevelsView>('levels');
    const points = levels.data.map(Number);
    const yearBefore = points[levels.index.findLastIndex((date) => date < '2023')]!;
    const { index, ...portfolio } = row!;
    expect(portfolio.level).toBe(points.at(-1));
    expect(index!.total_return).toBeCloseTo(points.at(-1)! / points[0]! - 1, 12);
    expect(index!.day_return).toBeCloseTo(points.at(-1)! / points.at(-2)! - 1, 12);
    expect(index!.year_to_date).toBeCloseTo(points.at(-1)! / yearBefore - 1, 12);
    expect(index!.trace.data.at(-1)).toBe(points.at(-1));
    const yearEarlier = `${Number(portfolio.end.slice(0, 4)) - 1}${portfolio.end.slice(4)}`;
    expect(index!.trace.index[0]).toBe(levels.index.findLast((date) => date <= yearEarlier));
    expect(portfolio.return_variant).toBe('total');
    expect(portfolio.year_to_date).toBeLessThan(index!.year_to_date);
    // The data ended years ago. So the next rebalance of the run is in the past. The coming one is not.
    const [today] = new Date().toISOString().split('T');
    expect(portfolio.next_rebalance! < '2024-04').toBe(true);
    expect(portfolio.coming_rebalance! >= today!).toBe(true);
  });

  test('a portfolio has only the return of its run', async () => {
    const { status, body } = await service.call('GET', '/analytics/MAIN/performance?of=portfolio&variant=net');
    expect([status, body.error.code]).toEqual([422, 'VALIDATION_FAILED']);
  });
}
