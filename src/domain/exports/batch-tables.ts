import {
  countColumn,
  createDateColumn,
  createFractionColumn,
  createMoneyColumn,
  createNumberColumn,
  createTextColumn,
  type ExportColumn,
} from './export-table.js';
import type { AccountOutcome, SolvedResult } from '../personal/solve-accounts.js';

/** Tables of the results of a batch as files. */
export const BATCH_TABLES = {
  accounts: {
    account_id: createTextColumn('Id of the account.'),
    position: countColumn('Position in the request, from 0.'),
    status: createTextColumn('`optimal`, `feasible`, `infeasible` or `refused`.'),
    value: createMoneyColumn('Value at the prices of the day.'),
    tracking_error: createFractionColumn('Annual tracking error after the trades.'),
    short_gain: createMoneyColumn('Realised short-term gains.'),
    long_gain: createMoneyColumn('Realised long-term gains.'),
    disallowed_loss: createMoneyColumn('Losses that the wash sale rule adds to the basis of other shares.'),
    tax: createMoneyColumn('Tax of the year after the trades.'),
    tax_saved: createMoneyColumn('Tax saved compared with selling the oldest lots first.'),
    costs: createMoneyColumn('Trading costs.'),
    trades: countColumn('Number of trades.'),
    avoided_wash_sales: countColumn('Trades that the wash sale rule prevented.'),
    one_more_bp_saves: createMoneyColumn(
      'Maximum saving in tax and costs if the tracking error limit is one basis point higher.',
    ),
    gap: createFractionColumn('Gap of the certificate, as a fraction of the value.'),
    conflicts: createTextColumn(
      'Conflicting rules of an infeasible account, separated by semicolons, with the amounts by which they must be relaxed.',
    ),
    findings: createTextColumn('Reasons why the account was refused, separated by semicolons.'),
  },
  trades: {
    account_id: createTextColumn('Id of the account.'),
    identifier: createTextColumn('Security.'),
    side: createTextColumn('`buy` or `sell`.'),
    shares: createNumberColumn('Number of shares.'),
    price: createMoneyColumn('Price per share.'),
    value: createMoneyColumn('Shares times price.'),
    lot: countColumn('Position of the sold lot in the account.'),
    acquired: createDateColumn('Day on which the lot was bought.'),
    cost: createMoneyColumn('Cost basis per share.'),
    gain: createMoneyColumn('Realised gain that is taxed; 0 if the loss is disallowed.'),
    disallowed_loss: createMoneyColumn('Loss added to the basis of the replacement.'),
    term: createTextColumn('Holding period: `short` or `long`.'),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExportColumn>>>>;

export type BatchTable = keyof typeof BATCH_TABLES;
export const BATCH_TABLE_NAMES = Object.keys(BATCH_TABLES) as [BatchTable, ...BatchTable[]]; // Object.keys returns plain strings.

type Row = Readonly<Record<string, string | number | null>>;

/** Returns the rows of a table for consecutive accounts. @param first position of the first account in the batch */
export function createBatchRows(table: BatchTable, outcomes: readonly AccountOutcome[], first: number): readonly Row[] {
  return table === 'accounts'
    ? outcomes.map((outcome, position) => createAccountRow(outcome, first + position))
    : outcomes.flatMap((outcome) =>
        outcome.status === 'refused' || outcome.status === 'infeasible'
          ? []
          : outcome.trades.map((trade) => ({ ...trade, account_id: outcome.account_id }) as Row),
      );
}

/** Infeasible result. Results of earlier versions lack `conflict_amounts`. */
type ResultWithConflicts = Omit<SolvedResult, 'conflict_amounts'> & Partial<Pick<SolvedResult, 'conflict_amounts'>>;

function createAccountRow(outcome: AccountOutcome, position: number): Row {
  const { account_id, status } = outcome;
  if (outcome.status === 'refused')
    return { account_id, position, status, findings: outcome.findings.map(({ message }) => message).join('; ') };
  if (outcome.status === 'infeasible') {
    const { value, conflicts, conflict_amounts: amounts = {} } = outcome as ResultWithConflicts;
    const conflictTexts = conflicts.map((rule) => {
      const amount = amounts[rule] ?? null;
      return amount === null ? rule : `${rule} by ${Number(amount.toPrecision(6))}`;
    });
    return { account_id, position, status, value, trades: 0, conflicts: conflictTexts.join('; ') };
  }
  const { trades, avoided_wash_sales, certificate, conflicts, ...rest } = outcome;
  return {
    ...(rest as unknown as Row), // only the columns of the table are used
    position,
    trades: trades.length,
    avoided_wash_sales: avoided_wash_sales.length,
    gap: certificate.gap,
    conflicts: conflicts.join('; '),
  };
}
