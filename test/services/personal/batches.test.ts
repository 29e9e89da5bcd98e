import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BatchView } from '#contract/batches.js';
import { Account } from '#domain/personal/account-request.js';
import type { AccountResult } from '#domain/personal/account-result.js';
import { commonFrom, verifyResult, type CommonJson } from '#domain/personal/verify-result.js';
import { seeded } from '../../seeded.js';
import { runService, type RunningService } from '../running-service.js';

const MARKET = { store_id: 'market', seed: 3, assets: 60, start: '2022-01-03', end: '2024-06-28' };
const INDEX = {
  id: 'EVEN',
  name: 'Even',
  calendar: 'XNYS',
  base_date: '2022-01-03',
  pipeline: { weighting: { type: 'EqualWeight' } },
};
const TERMS = { parent: 'CORE', risk_model: 'factors' };

let service: RunningService;
let common: CommonJson;
beforeAll(async () => {
  service = await runService();
  await service.ask('POST', '/data/synthetic', MARKET);
  await service.finished('generate:market');
  await service.ask('PUT', '/indices/EVEN', INDEX);
  await service.ask('POST', '/analytics/EVEN/backtest', {});
  await service.finished('backtest:EVEN');
  const { body } = await service.ask<{ job_id: string }>('POST', '/risk-models/factors/estimate', {
    index_id: 'EVEN',
    estimator: 'statistical',
    factors: 8,
  });
  const { error } = await service.finished(body.job_id);
  expect(error).toBeNull();
  // Securities that were listed late have no estimate.
  const { body: model } = await service.ask<{ covariance: { index: string[] } }>('GET', '/risk-models/factors');
  const universe = { kind: 'list', identifiers: model.covariance.index };
  const stored = await service.ask('PUT', '/indices/CORE', { ...INDEX, id: 'CORE', universe });
  expect(stored.status, JSON.stringify(stored.body)).toBeLessThan(300);
  await batch('empty', [{ account_id: 'cash', cash: 1000 }]);
  common = (await service.ask<CommonJson>('GET', '/optimise/batches/empty/common')).body;
}, 120_000);
afterAll(() => service?.close());

async function batch(batch_id: string, accounts: readonly unknown[], terms: object = {}): Promise<BatchView> {
  const request = { ...TERMS, ...terms, batch_id, accounts };
  const { status, body } = await service.ask<{ job_id: string }>('POST', '/optimise/batches', request);
  expect(status, JSON.stringify(body)).toBe(202);
  const job = await service.finished(body.job_id);
  expect([job.status, job.error]).toEqual(['succeeded', null]);
  return job.result as BatchView;
}

const resultsOf = async (batchId: string): Promise<AccountResult[]> =>
  (await service.ask<{ accounts: AccountResult[] }>('GET', `/optimise/batches/${batchId}/accounts`)).body.accounts;

/** Accounts of about a million with lots of up to three years. */
function accountsOf(count: number, more: (at: number) => object = () => ({})) {
  const random = seeded(11);
  return Array.from({ length: count }, (_, at) => ({
    account_id: `A${at}`,
    cash: 5000,
    lots: common.identifiers.flatMap((identifier, i) =>
      Array.from({ length: 1 + Math.floor(3 * random()) }, () => ({
        identifier,
        shares: 1 + Math.floor((8000 * random()) / common.prices[i]!),
        cost: common.prices[i]! * (0.6 + 0.7 * random()),
        acquired: `202${2 + Math.floor(2 * random())}-0${1 + Math.floor(5 * random())}-11`,
      })),
    ),
    ...more(at),
  }));
}

describe('a batch of accounts', () => {
  test('has results that are verified without the solver', async () => {
    const methods = ['specific', 'hifo', 'fifo'];
    const accounts = accountsOf(12, (at) => ({
      exclusions: at % 4 === 0 ? common.identifiers.slice(0, 2) : [],
      minimum_trade: at % 3 === 0 ? 500 : 0,
      tax: { lot_method: methods[at % 3] },
    }));
    const view = await batch('twelve', accounts, { whole_shares: true });
    expect(view.accounts).toBe(12);
    expect((view.by_status['optimal'] ?? 0) + (view.by_status['feasible'] ?? 0)).toBe(12);
    const data = commonFrom(common);
    for (const [at, result] of (await resultsOf('twelve')).entries()) {
      const terms = { ...data.terms, whole_shares: true };
      const account = Account.parse(accounts[at]);
      expect(verifyResult({ ...data, terms }, account, result)).toEqual([]);
      expect(result.certificate.gap).toBeLessThan(1e-3);
      const first = result.trades[0]!;
      const more = { ...result, trades: [{ ...first, shares: first.shares + 7 }, ...result.trades.slice(1)] };
      expect(verifyResult({ ...data, terms }, account, more)).not.toEqual([]);
    }
  }, 120_000);

  test('proves trades of any fraction to 1e-8 of the value', async () => {
    const view = await batch('fractions', accountsOf(6));
    expect(view.by_status).toEqual({ optimal: 6 });
    expect(view.largest_gap).toBeLessThan(1e-8);
  }, 60_000);

  test('reports a bad account with its place and runs the others', async () => {
    const [good, bad] = accountsOf(2);
    bad!.lots[3]!.shares = -1;
    bad!.lots[4]!.identifier = 'NOBODY';
    const view = await batch('mixed', [
      bad,
      good,
      'text',
      { ...good, account_id: 'gone', lots: [{ ...good!.lots[0], identifier: 'NOBODY' }] },
    ]);
    expect(view.by_status).toEqual({ optimal: 1, refused: 3 });
    const paths = view.refused.map(({ position, findings }) => [position, findings[0]!.path]);
    expect(paths).toEqual([
      [0, 'accounts[0].lots[3].shares'],
      [2, 'accounts[2]'],
      [3, 'accounts[3].lots[0].identifier'],
    ]);
  }, 60_000);

  test('names the conflicting rows of an infeasible account', async () => {
    const account = { ...accountsOf(1)[0]!, tracking_error_limit: 0.0001, exclusions: common.identifiers.slice(0, 20) };
    const view = await batch('infeasible', [account]);
    expect(view.by_status).toEqual({ infeasible: 1 });
    expect(view.conflicts).toMatchObject({ tracking_error_limit: 1 });
  }, 60_000);

  test('gives the same bits again, whatever accounts are with it', async () => {
    const accounts = accountsOf(30);
    await batch('many', accounts);
    await batch('one', [accounts[27]]);
    expect((await resultsOf('one'))[0]).toEqual((await resultsOf('many'))[27]);
  }, 120_000);
});
