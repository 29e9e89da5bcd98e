import type { ReconciliationView } from '#contract/analytics/reconciliation.js';
import { readRecord } from '#domain/backtest/run-file/record.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { RunRecord } from '#domain/backtest/record/schema.js';
import { panelRows } from '../panel-rows.js';
import type { Check } from './check.js';
import { contributionPass } from './contribution-checks.js';
import { levelChecks } from './level-checks.js';
import { portfolioChecks } from './portfolio-checks.js';
import { rebalanceChecks } from './rebalance-checks.js';
import { riskChecks, type MeasuredRisk } from './risk-checks.js';
import { weightPass } from './weight-checks.js';

/** Recorded hash and current state of a stored file of a run. */
export interface StoredFile {
  readonly name: string;
  readonly recorded: string;
  /** SHA-256 of the stored bytes; null if the file is missing. */
  readonly found: string | null;
}

/** Further inputs of a reconciliation. */
export interface Measured {
  /** Risk of the last holdings; null if it could not be measured. */
  readonly risk: MeasuredRisk | null;
  /** Called before the weights of a date are read. */
  readonly onDate?: () => void;
}

/**
 * Recomputes the identities of a stored run, and reports each identity with both sides.
 * @param filesOf called last, because other threads may still be hashing the files
 * @cost reads every weight and price of the run
 */
export function reconcileView(
  columns: RunColumns,
  filesOf: () => readonly StoredFile[],
  { risk, onDate = () => {} }: Measured = { risk: null },
): ReconciliationView {
  const record = columns.has('record') ? recordIn(columns) : null;
  const { weights, contributions } = panelChecks(columns, onDate);
  const computed = [
    ...(record ? [...levelChecks(columns, record), ...portfolioChecks(columns, record)] : []),
    ...(record === null && columns.has('record') ? [UNREADABLE] : []),
    ...weights,
    ...rebalanceChecks(columns),
    ...contributions,
    ...(risk ? riskChecks(risk) : []),
  ];
  const checks = [...filesOf().map(fileCheck), ...computed];
  return {
    index_id: columns.header.run_id,
    reconciles: checks.every(({ holds }) => holds),
    checks,
    not_compared: listUncheckedParts(columns),
  };
}

/** Returns notes on the checks that runs of earlier versions do not support. */
function listUncheckedParts(columns: RunColumns): string[] {
  return [
    ...(columns.has('record')
      ? []
      : ['The columns of version 0.1.0 have no record: metrics, positions, cash and transactions are not compared.']),
    ...(columns.has('breaks')
      ? []
      : ['Runs of version 0.1.0 do not store when trades happened: the drift of weights is not compared.']),
  ];
}

/** Returns the checks of the weights and contributions, computed in one pass over the weights. */
function panelChecks(
  columns: RunColumns,
  onDate: () => void,
): { readonly weights: Check[]; readonly contributions: Check[] } {
  const last = columns.header.dates - 1;
  const rows = panelRows(columns, 'weights', { from: 0, to: last });
  const contributions = contributionPass(columns, rows);
  const weights = weightPass(columns);
  for (let t = 0; t <= last; t++) {
    onDate();
    const row = rows.at(t);
    contributions.see(t, row);
    weights.see(t, row);
  }
  return { weights: weights.checks(), contributions: contributions.checks() };
}

function fileCheck({ name, recorded, found }: StoredFile): Check {
  return {
    name: `stored ${name}`,
    meaning: `The SHA-256 of the stored ${name} equals the hash recorded with the run.`,
    left: null,
    right: null,
    residual: found === recorded ? 0 : 1,
    tolerance: 0,
    holds: found === recorded,
  };
}

const UNREADABLE: Check = {
  name: 'record',
  meaning: 'The columns contain a readable record.',
  left: null,
  right: null,
  residual: 1,
  tolerance: 0,
  holds: false,
};

/**
 * Returns the record of a run. Returns null if the stored bytes are invalid, which the reconciliation reports as a
 * failed check.
 */
function recordIn(columns: RunColumns): RunRecord | null {
  try {
    return readRecord(columns);
  } catch {
    return null;
  }
}
