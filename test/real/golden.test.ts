import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLiveService, type LiveService } from './live.js';

interface ExpectedRun {
  readonly index_level: number[];
  readonly rebalances: Record<
    string,
    { raw: Record<string, number>; w: Record<string, number>; capped: string[]; redistributed: number }
  >;
  readonly nav: number[];
  readonly level: number[];
  readonly returns: number[];
  readonly drawdown: number[];
  readonly total_costs: number;
  readonly metrics: Record<string, number>;
  readonly attribution: {
    contributions: Record<string, number>;
    cost_drag: number;
    cap_drag: number;
    average_weight: Record<string, number>;
  };
  readonly drift: { since: string; maximum: number; total_absolute: number; turnover: number };
  readonly hhi: number;
  readonly effective: number;
}

interface Fixture {
  readonly import: Record<string, unknown>;
  readonly index: { id: string; pipeline: { treatment: { dividends: string } } };
  readonly backtest: Record<string, unknown>;
  readonly expected: Record<'price' | 'total', ExpectedRun>;
}

/**
 * Expected results of four securities over seven sessions. They were computed without this code: see
 * test/golden/backtest/README.md.
 */
const fixture = JSON.parse(readFileSync('test/golden/backtest/four-names.json', 'utf8')) as Fixture;

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService();
  await service.ok('POST', '/data/import', fixture.import);
});
afterAll(() => service.close());

const close = (a: number, b: number) => Math.abs(a - b) <= 1e-10 * Math.max(1, Math.abs(b));
function expectClose(
  actual: readonly number[] | Record<string, number>,
  expected: readonly number[] | Record<string, number>,
) {
  expect(Object.keys(actual)).toEqual(Object.keys(expected));
  const differingFigures = Object.entries(expected).filter(
    ([key, value]) => !close((actual as Record<string, number>)[key]!, value),
  );
  expect(differingFigures.map(([key, value]) => [key, (actual as Record<string, number>)[key], value])).toEqual([]);
}

describe.each(['price', 'total'] as const)('the four-name market over HTTP, %s return', (variant) => {
  const id = `GOLD4-${variant}`;
  const expected = fixture.expected[variant];
  interface Series {
    data: number[];
  }
  interface Result {
    index_level: Series;
    level: Series;
    returns: Series;
    drawdown: Series;
    total_costs: number;
    metrics: Record<string, number>;
    rebalances: {
      date: string;
      weights: Record<string, number>;
      uncapped_weights: Record<string, number>;
      capped: string[];
      redistributed: number;
    }[];
  }
  let result: Result;

  beforeAll(async () => {
    const document = structuredClone(fixture.index);
    document.id = id;
    document.pipeline.treatment.dividends = variant;
    await service.ok('PUT', `/indices/${id}`, document);
    const job = await service.job<Result>(`/analytics/${id}/backtest`, fixture.backtest);
    expect(job.error).toBeNull();
    result = job.result;
  });

  test('gives the worked levels, returns, drawdowns and costs', () => {
    expectClose(result.index_level.data, expected.index_level);
    expectClose(result.level.data, expected.level);
    expectClose(result.returns.data, expected.returns);
    expectClose(result.drawdown.data, expected.drawdown);
    expect(close(result.total_costs, expected.total_costs)).toBe(true);
  });

  test('gives the worked metrics', () => {
    for (const [name, value] of Object.entries(expected.metrics))
      expect([name, close(result.metrics[name]!, value)]).toEqual([name, true]);
  });

  test('decides the worked compositions', () => {
    expect(result.rebalances.map(({ date }) => date)).toEqual(Object.keys(expected.rebalances));
    for (const rebalance of result.rebalances) {
      const expectedRebalance = expected.rebalances[rebalance.date]!;
      expectClose(rebalance.weights, expectedRebalance.w);
      expectClose(rebalance.uncapped_weights, expectedRebalance.raw);
      expect(rebalance.capped).toEqual(expectedRebalance.capped);
      expect(close(rebalance.redistributed, expectedRebalance.redistributed)).toBe(true);
    }
  });

  test('attributes the return as worked', async () => {
    const view = await service.ok<{
      contributions: { asset_id: string; contribution: number; average_weight: number }[];
      residual: number;
      reconciles: boolean;
      cost_drag: number;
      cap_drag: number;
    }>('GET', `/analytics/${id}/attribution`);
    const readByIdentifier = (field: 'contribution' | 'average_weight') =>
      Object.fromEntries(
        view.contributions
          .toSorted((a, b) => (a.asset_id < b.asset_id ? -1 : 1))
          .map((row) => [row.asset_id, row[field]]),
      );
    expectClose(readByIdentifier('contribution'), expected.attribution.contributions);
    expectClose(readByIdentifier('average_weight'), expected.attribution.average_weight);
    expect(close(view.cost_drag, expected.attribution.cost_drag)).toBe(true);
    expect(close(view.cap_drag, expected.attribution.cap_drag)).toBe(true);
    expect(view.reconciles && Math.abs(view.residual) < 1e-12).toBe(true);
  });

  test('shows the worked drift and concentration', async () => {
    const view = await service.ok<{
      drift: { since: string; maximum: number; total_absolute: number; turnover: number };
    }>('GET', `/analytics/${id}/weights`);
    expect(view.drift.since).toBe(expected.drift.since);
    expectClose(
      [view.drift.maximum, view.drift.total_absolute, view.drift.turnover],
      [expected.drift.maximum, expected.drift.total_absolute, expected.drift.turnover],
    );
    const overview = await service.ok<{ concentration: { herfindahl: number; effective_assets: number } }>(
      'GET',
      `/analytics/${id}/overview`,
    );
    expectClose(
      [overview.concentration.herfindahl, overview.concentration.effective_assets],
      [expected.hhi, expected.effective],
    );
  });

  test('keeps the worked portfolio value in the record', async () => {
    const record = await service.ok<{ portfolio: { nav: Series } }>('GET', `/analytics/${id}/record`);
    expectClose(record.portfolio.nav.data, [1_000_000, ...expected.nav]);
  });
});
