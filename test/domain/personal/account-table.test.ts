import { describe, expect, test } from 'vitest';
import {
  createAccountTable,
  createAccountTemplate,
  EXAMPLE_ACCOUNTS,
  listAccountColumns,
  parseAccountTable,
} from '#domain/personal/account-table.js';
import { Account } from '#domain/personal/account.js';
import { readAccount } from '#domain/personal/read-account.js';
import { Refusal } from '#domain/base/refusals.js';
import { parseCsvRows } from '#market/formats/csv-rows.js';
import { createSmallBatch } from './small-batch.js';

const commonBatch = createSmallBatch([0.5, 0.3, 0.2]);

async function* streamLines(text: string): AsyncGenerator<Buffer> {
  for (const line of text.split('\n')) yield Buffer.from(line);
}

async function readAccountRows(text: string): Promise<unknown[]> {
  const accounts: unknown[] = [];
  for await (const accountText of parseAccountTable(await parseCsvRows(streamLines(text))))
    accounts.push(JSON.parse(accountText));
  return accounts;
}

/**
 * Reads accounts from text.
 * @returns accounts in the form that the solver receives, or the messages of their findings
 */
async function readIn(text: string, batch = commonBatch) {
  const accounts = await readAccountRows(text);
  return accounts.map((value, i) => {
    const { account, findings } = readAccount(batch, value, { path: `accounts[${i}]`, line: null });
    return account ?? findings.map(({ message }) => message);
  });
}

const readFindings = (text: string): Promise<readonly { readonly code: string; readonly message: string }[]> =>
  readAccountRows(text).then(
    () => [],
    (failure: unknown) => (failure as Refusal).detail!['findings'] as { code: string; message: string }[],
  );

const HEAD = 'account_id,identifier,shares,cost,acquired';

describe('a table of accounts', () => {
  test('has a column for every field of an account', () => {
    const names = listAccountColumns().map(({ name }) => name);
    for (const field of Object.keys(Account.shape).filter(
      (name) => !['lots', 'recent', 'transactions', 'tax'].includes(name),
    ))
      expect(names).toContain(field);
    for (const field of ['short_rate', 'lot_method', 'realised.short', 'budget'])
      expect(names).toContain(`tax.${field}`);
    expect(listAccountColumns().filter(({ help }) => help === '')).toEqual([]);
  });

  test('returns the accounts that its writer wrote, and the template states every column', async () => {
    const read = await readAccountRows(createAccountTemplate());
    const sentAccounts = read.map((account) => {
      const { source: _, ...accountFields } = account as { source: unknown };
      return Account.parse(accountFields);
    });
    expect(sentAccounts).toEqual(EXAMPLE_ACCOUNTS.map((account) => Account.parse(account)));
    const rows = createAccountTable(EXAMPLE_ACCOUNTS);
    listAccountColumns().forEach(({ name }, column) =>
      expect([name, rows.some((row) => row[column] !== '')]).toEqual([name, true]),
    );
  });

  test('states fields of the account once or in each of its rows, with lists in one cell', async () => {
    const text = [
      `${HEAD},cash,exclusions,tax.short_rate,tax.lot_method`,
      'C1,A,20,30,2023-05-01,500,B/C,0.3,fifo',
      'C1,B,10,30,2023-05-01,,,0.3,',
      'C2,,,,,1000,,,',
    ].join('\n');
    expect(await readIn(text)).toMatchObject([
      { cash: 500, exclusions: ['B', 'C'], tax: { short_rate: 0.3, long_rate: 0.2, lot_method: 'fifo' } },
      { cash: 1000, lots: [], tax: { short_rate: 0.37 } },
    ]);
  });

  test('reports every unreadable cell of an account with its line and column', async () => {
    const text = [
      `${HEAD},cash,exclusions,tax.short_rate`,
      'C1,A,many,30,2023-02-31,,B/NOBODY,high',
      'C1,B,,30,2023-05-01,,,0.3',
      'C1,B,1,30',
      'C2,A,10,30,2023-05-01,,B/NOBODY,',
    ].join('\n');
    const [first, second] = (await readIn(text)) as string[][];
    expect(first).toEqual([
      'line 3, column 8: tax.short_rate is 0.3, but high on line 2; state it once',
      'line 4: 4 cells; the header has 8',
      expect.stringMatching(/^line 2, column 3, account C1: lots\[0\]\.shares must be a number, not "many"/),
      expect.stringMatching(/^line 2, column 5, account C1: lots\[0\]\.acquired /),
      expect.stringMatching(/^line 3, column 3, account C1: lots\[1\]\.shares is required/),
      expect.stringMatching(/^line 2, column 8, account C1: tax\.short_rate must be a number, not "high"/),
    ]);
    expect(second).toEqual([expect.stringMatching(/^line 5, column 7, account C2: exclusions\[1\]: .*NOBODY/)]);
  });

  test('lists at most 50 findings of an account and counts the others', async () => {
    const rows = Array.from({ length: 70 }, () => 'C1,A,many,30,2023-05-01');
    const [messages] = (await readIn([HEAD, ...rows].join('\n'))) as string[][];
    expect(messages).toHaveLength(51);
    expect(messages!.at(-1)).toContain('20 further findings');
  });

  test('reads quoted cells, semicolons, tabs and line breaks in quotes', async () => {
    const plainAccounts = await readIn(`${HEAD}\nC1,A,20,30,2023-05-01\nC1,B,5,30,2023-05-01`);
    const quotedText = `"account_id","identifier","shares","cost","acquired"\r\n"C1","A","20","30","2023-05-01"\r\nC1,"B",5,"30\n",2023-05-01\r\n`;
    expect(await readIn(quotedText)).toEqual(plainAccounts);
    for (const separator of [';', '\t'])
      expect(
        await readIn(`\uFEFF${HEAD}\nC1,A,20,30,2023-05-01\n\nC1,B,5,30,2023-05-01`.replaceAll(',', separator)),
      ).toEqual(plainAccounts);
    const [finding] = await readFindings(`${HEAD}\nC1,"A,20,30,2023-05-01\nC1,B,5,30,2023-05-01`);
    expect(finding!.message).toBe('line 2: a quote is not closed.');
  });

  test('refuses unknown, repeated and missing columns, and an account whose rows are separated', async () => {
    const findings = await readFindings(
      'account_id,identifier,shares,shares,acquired,short_rate,exclusion\nC1,A,1,1,2023-05-01,0,B',
    );
    expect(findings.map(({ code, message }) => [code, message.replace(/ The columns are.*/, '')])).toEqual([
      ['MISSING_COLUMN', 'line 1: the header lacks cost.'],
      ['WRONG_TYPE', 'line 1, column 4: the column shares is repeated.'],
      ['UNKNOWN_FIELD', 'line 1, column 6: unknown column short_rate. Did you mean tax.short_rate?'],
      ['UNKNOWN_FIELD', 'line 1, column 7: unknown column exclusion. Did you mean exclusions?'],
    ]);
    const formatRow = (id: string) => `${id},A,1,1,2023-05-01`;
    const [finding] = await readFindings([HEAD, formatRow('C1'), formatRow('C2'), formatRow('C1')].join('\n'));
    expect(finding!.message).toContain('line 4: rows of the account C1');
  });

  test('has recent trades as rows with the trade date', async () => {
    const text = `${HEAD},traded,price\nC1,A,20,30,2023-05-01,,\nC1,B,-5,32,,2024-06-20,28\nC1,CASH,100,,,,`;
    expect(await readIn(text)).toMatchObject([
      {
        cash: 100,
        lots: [{ identifier: 'A' }],
        recent: [{ identifier: 'B', date: '2024-06-20', shares: -5, price: 28 }],
      },
    ]);
  });
});

describe('the defaults of a batch', () => {
  const batch = createSmallBatch([0.5, 0.3, 0.2], {
    defaults: { exclusions: ['C'], minimum_trade: 50, tax: { short_rate: 0.4, realised: { short: 7 } } },
  });

  test('are the values of fields that an account does not state, taxes field by field', () => {
    const read = (account: object) =>
      readAccount(batch, { account_id: 'X', cash: 1, ...account }, { path: 'accounts[0]', line: 3 }).account;
    expect(read({})).toMatchObject({
      exclusions: ['C'],
      minimum_trade: 50,
      tax: { short_rate: 0.4, long_rate: 0.2, realised: { short: 7, long: 0 } },
    });
    expect(read({ exclusions: [], tax: { long_rate: 0.1, realised: { long: 5 } } })).toMatchObject({
      exclusions: [],
      minimum_trade: 50,
      tax: { short_rate: 0.4, long_rate: 0.1, realised: { short: 7, long: 5 } },
    });
  });
});

describe('the names of an account', () => {
  test('may be securities of the data without an estimate if they are not held', () => {
    const batch = { ...commonBatch, others: ['OUTSIDE'] };
    const readAccountWith = (more: object) => {
      const account = { account_id: 'X', cash: 1, ...more };
      return readAccount(batch, account, { path: 'accounts[4]', line: 6 }).findings.map(({ path, message }) => [
        path,
        message,
      ]);
    };
    expect(readAccountWith({ exclusions: ['OUTSIDE', 'A'] })).toEqual([]);
    expect(readAccountWith({ substitutes: [['A', 'AB']] })).toEqual([
      ['accounts[4].substitutes[0][1]', expect.stringMatching(/^line 6, account X: .*no security AB/)],
    ]);
    expect(
      readAccountWith({ lots: [{ identifier: 'OUTSIDE', shares: 1, cost: 1, acquired: '2023-01-02' }] }),
    ).toHaveLength(1);
  });
});
