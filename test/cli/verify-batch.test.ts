import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type SolvedResult, solveOutcome } from '#domain/personal/account-result.js';
import { AS_OF, createLot, createSmallBatch } from '../domain/personal/small-batch.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { runHere } from './process.js';

const commonBatch = createSmallBatch([0.5, 0.3, 0.2]);
const accounts = ['one', 'two', 'three'].map((account_id, i) => ({
  account_id,
  cash: 1000,
  lots: [createLot('A', 100 + i, 80), createLot('B', 40, 120), createLot('A', 30, 90, 'short')],
}));
const results = accounts.map((account, i) => solveOutcome(commonBatch, account, `accounts[${i}]`));

async function runVerifyBatch(
  sentAccounts: readonly unknown[] | string,
  storedResults: readonly unknown[],
  batch = commonBatch,
) {
  const folder = await createTemporaryFolder();
  const toPlain = (_: string, value: unknown): unknown =>
    ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value;
  await writeFile(join(folder, 'common.json'), JSON.stringify({ ...batch, as_of: AS_OF }, toPlain));
  const formatLines = (values: readonly unknown[]): string =>
    values.map((value) => `${JSON.stringify(value)}\n`).join('');
  const [first, second] = [
    join(folder, typeof sentAccounts === 'string' ? 'lots.csv' : 'accounts.ndjson'),
    join(folder, 'results.ndjson'),
  ];
  await writeFile(
    first,
    typeof sentAccounts === 'string' ? sentAccounts : `{"parent":"P","risk_model":"M"}\n${formatLines(sentAccounts)}`,
  );
  await writeFile(second, formatLines(storedResults));
  const { status, out } = await runHere(['verify-batch', first, second, join(folder, 'common.json')]);
  return [status, out];
}

describe('divisor verify-batch', () => {
  test('verifies results in any order', async () => {
    expect(await runVerifyBatch(accounts, results.toReversed())).toEqual([
      0,
      '3 results verified, 0 wrong, 0 accounts refused\n',
    ]);
  });

  test('reads accounts from a table of lots', async () => {
    const rows = accounts.flatMap(({ account_id, cash, lots }) => [
      `${account_id},CASH,${cash},,`,
      ...lots.map(({ identifier, shares, cost, acquired }) =>
        [account_id, identifier, shares, cost, acquired].join(','),
      ),
    ]);
    const csv = ['account_id,identifier,shares,cost,acquired', ...rows].join('\n');
    expect(await runVerifyBatch(csv, results)).toEqual([0, '3 results verified, 0 wrong, 0 accounts refused\n']);
  });

  test('reports an account without a result, and a second result', async () => {
    const [status, out] = await runVerifyBatch(accounts, [results[0], results[2], results[2]]);
    expect(status).toBe(1);
    expect(out).toContain('three: ACCOUNTS has no such account, or RESULTS has a second result of it\n');
    expect(out).toContain('two: the account has no result\n2 results verified, 2 wrong');
  });

  test('ignores the refused second account with a duplicate id', async () => {
    const refusedResult = { account_id: 'one', status: 'refused', findings: [] };
    const [status, out] = await runVerifyBatch([...accounts, { ...accounts[0], cash: 5 }], [...results, refusedResult]);
    expect([status, out]).toEqual([0, '3 results verified, 0 wrong, 1 account refused\n']);
  });

  test('counts infeasible accounts separately, as they have no trades to verify', async () => {
    const account = { ...accounts[0]!, account_id: 'four', exclusions: ['A'], tracking_error_limit: 1e-4 };
    const result = solveOutcome(commonBatch, account, 'accounts[3]');
    expect(result).toMatchObject({ status: 'infeasible', trades: [] });
    expect(await runVerifyBatch([...accounts, account], [...results, result])).toEqual([
      0,
      '3 results verified, 0 wrong, 1 infeasible without trades, 0 accounts refused\n',
    ]);
  });

  test('refuses a file without common data in one sentence', async () => {
    const folder = await createTemporaryFolder();
    await writeFile(join(folder, 'common.json'), '{"as_of":"2024-01-02"}');
    const { status, err } = await runHere(['verify-batch', 'a.ndjson', 'b.ndjson', join(folder, 'common.json')]);
    expect([status, err]).toEqual([64, expect.stringMatching(/common\.json is not a response of GET .*\n$/)]);
    expect(err.split('\n')).toHaveLength(2);
  });

  test('reports figures that do not follow from the trades', async () => {
    const [status, out] = await runVerifyBatch(accounts, [{ ...results[0], tax: 12 }, results[1], results[2]]);
    expect([status, out]).toEqual([1, expect.stringContaining('one: tax: ')]);
  });

  describe.each([
    ['fractions', false, 0],
    ['whole shares', true, 0],
    ['whole shares after a search', true, 200],
  ])('with %s', (_, whole_shares, search_nodes) => {
    const batch = createSmallBatch([0.5, 0.3, 0.2], { whole_shares, search_nodes, objective: { cash_maximum: 0.02 } });
    const solved = accounts.map((account, i) => solveOutcome(batch, account, `accounts[${i}]`) as SolvedResult);
    const [first, ...others] = solved;
    const certificate = first!.certificate;

    test('verifies the bound and the gap, which is not negative', async () => {
      expect((await runVerifyBatch(accounts, solved, batch))[0]).toBe(0);
      for (const { certificate: own } of solved) expect(own.gap).toBeGreaterThanOrEqual(-1e-12);
    });

    test.each([
      ['bound', { ...certificate, bound: certificate.bound + 1e-6 }, 'bound: '],
      ['bound', { ...certificate, bound: certificate.bound - 1e-6 }, 'bound: '],
      ['gap', { ...certificate, gap: certificate.gap + 1e-6 }, 'gap: '],
      ['gap', { ...certificate, gap: null }, 'gap: '],
      [
        'bound of a side',
        { ...certificate, sides: certificate.sides.map((side) => ({ ...side, bound: side.bound + 1e-6 })) },
        'certificate.sides[0].bound: ',
      ],
    ])('reports an altered %s', async (_name, altered, fault) => {
      const [status, out] = await runVerifyBatch(accounts, [{ ...first, certificate: altered }, ...others], batch);
      expect([status, out]).toEqual([1, expect.stringContaining(fault)]);
    });
  });

  test('reports a disallowed loss that the wash sale rule does not have, and a term', async () => {
    const [result] = results as SolvedResult[];
    const trades = result!.trades.map((trade, i) =>
      i === 0 ? { ...trade, gain: trade.gain! - 50, disallowed_loss: 50, term: 'short' } : trade,
    );
    const [status, out] = await runVerifyBatch(accounts, [{ ...result, trades }, results[1], results[2]]);
    expect(status).toBe(1);
    for (const fault of ['gain', 'disallowed_loss', 'term']) expect(out).toContain(`one: trades[0].${fault}: `);
  });
});
