import { beforeAll, describe, expect, test } from 'vitest';
import type { CompareView } from '#contract/analytics/analytics.js';

/** The stores `apart` and `among` contain the same prices. Benchmarks are series in one and securities in the other. */
export interface SeriesStores {
  readonly days: readonly string[];
  computePrice(name: string, t: number): number;
  on<T>(store: 'apart' | 'among', work: () => Promise<T>): Promise<T>;
  run(id: string): Promise<unknown>;
  get<T = Record<string, unknown>>(path: string): Promise<T>;
  /** Returns the refusal of a request. It is a GET request, or a POST request if there is a body. */
  refusal(path: string, body?: object): Promise<unknown>;
  remove(path: string): Promise<unknown>;
}

export function describeCompared({ days, computePrice, on, ...service }: SeriesStores): void {
  const { run, get, refusal, remove } = service;
  describe('a view that compares with an identifier', () => {
    const views = [
      'LISTED/weights?risk=true&benchmark=SPX',
      'LISTED/factor-risk?benchmark=SPX&model=market_sector',
      'LISTED/attribution/groups?benchmark=SPX',
      'LISTED/rolling?benchmark=SPX',
      'compare?ids=LISTED&benchmark=SPX',
    ];
    const overlays = views.map((path) => path.replace('LISTED', 'FEE'));
    const allPaths = [...views, ...overlays];
    /** Responses of each view for a series and for a security. The stores are changed once. */
    let answersByStore: Readonly<Record<'apart' | 'among', ReadonlyMap<string, object>>>;
    beforeAll(async () => {
      const readAnswers = async () => {
        for (const id of ['LISTED', 'FEE']) await run(id);
        const results = new Map<string, object>();
        for (const path of allPaths) {
          const view = await get(`/analytics/${path}`);
          expect(await get(`/analytics/${path.replace('benchmark=', 'benchmark=identifier:')}`)).toEqual(view);
          results.set(path, view);
        }
        return results;
      };
      answersByStore = { apart: await on('apart', readAnswers), among: await on('among', readAnswers) };
    });
    test.each(allPaths)('%s returns the same for a series and for a security with its prices', (path) => {
      const [separateAnswer, jointAnswer] = [answersByStore.apart.get(path)!, answersByStore.among.get(path)!];
      expectSameNumbers(separateAnswer, jointAnswer);
      expect(JSON.stringify(separateAnswer)).toContain('SPX');
    });

    test('attributes the difference to the return of the series, by hand', () =>
      on('apart', async () => {
        await run('LISTED');
        const { benchmark_return: other } = await get<{ benchmark_return: number }>(
          '/analytics/LISTED/attribution/groups?benchmark=SPX',
        );
        expect(other).toBeCloseTo(computePrice('SPX', days.length - 1) / computePrice('SPX', 0) - 1, 10);
      }));

    test('has separate levels and figures in addition to the runs, by hand from its prices in their currency', () =>
      on('apart', async () => {
        await run('LISTED');
        const from = 20;
        const view = await get<CompareView>(`/analytics/compare?ids=LISTED&benchmark=DAX&start=${days[from]}`);
        expect([view.index_ids, view.start, view.end]).toEqual([['LISTED', 'DAX'], days[from], days.at(-1)]);
        const [indexEntry, seriesEntry] = view.entries;
        const prices = days.map((_, t) => computePrice('DAX', t) * computePrice('EURUSD', t)).slice(from);
        const returns = prices.slice(1).map((price, t) => price / prices[t]! - 1);
        const mean = returns.reduce((sum, value) => sum + value, 0) / returns.length;
        const variance = returns.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (returns.length - 1);
        const depths = prices.map((price, t) => price / Math.max(...prices.slice(0, t + 1)) - 1);
        seriesEntry!.level.data.forEach((level, t) => expect(level).toBeCloseTo((100 * prices[t]!) / prices[0]!, 9));
        expect(seriesEntry).toMatchObject({
          stale: null,
          total_return: expect.closeTo(prices.at(-1)! / prices[0]! - 1, 12) as number,
          volatility: expect.closeTo(Math.sqrt(252 * variance), 12) as number,
          sharpe_ratio: expect.closeTo((252 * mean) / Math.sqrt(252 * variance), 10) as number,
          max_drawdown: expect.closeTo(Math.min(...depths), 12) as number,
        });
        const singleIndexView = await get<{ metrics: { volatility: number } }>(
          `/analytics/LISTED/performance?start=${days[from]}`,
        );
        expect(indexEntry!.volatility).toBeCloseTo(singleIndexView.metrics.volatility, 12);
      }));

    test('compares an index from its definition like its own run', () =>
      on('apart', async () => {
        await run('LISTED');
        await run('ALL');
        const asRun = await get<CompareView>('/analytics/compare?ids=LISTED,ALL');
        await remove('/analytics/ALL/record');
        const asBenchmark = await get<CompareView>('/analytics/compare?ids=LISTED&benchmark=ALL');
        expect(asBenchmark.index_ids).toEqual(asRun.index_ids);
        const hasStatistics = ({ entries }: CompareView) => entries.map((entry) => entry.benchmark_statistics !== null);
        expect([hasStatistics(asRun), hasStatistics(asBenchmark)]).toEqual([
          [false, false],
          [true, false],
        ]);
        // a benchmark is not a run, so it has neither the id nor the version of a run
        const selectFigures = ({ entries, ...view }: CompareView): object => ({
          ...view,
          entries: entries.map((entry) => ({
            ...entry,
            run_id: null,
            index_version: null,
            benchmark_statistics: null,
          })),
        });
        expectSameNumbers(selectFigures(asBenchmark), selectFigures(asRun));
      }));

    test('is refused for an id that is neither an index nor an identifier', () =>
      on('apart', async () => {
        await run('LISTED');
        expect(await refusal('/analytics/compare?ids=LISTED')).toMatchObject({
          status: 422,
          code: 'VALIDATION_FAILED',
        });
        for (const path of [
          'LISTED/weights?benchmark=NOBODY',
          'LISTED/factor-risk?benchmark=NOBODY',
          'LISTED/attribution/groups?benchmark=NOBODY',
          'compare?ids=LISTED&benchmark=NOBODY',
          'compare?ids=LISTED&benchmark=index:SPX',
          'LISTED/rolling?benchmark=identifier:LISTED',
        ]) {
          expect(await refusal(`/analytics/${path}`)).toMatchObject({
            status: 404,
            code: 'BENCHMARK_NOT_FOUND',
          });
        }
        expect(
          await refusal('/analytics/LISTED/backtest', {
            benchmark: { kind: 'identifier', id: 'SPX', price_column: 'OPEN' },
          }),
        ).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
      }));
  });
}

function expectSameNumbers(one: object, other: object): void {
  const [ours, theirs] = [listNumbers(one), listNumbers(other)];
  expect(ours.length).toBe(theirs.length);
  ours.forEach((value, i) => expect(value).toBeCloseTo(theirs[i]!, 9));
}

function listNumbers(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listNumbers) : [];
}
