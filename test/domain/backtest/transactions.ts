import type { Run } from '#domain/backtest/run.js';
import { runRecordJson } from './run-texts.js';

export interface TransactionRow {
  readonly date: string;
  readonly asset: string;
  readonly side: string;
  readonly price: number;
  readonly notional: number;
  readonly cost: number;
  readonly reason: string;
}

export function listPortfolioTransactions(run: Run): TransactionRow[] {
  const record = JSON.parse(
    new TextDecoder().decode(runRecordJson(run, { runAt: '', runHash: '', storeContentHash: '', engineVersion: '' })),
  );
  return record.portfolio.transactions.data.map(
    ([date, asset, side, , price, notional, cost, reason]: [
      string,
      string,
      string,
      number,
      number,
      number,
      number,
      string,
    ]) => ({
      date,
      asset,
      side,
      price,
      notional,
      cost,
      reason,
    }),
  );
}
