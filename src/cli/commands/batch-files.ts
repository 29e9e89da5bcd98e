import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { parseArgs } from 'node:util';
import { formatCount } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import type { AccountOutcome } from '#domain/personal/account-result.js';
import { createAccountTemplate, listAccountColumns, parseAccountTable } from '#domain/personal/account-table.js';
import type { Account } from '#domain/personal/account.js';
import type { BatchCommon } from '#domain/personal/batch.js';
import { parseLine, readAccount, splitLines } from '#domain/personal/read-account.js';
import { type CommonJson, readCommon, verifyResult } from '#domain/personal/verification.js';
import { parseCsvRows } from '#market/formats/csv-rows.js';
import { readArrow, readParquet } from '#services/optimise/accounts.js';
import { UsageError } from '../usage.js';
import { formatTable, writeWhole } from '../terminal.js';

export const VERIFY_BATCH_HELP = `divisor verify-batch ACCOUNTS RESULTS COMMON

Verifies the results of a batch without the solver and without a service. It checks that trades are possible, that every figure follows
from the trades (gains, disallowed losses, lots after the trades, tax saved and so on), that the multipliers of each certificate prove its
bound, that gap and status follow from objective and bound, and that every account has exactly one result. Files are read as streams. The
verification is fastest if both files have the same order.

  ACCOUNTS  Accounts as submitted: JSON lines (a first line with terms is skipped), or a .csv, .parquet or .arrow file.
  RESULTS   Results as JSON lines, as written by divisor batch --out.
  COMMON    Response of GET /optimise/batches/{batch_id}/common.

Exit statuses: 0 every result is verified; 1 some results are not verified, and each fault is printed; 64 wrong usage, or a file that cannot be read.
`;

const EXIT_DIFFERENT = 1;

/** Runs `divisor verify-batch`. */
export async function verifyBatch(argv: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true, options: {} });
  const [accounts, results, common] = positionals;
  if (accounts === undefined || results === undefined || common === undefined || positionals.length > 3)
    throw new UsageError('verify-batch requires ACCOUNTS, RESULTS and COMMON');
  const batchCommon = await readCommonData(common);
  return openAccounts(accounts, async (values) => verifyResults(batchCommon, values, results));
}

/** Verifies results and prints their faults. @returns the exit status */
async function verifyResults(
  batchCommon: BatchCommon,
  values: AsyncIterator<unknown>,
  results: string,
): Promise<number> {
  const accountReader = createAccountReader(batchCommon, values);
  let [verified, infeasible, refused, wrong] = [0, 0, 0, 0];
  for await (const value of readValues(results)) {
    const outcome = value as AccountOutcome; // the service wrote the results, so only their figures are verified
    if (outcome.status === 'refused') {
      accountReader.skip(outcome.account_id);
      refused++;
      continue;
    }
    const account = await accountReader.take(outcome.account_id);
    const faults = account === undefined ? [UNKNOWN_ACCOUNT] : verifyResult(batchCommon, account, outcome);
    for (const fault of faults) process.stdout.write(`${outcome.account_id}: ${fault}\n`);
    if (faults.length > 0) wrong++;
    else if (outcome.status === 'infeasible') infeasible++;
    else verified++;
  }
  const missingIds = await accountReader.rest();
  for (const id of missingIds) process.stdout.write(`${id}: the account has no result\n`);
  const infeasibleNote = infeasible > 0 ? `, ${infeasible} infeasible without trades` : '';
  process.stdout.write(
    `${formatCount(verified, 'result')} verified, ${wrong + missingIds.length} wrong${infeasibleNote}, ${formatCount(refused, 'account')} refused\n`,
  );
  return wrong + missingIds.length > 0 ? EXIT_DIFFERENT : 0;
}

const UNKNOWN_ACCOUNT = 'ACCOUNTS has no such account, or RESULTS has a second result of it';

/** Reads the data that all accounts share. @throws UsageError for another file */
async function readCommonData(file: string): Promise<BatchCommon> {
  try {
    const json = JSON.parse(await readFile(file, 'utf8')) as CommonJson;
    const lists = [json.identifiers, json.prices, json.weights, json.loadings, json.specific, json.groups];
    if (!lists.every(Array.isArray) || typeof json.terms !== 'object')
      throw new Error('prices, weights or factors are absent');
    return readCommon(json);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`${file} is not a response of GET /optimise/batches/{batch_id}/common: ${reason}`);
  }
}

/**
 * Creates a reader for the accounts of a file. It reads each account once. An account that is read before it is
 * requested is kept in memory.
 */
function createAccountReader(batchCommon: BatchCommon, values: AsyncIterator<unknown>) {
  const pendingAccounts = new Map<string, Account>();
  const refusedIds = new Set<string>();
  const seenIds = new Set<string>();

  /**
   * Reads the next valid account. Ignores an account if an earlier one has the same id. @returns false at the end of
   * the file
   */
  async function readNextAccount(): Promise<boolean> {
    for (let next = await values.next(); next.done !== true; next = await values.next()) {
      const { account } = readAccount(batchCommon, next.value, { path: 'account', line: null });
      if (account === undefined || seenIds.has(account.account_id)) continue;
      seenIds.add(account.account_id);
      pendingAccounts.set(account.account_id, account);
      return true;
    }
    return false;
  }

  return {
    async take(id: string): Promise<Account | undefined> {
      while (!pendingAccounts.has(id)) if (!(await readNextAccount())) return undefined;
      const account = pendingAccounts.get(id);
      pendingAccounts.delete(id);
      return account;
    },
    /** Records that an account was refused. */
    skip: (id: string | null): void => void (id !== null && refusedIds.add(id)),
    /** Returns the ids of accounts that were neither requested nor refused. */
    async rest(): Promise<readonly string[]> {
      while (await readNextAccount());
      return [...pendingAccounts.keys()].filter((id) => !refusedIds.has(id));
    },
  };
}

/** Opens a file of accounts. @throws UsageError if the file cannot be read as a table */
async function openAccounts<T>(file: string, use: (values: AsyncIterator<unknown>) => Promise<T>): Promise<T> {
  const kind = extname(file);
  try {
    if (kind === '.csv')
      return await use(parseAccounts(parseAccountTable(await parseCsvRows(splitLines(createReadStream(file))))));
    if (kind === '.parquet')
      return await readParquet(createReadStream(file), (accounts) => use(parseAccounts(accounts)));
    if (kind === '.arrow') return await use(parseAccounts((await readArrow(createReadStream(file))).accounts));
    return await use(readValues(file));
  } catch (failure) {
    if (failure instanceof Refusal) throw new UsageError(`${file}: ${failure.message}`);
    throw failure;
  }
}

async function* parseAccounts(accounts: AsyncIterable<string>): AsyncGenerator<unknown> {
  for await (const text of accounts) yield JSON.parse(text);
}

async function* readValues(file: string): AsyncGenerator<unknown> {
  let number = 0;
  for await (const lineBytes of splitLines(createReadStream(file))) {
    number++;
    const text = lineBytes.toString();
    if (text.trim() === '') continue;
    const accountLine = parseLine(text, number);
    if ('finding' in accountLine) throw new UsageError(`${file}: ${accountLine.finding.message}`);
    yield accountLine.value;
  }
}

const HELP =
  (): string => `divisor batch template: Write a table of accounts with every column and two example accounts.

Usage: divisor batch template [--out FILE]

Columns
${formatTable(listAccountColumns().map(({ name, help }) => [name, help]))}
A row describes a lot. A row with a value in traded describes a recent trade. A row with the identifier CASH has the amount of cash in
shares. Write each column from cash on in one row of the account. Entries of a list are separated by /, and groups of substitutes
by //. A tilt is identifier=weight.
`;

/** Runs `divisor batch template`, which needs no service. */
export async function runBatchTemplate(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: { out: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help === true) process.stdout.write(HELP());
  else if (values.out === undefined) process.stdout.write(createAccountTemplate());
  else await writeWhole(values.out, [Buffer.from(createAccountTemplate())]);
  return 0;
}
