import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type TestService } from './service.js';

const fixture = JSON.parse(
  readFileSync(new URL('../../../../test/golden/backtest/four-names.json', import.meta.url), 'utf8'),
);
let service: TestService;

beforeAll(async () => {
  service = await startService();
  const importedAnswer = await service.checked('importStore', '/data/import', fixture.import);
  expect(importedAnswer.status, JSON.stringify(importedAnswer.body)).toBe(201);
});

afterAll(() => service.close());

function close(actual: number | readonly number[], expected: number | readonly number[]): void {
  const pairs = [actual].flat().map((value, i) => [value, [expected].flat()[i]!] as const);
  expect(pairs.length).toBe([expected].flat().length);
  for (const [value, wanted] of pairs)
    expect(Math.abs(value - wanted)).toBeLessThanOrEqual(1e-10 * Math.max(1, Math.abs(wanted)));
}

describe.each(['price', 'total'] as const)('the four-name index in %s return over HTTP', (variant) => {
  const id = `GOLD4-${variant}`;
  const expected = fixture.expected[variant];
  const path = `/analytics/${id}`;

  beforeAll(async () => {
    const document = {
      ...fixture.index,
      id,
      pipeline: { ...fixture.index.pipeline, treatment: { ...fixture.index.pipeline.treatment, dividends: variant } },
    };
    expect((await service.call('POST', '/indices', document)).status).toBe(200);
  });

  test('before a run its views are refused', async () => {
    for (const [operation, end] of [
      ['getRecord', 'record'],
      ['getOverview', 'overview'],
      ['getAttribution', 'attribution'],
    ] as const) {
      const { status, body } = await service.checked(operation, `${path}/${end}`);
      expect([status, body.error.code]).toEqual([404, 'RUN_NOT_FOUND']);
    }
  });

  test('the job result has the expected numbers', async () => {
    const acceptedAnswer = await service.checked('startBacktest', `${path}/backtest`, fixture.backtest);
    expect([acceptedAnswer.status, acceptedAnswer.headers.get('location')]).toEqual([202, `/jobs/backtest:${id}`]);
    const { body } = await service.finished(`backtest:${id}`);
    expect(body.error).toBeNull();
    const { result } = body;
    close(result.index_level.data, expected.index_level);
    close(result.level.data, expected.level);
    close(result.returns.data, expected.returns);
    close(result.drawdown.data, expected.drawdown);
    close(result.total_costs, expected.total_costs);
    for (const [name, value] of Object.entries(expected.metrics)) close(result.metrics[name], value as number);
    expect(result.rebalances.map(({ date }: { date: string }) => date)).toEqual(Object.keys(expected.rebalances));
    for (const snapshot of result.rebalances) {
      const decidedWeights = expected.rebalances[snapshot.date];
      close(Object.values(snapshot.weights), Object.values(decidedWeights.w));
      close(Object.values(snapshot.uncapped_weights), Object.values(decidedWeights.raw));
      expect(snapshot.capped).toEqual(decidedWeights.capped);
      close(snapshot.redistributed, decidedWeights.redistributed);
    }
  });

  test('the stored record reconciles', async () => {
    const { body: record } = await service.checked('getRecord', `${path}/record`);
    close(record.index.target.levels.data, expected.index_level);
    close(record.portfolio.nav.data, [1_000_000, ...expected.nav]);
    expect(record.portfolio.nav.index[0]).toBe('2023-12-29');
    const { positions, transactions, nav, cash } = record.portfolio;
    const total = new Map<string, number>();
    for (const [date, , units, price, value] of positions.data) {
      total.set(date, (total.get(date) ?? 0) + value);
      close(units * price, value);
    }
    nav.index.forEach((date: string, t: number) => close(cash.data[t] + (total.get(date) ?? 0), nav.data[t]));
    close(
      transactions.data.reduce((sum: number, row: number[]) => sum + row[6]!, 0),
      expected.total_costs,
    );
    const { body: levels } = await service.checked('getLevels', `${path}/levels`);
    expect(levels.levels).toEqual(record.index.target.levels);
  });

  test('attribution links to the total return and reports both drags', async () => {
    const { body } = await service.checked('getAttribution', `${path}/attribution`);
    expect([body.reconciles, body.periods, body.start, body.end]).toEqual([
      true,
      6,
      '2024-01-03T00:00:00+00:00',
      '2024-01-10T00:00:00+00:00',
    ]);
    expect(Math.abs(body.residual)).toBeLessThan(1e-12);
    close(body.cost_drag, expected.attribution.cost_drag);
    close(body.cap_drag, expected.attribution.cap_drag);
    for (const row of body.contributions) {
      close(row.contribution, expected.attribution.contributions[row.asset_id]);
      close(row.average_weight, expected.attribution.average_weight[row.asset_id]);
    }
  });

  test('weights at the end show drift and concentration', async () => {
    const { body } = await service.checked('getWeights', `${path}/weights`);
    expect([body.as_of, body.rebalance_date, body.drift.since]).toEqual(['2024-01-10', '2024-01-08', '2024-01-08']);
    for (const name of ['maximum', 'total_absolute', 'turnover']) close(body.drift[name], expected.drift[name]);
    const { body: overview } = await service.checked('getOverview', `${path}/overview`);
    close(overview.concentration.herfindahl, expected.hhi);
    close(overview.concentration.effective_assets, expected.effective);
    const { body: start } = await service.checked('getWeights', `${path}/weights?as_of=2024-01-02`);
    expect(start.drift).toBeNull();
    expect((await service.checked('getWeights', `${path}/weights?as_of=2023-12-31`)).body.error.code).toBe(
      'NO_DATA_AT_DATE',
    );
  });
});

test('two runs compare on their shared dates', async () => {
  const { body } = await service.checked('compareRuns', '/analytics/compare?ids=GOLD4-price,GOLD4-total');
  expect([body.observations, body.start, body.end]).toEqual([7, '2024-01-02', '2024-01-10']);
  close(body.entries[1].total_return, fixture.expected.total.metrics.total_return);
});
