import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { Account } from '#domain/personal/account-request.js';
import type { AccountOutcome } from '#domain/personal/solve-accounts.js';
import { commonFrom, verifyResult, type CommonJson } from '#domain/personal/verify-result.js';
import { UsageError } from './usage-error.js';

export const VERIFY_BATCH_HELP = `divisor verify-batch ACCOUNTS RESULTS COMMON

Verifies the results of a batch without the solver and without a service: trades are possible, figures follow from the trades, and the
multipliers of each certificate prove its bound.

  ACCOUNTS  Accounts as lines of JSON, as sent; a first line with terms is skipped.
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
  const known = commonFrom(JSON.parse(await readFile(common, 'utf8')) as CommonJson);
  const byId = new Map(
    (await linesOf(accounts))
      .map((value) => Account.safeParse(value).data)
      .flatMap((account) => (account === undefined ? [] : [[account.account_id, account] as const])),
  );
  let [verified, refused, wrong] = [0, 0, 0];
  for (const value of await linesOf(results)) {
    const outcome = value as AccountOutcome; // as the service wrote it; wrong figures are what this command finds
    const account = outcome.account_id === null ? undefined : byId.get(outcome.account_id);
    if (outcome.status === 'refused') {
      refused++;
      continue;
    }
    const faults = account === undefined ? ['no such account in ACCOUNTS'] : verifyResult(known, account, outcome);
    for (const fault of faults) process.stdout.write(`${outcome.account_id}: ${fault}\n`);
    if (faults.length > 0) wrong++;
    else verified++;
  }
  process.stdout.write(`${verified} results verified, ${wrong} wrong, ${refused} accounts refused\n`);
  return wrong > 0 ? EXIT_WRONG : 0;
}

async function linesOf(file: string): Promise<unknown[]> {
  const text = await readFile(file, 'utf8');
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line) as unknown]));
}
