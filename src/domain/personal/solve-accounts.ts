import type { Finding } from '../refusals/findings.js';
import { listConflicts } from './account-conflicts.js';
import { createAccountResult, type AccountResult } from './account-result.js';
import type { BatchCommon } from './batch-common.js';
import { buildAccount } from './build-account.js';
import { listLotsAfter, type RemainingLot } from './lots-after.js';
import { readAccount } from './read-account.js';
import { solveOne } from './solve-one.js';

/** Account that was not solved, with the reasons. */
export interface RefusedAccount {
  /** Id of the account; null if it has no readable id. */
  readonly account_id: string | null;
  readonly status: 'refused';
  readonly findings: readonly Finding[];
}

/** Result with the lots after the trades; results of earlier versions lack these lots. */
export type SolvedResult = AccountResult & { readonly lots_after?: readonly RemainingLot[] | null };
export type AccountOutcome = SolvedResult | RefusedAccount;

/**
 * Solves an account, or reports why it cannot be solved. Invalid accounts never stop the batch.
 * @param path  path in the body
 * @param line  line of the body; null if accounts are not sent as lines
 */
export function solveOutcome(
  common: BatchCommon,
  value: unknown,
  path: string,
  line: number | null = null,
): AccountOutcome {
  const { account, findings } = readAccount(common, value, { path, line });
  if (account === undefined) return { account_id: readId(value), status: 'refused', findings };
  const builtAccount = buildAccount(common, account);
  const solved = solveOne(common, builtAccount);
  const conflicts = solved.answer.status === 'infeasible' ? listConflicts(common, builtAccount) : [];
  const result = createAccountResult(common, solved, conflicts);
  return { ...result, lots_after: listLotsAfter(common, builtAccount, result) };
}

function readId(value: unknown): string | null {
  const id = (value as { account_id?: unknown } | null)?.account_id;
  return typeof id === 'string' ? id.slice(0, 64) : null;
}
