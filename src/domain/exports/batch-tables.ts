import { count, date, fraction, money, number, text, type ExportColumn } from './export-table.js';
import type { AccountOutcome, SolvedResult } from '../personal/solve-accounts.js';

/** Tables of the results of a batch as files. */
export const BATCH_TABLES = {
  accounts: {
    account_id: text('Id of the account.'),
    position: count('Position in the request, from 0.'),
    status: text('`optimal`, `feasible`, `infeasible` or `refused`.'),
    value: money('Value at the prices of the day.'),
    tracking_error: fraction('Annual tracking error after the trades.'),
    short_gain: money('Realised short-term gains.'),
    long_gain: money('Realised long-term gains.'),
    tax: money('Tax of the year after the trades.'),
    tax_saved: money('Tax saved compared with selling the oldest lots first.'),
    costs: money('Trading costs.'),
    trades: count('Number of trades.'),
    avoided_wash_sales: count('Trades that the wash sale rule prevented.'),
    one_more_bp_saves: money('Maximum saving in tax and costs if the tracking error limit is one basis point higher.'),
    gap: fraction('Gap of the certificate, as a fraction of the value.'),
    conflicts: text(
      'Conflicting rules of an infeasible account, separated by semicolons, with the amounts by which they must be relaxed.',
    ),
    findings: text('Reasons why the account was refused, separated by semicolons.'),
  },
  trades: {
    account_id: text('Id of the account.'),
    identifier: text('Security.'),
    side: text('`buy` or `sell`.'),
    shares: number('Number of shares.'),
    price: money('Price per share.'),
    value: money('Shares times price.'),
    lot: count('Position of the sold lot in the account.'),
    acquired: date('Day on which the lot was bought.'),
    cost: money('Cost basis per share.'),
    gain: money('Realised gain that is taxed.'),
    disallowed_loss: money('Loss added to the basis of the replacement.'),
    term: text('Holding period: `short` or `long`.'),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExportColumn>>>>;

export type BatchTable = keyof typeof BATCH_TABLES;
export const BATCH_TABLE_NAMES = Object.keys(BATCH_TABLES) as [BatchTable, ...BatchTable[]]; // Object.keys returns plain strings.

type Row = Readonly<Record<string, string | number | null>>;

/** Returns the rows of a table for consecutive accounts. @param first position of the first account in the batch */
export function createBatchRows(table: BatchTable, outcomes: readonly AccountOutcome[], first: number): readonly Row[] {
  return table === 'accounts'
    ? outcomes.map((outcome, at) => createAccountRow(outcome, first + at))
    : outcomes.flatMap((outcome) =>
        outcome.status === 'refused' || outcome.status === 'infeasible'
          ? []
          : outcome.trades.map((trade) => ({ ...trade, account_id: outcome.account_id }) as Row),
      );
}

/** Results of earlier versions lack the amounts. */
type ResultWithConflicts = Omit<SolvedResult, 'conflict_amounts'> & Partial<Pick<SolvedResult, 'conflict_amounts'>>;

function createAccountRow(outcome: AccountOutcome, position: number): Row {
  const { account_id, status } = outcome;
  if (outcome.status === 'refused')
    return { account_id, position, status, findings: outcome.findings.map(({ message }) => message).join('; ') };
  if (outcome.status === 'infeasible') {
    const { value, conflicts, conflict_amounts: amounts = {} } = outcome as ResultWithConflicts;
    const withAmounts = conflicts.map((rule) => {
      const amount = amounts[rule] ?? null;
      return amount === null ? rule : `${rule} by ${Number(amount.toPrecision(6))}`;
    });
    return { account_id, position, status, value, trades: 0, conflicts: withAmounts.join('; ') };
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
