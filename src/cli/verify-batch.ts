import { counted } from '#domain/catalogue/sentence-numbers.js';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { parseArgs } from 'node:util';
import { linesOf } from '#domain/personal/account-lines.js';
import { Account } from '#domain/personal/account-request.js';
import type { AccountOutcome } from '#domain/personal/solve-accounts.js';
import { readCommon, verifyResult, type CommonJson } from '#domain/personal/verify-result.js';
import { accountsOfLots, tableOfText } from '#domain/personal/lot-table.js';
import { UsageError } from './usage-error.js';

export const VERIFY_BATCH_HELP = `divisor verify-batch ACCOUNTS RESULTS COMMON

Verifies the results of a batch without the solver and without a service: trades are possible, figures follow from the trades, and the
multipliers of each certificate prove its bound. Every account has one result. Files are read as streams, in the same order at best.

  ACCOUNTS  Accounts as sent: lines of JSON, of which a first one with terms is skipped, or a .csv table of lots.
  RESULTS   Results as lines of JSON, as divisor batch --out writes them.
  COMMON    Answer of GET /optimise/batches/{batch_id}/common.

Exit statuses: 0 every result is verified; 1 some are not, and each fault is printed; 64 wrong usage, or a file that cannot be read.
`;

const EXIT_WRONG = 1;

/** Runs `divisor verify-batch`. */
export async function verifyBatch(argv: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true, options: {} });
  const [accounts, results, common] = positionals;
  if (accounts === undefined || results === undefined || common === undefined || positionals.length > 3)
    throw new UsageError('verify-batch requires ACCOUNTS, RESULTS and COMMON');
  const known = readCommon(JSON.parse(await readFile(common, 'utf8')) as CommonJson);
  const sent = accountsIn(accounts);
  let [verified, refused, wrong] = [0, 0, 0];
  for await (const value of valuesIn(results)) {
    const outcome = value as AccountOutcome; // The service wrote it; this command looks for wrong figures.
    const account = outcome.account_id === null ? undefined : await sent.take(outcome.account_id);
    if (outcome.status === 'refused') {
      refused++;
      continue;
    }
    const faults = account === undefined ? [NOT_SENT] : verifyResult(known, account, outcome);
    for (const fault of faults) process.stdout.write(`${outcome.account_id}: ${fault}\n`);
    if (faults.length > 0) wrong++;
    else verified++;
  }
  const lost = await sent.rest();
  for (const id of lost) process.stdout.write(`${id}: the account has no result\n`);
  process.stdout.write(
    `${counted(verified, 'result')} verified, ${wrong + lost.length} wrong, ${counted(refused, 'account')} refused\n`,
  );
  return wrong + lost.length > 0 ? EXIT_WRONG : 0;
}

const NOT_SENT = 'no such account in ACCOUNTS, or a second result of it';

/** Accounts of a file, each of which is read once. Only skipped ones are kept in memory. */
function accountsIn(file: string) {
  const passed = new Map<string, Account>();
  const values = extname(file) === '.csv' ? tableIn(file) : valuesIn(file);

  /** Reads the next account. @returns false at the end of the file */
  async function readNext(): Promise<boolean> {
    for (let next = await values.next(); next.done !== true; next = await values.next()) {
      const account = Account.safeParse(next.value).data;
      if (account === undefined) continue;
      passed.set(account.account_id, account);
      return true;
    }
    return false;
  }

  return {
    async take(id: string): Promise<Account | undefined> {
      while (!passed.has(id)) if (!(await readNext())) return undefined;
      const account = passed.get(id);
      passed.delete(id);
      return account;
    },
    /** Returns the ids of accounts that were not taken. */
    async rest(): Promise<readonly string[]> {
      while (await readNext());
      return [...passed.keys()];
    },
  };
}

async function* tableIn(file: string): AsyncGenerator<unknown> {
  for await (const text of accountsOfLots(await tableOfText(linesOf(createReadStream(file))))) {
    const { source: _, ...account } = JSON.parse(text) as { readonly source: unknown };
    yield account;
  }
}

async function* valuesIn(file: string): AsyncGenerator<unknown> {
  for await (const line of linesOf(createReadStream(file))) {
    const text = line.toString();
    if (text.trim() !== '') yield JSON.parse(text);
  }
}
