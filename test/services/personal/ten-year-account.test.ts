import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AccountBacktestView } from '#contract/batches.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { IS_SOAK } from '../../soak.js';
import { openBatches, type BatchWorld } from './batch-world.js';

const FIRST = '2013-01-02';
const START = '2014-01-02';
const CASH = 1_000_000;

let world: BatchWorld;
beforeAll(async () => {
  if (IS_SOAK) world = await openBatches(FIRST);
}, 600_000);
afterAll(() => world?.service.close());

async function runDecade(method: string): Promise<AccountBacktestView> {
  const { body } = await world.service.ask<JobStatus>('POST', '/analytics/DECADE/accounts/backtest', {
    backtest_id: method,
    risk_model: 'first-year',
    start: START,
    rebalance: 'quarterly',
    account: { account_id: 'A', cash: CASH, tax: { lot_method: method } },
  });
  const job = await world.service.waitForJob(body.job_id);
  expect(job.error).toBeNull();
  return job.result as AccountBacktestView;
}

/**
 * Returns the largest difference between the cash of a session and the previous cash plus the entries of the session.
 * It is a fraction of the value of the account.
 */
function computeLargestGap({ sessions, entries }: AccountBacktestView): number {
  const movements = new Map<string, number>();
  for (const { date, amount } of entries) movements.set(date, (movements.get(date) ?? 0) + amount);
  let [before, worst] = [CASH, 0];
  for (const { date, cash, value } of sessions) {
    worst = Math.max(worst, Math.abs(cash - before - (movements.get(date) ?? 0)) / value);
    movements.delete(date);
    before = cash;
  }
  expect([...movements.keys()]).toEqual([]); // every movement is dated on a session
  return worst;
}

test.runIf(IS_SOAK)(
  'the cash of an account over ten years closes to 1e-9 of its value on every session, after tax',
  async () => {
    const { body } = await world.service.ask<{ job_id: string }>('POST', '/risk-models/first-year/estimate', {
      identifiers: world.common.identifiers,
      estimator: 'statistical',
      factors: 5,
      start: FIRST,
      end: '2013-12-31',
    });
    expect((await world.service.waitForJob(body.job_id)).error).toBeNull();
    const { body: model } = await world.service.ask<{ covariance: { index: string[] } }>(
      'GET',
      '/risk-models/first-year',
    );
    const { body: core } = await world.service.ask<object>('GET', '/indices/CORE');
    const universe = { kind: 'list', identifiers: model.covariance.index };
    const storedIndex = await world.service.ask('PUT', '/indices/DECADE', { ...core, id: 'DECADE', universe });
    expect(storedIndex.status, JSON.stringify(storedIndex.body)).toBeLessThan(300);
    for (const method of ['specific', 'hifo', 'fifo']) {
      const view = await runDecade(method);
      expect(view.sessions.length).toBeGreaterThan(2600);
      expect(view.years.filter((year) => year.is_paid)).toHaveLength(10);
      const worst = computeLargestGap(view);
      const paidTax = view.entries.reduce((sum, { kind, amount }) => (kind === 'tax' ? sum - amount : sum), 0);
      const dueTax = view.years.reduce((sum, { tax, is_paid }) => (is_paid ? sum + tax : sum), 0);
      const receivedDividends = view.entries.reduce(
        (sum, { kind, amount }) => (kind === 'dividend' ? sum + amount : sum),
        0,
      );
      const kinds = new Set(view.entries.map(({ kind }) => kind));
      console.log(
        `${method}: ${view.sessions.length} sessions, ${view.entries.length} entries (${[...kinds].join(', ')}), ` +
          `${view.rebalances.length} rebalances, cash within ${worst.toExponential(1)}, tax ${paidTax.toFixed(2)}, largest gap ${view.largest_gap}`,
      );
      expect(worst).toBeLessThan(1e-9);
      expect(Math.abs(paidTax - dueTax)).toBeLessThan(1e-9 * CASH);
      expect(Math.abs(receivedDividends - view.dividends)).toBeLessThan(1e-9 * CASH);
      expect(Math.abs(paidTax - view.tax_paid)).toBeLessThan(1e-9 * CASH);
    }
  },
  1_800_000,
);
