import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AccountBacktestView } from '#contract/batches.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { openBatches, type BatchWorld } from './batch-world.js';

let world: BatchWorld;
beforeAll(async () => {
  world = await openBatches();
  const estimation = await world.service.ask<{ job_id: string }>('POST', '/risk-models/early/estimate', {
    identifiers: world.common.identifiers,
    estimator: 'statistical',
    factors: 5,
    start: '2022-01-03',
    end: '2022-12-30',
  });
  expect(estimation.status, JSON.stringify(estimation.body)).toBe(202);
  expect((await world.service.waitForJob(estimation.body.job_id)).error).toBeNull();
});
afterAll(() => world?.service.close());

async function run(id: string, more: object = {}): Promise<JobStatus> {
  const { status, body } = await world.service.ask<JobStatus>('POST', '/analytics/CORE/accounts/backtest', {
    backtest_id: id,
    risk_model: 'early',
    start: '2023-01-03',
    account: { account_id: 'A', cash: 1_000_000 },
    ...more,
  });
  expect(status, JSON.stringify(body)).toBe(202);
  return world.service.waitForJob(body.job_id);
}

const expectClose = (a: number, b: number, scale: number): void => expect(Math.abs(a - b)).toBeLessThan(1e-9 * scale);

describe('the backtest of an account', () => {
  test('has cash that equals on every session the previous cash and its entries', async () => {
    const job = await run('cash');
    expect(job.error).toBeNull();
    const view = job.result as AccountBacktestView;
    expect(view.sessions.length).toBeGreaterThan(350);
    expect(view.rebalances).toHaveLength(6);
    let cash = 1_000_000;
    for (const session of view.sessions) {
      for (const { date, amount } of view.entries) if (date === session.date) cash += amount;
      expectClose(session.cash, cash, 1_000_000);
    }
    const isSpent = view.rebalances.slice(1).every(({ date }) => {
      const { value, cash: left } = view.sessions.find((session) => session.date === date)!;
      return left > -1e-6 * value && left < 0.011 * value;
    });
    expect(isSpent).toBe(true);
    expect(new Set(view.entries.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(4);
  });

  test('taxes each year by the sold lots', async () => {
    const view = (await run('taxes', { dividend_rate: 0 })).result as AccountBacktestView;
    expect(view.years.map(({ year, is_paid }) => [year, is_paid])).toEqual([
      [2023, true],
      [2024, false],
    ]);
    const [{ short_gain: short, long_gain: long, tax }] = view.years as [AccountBacktestView['years'][number]];
    expect(long).toBe(0); // no lot was held for more than a year
    expectClose(tax, 0.37 * Math.max(0, short), 1_000_000);
    const soldLots = view.entries.flatMap(({ kind, date, lot }) => (kind === 'sell' ? [{ date, lot: lot! }] : []));
    expect(soldLots.length).toBeGreaterThan(10);
    for (const { year, short_gain } of view.years) {
      const own = soldLots.filter(({ date, lot }) => date.startsWith(String(year)) && lot.term === 'short');
      expectClose(
        short_gain,
        own.reduce((sum, { lot }) => sum + lot.gain, 0),
        1_000_000,
      );
    }
    const taxEntries = view.entries.filter(({ kind }) => kind === 'tax');
    expect(taxEntries.map(({ date, amount }) => [date, -amount])).toEqual(tax > 0 ? [['2024-01-02', tax]] : []);
    expectClose(view.tax_paid, tax, 1_000_000);
  });

  test('is bit-identical when repeated, and is refused if the model is later than a rebalance', async () => {
    const lots = world.createAccounts(1)[0]!.lots.filter(({ acquired }) => acquired < '2023-01-03');
    const account = { account_id: 'B', cash: 50_000, lots, tax: { lot_method: 'hifo' } };
    const [one, two] = [
      await run('one', { account, rebalance: 'monthly' }),
      await run('two', { account, rebalance: 'monthly' }),
    ];
    expect(one.error).toBeNull();
    const { backtest_id: _, ...first } = one.result as AccountBacktestView;
    const { backtest_id: __, ...second } = two.result as AccountBacktestView;
    expect(second).toEqual(first);
    expect(first.tax_paid).toBeGreaterThanOrEqual(0);
    const lateView = await run('late', { start: '2022-06-01' });
    expect(lateView.error).toMatchObject({ code: 'LOOK_AHEAD' });
    const future = { account_id: 'C', lots: [{ ...lots[0]!, acquired: '2023-06-01' }] };
    const wrongRun = await run('wrong', { account: future });
    expect(JSON.stringify(wrongRun.error)).toContain('account.lots[0].acquired');
  });
});
