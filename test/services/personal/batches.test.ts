import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Account } from '#domain/personal/account-request.js';
import { commonFrom, verifyResult } from '#domain/personal/verify-result.js';
import { openBatches, type BatchWorld } from './batch-world.js';

let world: BatchWorld;
beforeAll(async () => {
  world = await openBatches();
});
afterAll(() => world?.service.close());

describe('a batch of accounts', () => {
  test('has results that are verified without the solver', async () => {
    const methods = ['specific', 'hifo', 'fifo'];
    const accounts = world.accountsOf(12, (at) => ({
      exclusions: at % 4 === 0 ? world.common.identifiers.slice(0, 2) : [],
      minimum_trade: at % 3 === 0 ? 500 : 0,
      tax: { lot_method: methods[at % 3] },
    }));
    const view = await world.batch('twelve', accounts, { whole_shares: true });
    expect(view.accounts).toBe(12);
    expect((view.by_status['optimal'] ?? 0) + (view.by_status['feasible'] ?? 0)).toBe(12);
    const data = commonFrom(world.common);
    for (const [at, result] of (await world.resultsOf('twelve')).entries()) {
      const terms = { ...data.terms, whole_shares: true };
      const account = Account.parse(accounts[at]);
      expect(verifyResult({ ...data, terms }, account, result)).toEqual([]);
      expect(result.certificate.gap).toBeLessThan(1e-3);
      const first = result.trades[0]!;
      const more = { ...result, trades: [{ ...first, shares: first.shares + 7 }, ...result.trades.slice(1)] };
      expect(verifyResult({ ...data, terms }, account, more)).not.toEqual([]);
    }
  });

  test('proves trades of any fraction to 1e-8 of the value', async () => {
    const view = await world.batch('fractions', world.accountsOf(6));
    expect(view.by_status).toEqual({ optimal: 6 });
    expect(view.largest_gap).toBeLessThan(1e-8);
  });

  test('reports a bad account with its place and runs the others', async () => {
    const [good, bad] = world.accountsOf(2);
    bad!.lots[3]!.shares = -1;
    bad!.lots[4]!.identifier = 'NOBODY';
    const view = await world.batch('mixed', [
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
  });

  test('names the conflicting rows of an infeasible account', async () => {
    const account = {
      ...world.accountsOf(1)[0]!,
      tracking_error_limit: 0.0001,
      exclusions: world.common.identifiers.slice(0, 20),
    };
    const view = await world.batch('infeasible', [account]);
    expect(view.by_status).toEqual({ infeasible: 1 });
    expect(view.conflicts).toMatchObject({ tracking_error_limit: 1 });
  });

  test('gives the same bits again, whatever accounts are with it', async () => {
    const accounts = world.accountsOf(30);
    await world.batch('many', accounts);
    await world.batch('one', [accounts[27]]);
    expect((await world.resultsOf('one'))[0]).toEqual((await world.resultsOf('many'))[27]);
  });
});
