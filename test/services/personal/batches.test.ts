import {
  Field,
  Float64,
  List,
  Struct,
  Table,
  tableFromIPC,
  tableFromJSON,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { DuckDBInstance } from '@duckdb/node-api';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BatchCollection, BatchView } from '#contract/batches.js';
import { Account } from '#domain/personal/account.js';
import { readCommon, verifyResult } from '#domain/personal/verification.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { openBatches, type BatchWorld } from './batch-world.js';

let world: BatchWorld;
beforeAll(async () => {
  world = await openBatches();
});
afterAll(() => world?.service.close());

describe('a batch of accounts', () => {
  test('has results that are verified without the solver', async () => {
    const methods = ['specific', 'hifo', 'fifo'];
    const accounts = world.createAccounts(12, (i) => ({
      exclusions: i % 4 === 0 ? world.common.identifiers.slice(0, 2) : [],
      minimum_trade: i % 3 === 0 ? 500 : 0,
      tax: { lot_method: methods[i % 3] },
    }));
    const view = await world.batch('twelve', accounts, { whole_shares: true });
    expect(view.accounts).toBe(12);
    expect((view.by_status['optimal'] ?? 0) + (view.by_status['feasible'] ?? 0)).toBe(12);
    const data = readCommon(world.common);
    for (const [i, result] of (await world.readResults('twelve')).entries()) {
      const terms = { ...data.terms, whole_shares: true };
      const account = Account.parse(accounts[i]);
      expect(verifyResult({ ...data, terms }, account, result)).toEqual([]);
      expect(result.certificate.gap).toBeLessThan(1e-3);
      const first = result.trades[0]!;
      const changedResult = { ...result, trades: [{ ...first, shares: first.shares + 7 }, ...result.trades.slice(1)] };
      expect(verifyResult({ ...data, terms }, account, changedResult)).not.toEqual([]);
    }
  });

  test('proves trades with fractional shares to 1e-8 of the value', async () => {
    const view = await world.batch('fractions', world.createAccounts(6));
    expect(view.by_status).toEqual({ optimal: 6 });
    expect(view.largest_gap).toBeLessThan(1e-8);
  });

  test('reports an invalid account with its position and runs the others', async () => {
    const [goodAccount, badAccount] = world.createAccounts(2);
    badAccount!.lots[3]!.shares = -1;
    badAccount!.lots[4]!.identifier = 'NOBODY';
    const view = await world.batch('mixed', [
      badAccount,
      goodAccount,
      'text',
      { ...goodAccount, account_id: 'gone', lots: [{ ...goodAccount!.lots[0], identifier: 'NOBODY' }] },
    ]);
    expect(view.by_status).toEqual({ optimal: 1, refused: 3 });
    const listedBatches = await world.service.ask<BatchCollection>('GET', '/optimise/batches?limit=1');
    expect(listedBatches.body.batches).toEqual([{ ...view, refused: [] }]);
    const paths = view.refused.map(({ position, findings }) => [position, findings[0]!.path]);
    expect(paths).toEqual([
      [0, 'accounts[0].lots[3].shares'],
      [2, 'accounts[2]'],
      [3, 'accounts[3].lots[0].identifier'],
    ]);
  });

  test('reads a table of lots as it arrives, and reports line and column of each invalid cell', async () => {
    const [a, b] = world.common.identifiers as [string, string];
    const rows = [
      'account_id,identifier,shares,cost,acquired',
      `C1,CASH,5000,,`,
      `C1,${a},20,30,2023-05-01`,
      `C2,${a},many,30,2023-05-01`,
      `C3,CASH,100,,`,
      `C3,NOBODY,10,30,2023-05-01`,
      `C3,${b},10,30,2023-02-31`,
      `C4,${b},10,30,2023-05-01`,
    ];
    const terms = { parent: 'CORE', risk_model: 'factors', batch_id: 'table' };
    const send = (lines: readonly string[]) =>
      world.service.download(`/optimise/batches?terms=${encodeURIComponent(JSON.stringify(terms))}`, {
        method: 'POST',
        headers: { 'content-type': 'text/csv' },
        body: lines.join('\n'),
      });
    expect((await send(rows)).status).toBe(202);
    const { result } = await world.service.waitForJob('batch:table');
    const view = result as BatchView;
    expect(view.by_status).toEqual({ optimal: 2, refused: 2 });
    const messages = view.refused.map(({ account_id, findings }) => [account_id, findings[0]!.message]);
    expect(messages).toEqual([
      ['C2', expect.stringMatching(/^line 4, column 3, account C2: .*"many"/)],
      ['C3', expect.stringMatching(/^line 7, column 5, account C3: /)],
    ]);
    const answer = await send([...rows, `C1,${b},10,30,2023-05-01`]);
    expect([answer.status, await answer.text()]).toEqual([
      422,
      expect.stringContaining('line 9: rows of the account C1'),
    ]);
  }, 60_000);

  test('reads a stream of Arrow, with a row per account or per lot, as it reads lines of JSON', async () => {
    const accounts = world.createAccounts(3).map((account) => ({ ...account, lots: account.lots.slice(0, 40) }));
    await world.batch('lines', accounts);
    const send = (batchId: string, table: Table, inQuery: boolean) => {
      const termsJson = JSON.stringify({ parent: 'CORE', risk_model: 'factors', batch_id: batchId });
      if (!inQuery) table.schema.metadata.set('terms', termsJson);
      return world.service.download(`/optimise/batches${inQuery ? `?terms=${encodeURIComponent(termsJson)}` : ''}`, {
        method: 'POST',
        headers: { 'content-type': 'application/vnd.apache.arrow.stream' },
        body: tableToIPC(table, 'stream') as Uint8Array<ArrayBuffer>,
      });
    };
    const lot = new Struct([
      new Field('identifier', new Utf8()),
      new Field('shares', new Float64()),
      new Field('cost', new Float64()),
      new Field('acquired', new Utf8()),
    ]);
    const byAccount = new Table({
      account_id: vectorFromArray(accounts.map(({ account_id }) => account_id)),
      cash: vectorFromArray(accounts.map(({ cash }) => cash)),
      lots: vectorFromArray(
        accounts.map(({ lots }) => lots),
        new List(new Field('lot', lot)),
      ),
    });
    const byLot = tableFromJSON(
      accounts.flatMap(({ account_id, cash, lots }) => [
        { account_id, identifier: 'CASH', shares: cash, cost: 0, acquired: '' },
        ...lots.map((own) => ({ account_id, ...own })),
      ]),
    );
    for (const [id, table, inQuery] of [
      ['by-account', byAccount, false],
      ['by-lot', byLot, true],
    ] as const) {
      const sentAnswer = await send(id, table, inQuery);
      expect(sentAnswer.status, await sentAnswer.text()).toBe(202);
      await world.service.waitForJob(`batch:${id}`);
      expect(await world.readResults(id)).toEqual(await world.readResults('lines'));
    }
    const brokenAnswer = await world.service.download('/optimise/batches?terms=%7B%7D', {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.apache.arrow.stream' },
      body: 'account_id,identifier',
    });
    expect(brokenAnswer.status).toBe(422);
  }, 60_000);

  test('reads Parquet with a row per account or per lot as it reads lines of JSON, and names row and column', async () => {
    const [first, ...otherAccounts] = world
      .createAccounts(3)
      .map((account) => ({ ...account, lots: account.lots.slice(0, 40) }));
    const accounts = [first!, ...otherAccounts];
    await world.batch('json', accounts);
    const encodeParquet = await createParquetMaker();
    const send = (batchId: string, body: Uint8Array<ArrayBuffer>) =>
      world.service.download(
        `/optimise/batches?terms=${encodeURIComponent(JSON.stringify({ parent: 'CORE', risk_model: 'factors', batch_id: batchId }))}`,
        { method: 'POST', headers: { 'content-type': 'application/vnd.apache.parquet' }, body },
      );
    const lots = accounts.flatMap(({ account_id, cash, lots: own }) => [
      { account_id, identifier: 'CASH', shares: cash, cost: null as number | null, acquired: null as string | null },
      ...own.map((lot) => ({ account_id, ...lot })),
    ]);
    for (const [id, rows] of [
      ['nested', accounts],
      ['flat', lots],
    ] as const) {
      const sentAnswer = await send(id, await encodeParquet(rows));
      const job = (await sentAnswer.json()) as JobStatus;
      expect([sentAnswer.status, job.message]).toEqual([
        202,
        expect.stringMatching(/^3 accounts: about \d+ s of processor/),
      ]);
      await world.service.waitForJob(`batch:${id}`);
      expect(await world.readResults(id)).toEqual(await world.readResults('json'));
    }
    lots[50] = { ...lots[50]!, cost: null };
    expect((await send('bad', await encodeParquet(lots))).status).toBe(202);
    const { result } = await world.service.waitForJob('batch:bad');
    expect((result as BatchView).refused.map(({ findings }) => findings[0]!.message)).toEqual([
      expect.stringMatching(/^row 51, column 4, account A\d: .*cost is required/),
    ]);
    const brokenAnswer = await send('broken', new Uint8Array(Buffer.from('PAR1 and no more')));
    expect([brokenAnswer.status, await brokenAnswer.text()]).toEqual([422, expect.stringContaining('UNREADABLE_FILE')]);
  }, 60_000);

  test('is read as tables in Arrow and Parquet', async () => {
    const accounts = world.createAccounts(3);
    await world.batch('tables', accounts);
    const results = await world.readResults('tables');
    const path = '/optimise/batches/tables/accounts?block=0';
    const readTable = async (more: string) =>
      tableFromIPC(new Uint8Array(await (await world.service.download(`${path}&format=arrow${more}`)).arrayBuffer()));
    const rows = await readTable('');
    expect(rows.getChild('account_id')!.toArray()).toEqual(results.map(({ account_id }) => account_id));
    expect([...rows.getChild('tax_saved')!]).toEqual(results.map(({ tax_saved }) => tax_saved));
    const trades = await readTable('&table=trades');
    expect(trades.numRows).toBe(results.reduce((sum, result) => sum + result.trades.length, 0));
    expect([...trades.getChild('shares')!]).toEqual(
      results.flatMap((result) => result.trades.map(({ shares }) => shares)),
    );
    const parquet = await world.service.download(`${path}&format=parquet`);
    expect(parquet.headers.get('content-type')).toBe('application/vnd.apache.parquet');
    const bytes = Buffer.from(await parquet.arrayBuffer());
    expect([bytes.toString('latin1', 0, 4), bytes.toString('latin1', bytes.length - 4)]).toEqual(['PAR1', 'PAR1']);
  }, 60_000);

  test('trades the first of two accounts with one id, with terms in the query and lines of JSON', async () => {
    const [one] = world.createAccounts(1);
    const terms = {
      parent: 'CORE',
      risk_model: 'factors',
      defaults: { exclusions: world.common.identifiers.slice(0, 1) },
    };
    const query = new URLSearchParams({ terms: JSON.stringify(terms), batch_id: 'repeated' });
    const lines = [one, { account_id: 'B', cash: 1000, exclusions: ['NOBODY'] }, { ...one, cash: 1 }];
    const sentAnswer = await world.service.download(`/optimise/batches?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines.map((line) => JSON.stringify(line)).join('\n'),
    });
    expect(sentAnswer.status, await sentAnswer.text()).toBe(202);
    const { result, message } = await world.service.waitForJob('batch:repeated');
    const { refused } = result as BatchView;
    expect(message).toBe('Done. 1 of 3 accounts is optimal, 2 refused.');
    expect(refused.map(({ findings: [first] }) => [first!.code, first!.message.split(':')[0]])).toEqual([
      ['UNKNOWN_IDENTIFIER', 'line 2, account B'],
      ['DUPLICATE_ID', 'line 3, account A0'],
    ]);
    const [excluded] = terms.defaults.exclusions;
    const [first] = await world.readResults('repeated');
    expect(first!.trades.filter(({ identifier }) => identifier === excluded).every(({ side }) => side === 'sell')).toBe(
      true,
    );
    expect(first!.weights[excluded!]).toBeUndefined();
  });

  test('reports the securities of the parent without an estimate, and both dates', async () => {
    const jobId = await world.start('young', [{ account_id: 'A', cash: 1000 }], { parent: 'EVEN' });
    const { status, error } = await world.service.waitForJob(jobId);
    expect([status, error?.code]).toEqual(['failed', 'MODEL_LACKS_NAMES']);
    expect(error!.message).toMatch(/ \(prices from 202\d-\d\d-\d\d\).*returns of the model are from 2022-01-0/);
  });

  test('has a template whose table is accepted', async () => {
    const template = await world.service.download('/optimise/batches/template');
    expect(template.headers.get('content-type')).toContain('text/csv');
    const [a, b] = world.common.identifiers as [string, string];
    const text = (await template.text()).replaceAll(/EXMPL-[ACE]/g, a).replaceAll(/EXMPL-[BDF]/g, b);
    const query = new URLSearchParams({
      terms: JSON.stringify({ parent: 'CORE', risk_model: 'factors', batch_id: 'example' }),
    });
    const sentAnswer = await world.service.download(`/optimise/batches?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      // The data ends in June 2024: acquisition dates of its last months are moved to 2023.
      body: text.replaceAll('2024-1', '2023-1'),
    });
    expect(sentAnswer.status).toBe(202);
    const { result } = await world.service.waitForJob('batch:example');
    expect((result as BatchView).refused).toEqual([]);
  });

  test('reports the conflicting rows of an infeasible account', async () => {
    const account = {
      ...world.createAccounts(1)[0]!,
      tracking_error_limit: 0.0001,
      exclusions: world.common.identifiers.slice(0, 20),
    };
    const view = await world.batch('infeasible', [account]);
    expect(view.by_status).toEqual({ infeasible: 1 });
    expect(view.conflicts).toMatchObject({ tracking_error_limit: 1 });
    const [result] = await world.readResults('infeasible');
    expect(result!.trades).toEqual([]);
    const readTable = async (name: string) => {
      const path = `/optimise/batches/infeasible/accounts?table=${name}&format=csv`;
      return (await (await world.service.download(path)).text()).trim().split(/\r?\n/);
    };
    expect(await readTable('trades')).toHaveLength(1);
    expect((await readTable('accounts'))[1]).toContain('tracking_error_limit');
  });

  test('is bit-identical when repeated, with any other accounts', async () => {
    const accounts = world.createAccounts(30);
    await world.batch('many', accounts);
    await world.batch('one', [accounts[27]]);
    expect((await world.readResults('one'))[0]).toEqual((await world.readResults('many'))[27]);
  });
});

async function createParquetMaker(): Promise<(rows: readonly object[]) => Promise<Uint8Array<ArrayBuffer>>> {
  const folder = await createTemporaryFolder();
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  return async (rows) => {
    const [from, to] = [join(folder, 'rows.ndjson'), join(folder, 'rows.parquet')];
    await writeFile(from, rows.map((row) => JSON.stringify(row)).join('\n'));
    await connection.run(`COPY (SELECT * FROM read_json('${from}')) TO '${to}' (FORMAT parquet)`);
    return new Uint8Array(await readFile(to));
  };
}
