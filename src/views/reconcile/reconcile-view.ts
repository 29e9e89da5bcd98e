import type { ReconciliationView } from '#contract/analytics/reconciliation.js';
import { readRecord } from '#domain/backtest/run-file/record.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { RunRecord } from '#domain/backtest/record/schema.js';
import { openPanelRows } from '../panel-rows.js';
import type { Check } from './check.js';
import { createContributionPass } from './contribution-checks.js';
import { checkLevels } from './level-checks.js';
import { checkPortfolio } from './portfolio-checks.js';
import { checkRebalances } from './rebalance-checks.js';
import { checkRisk, type MeasuredRisk } from './risk-checks.js';
import { createWeightPass } from './weight-checks.js';

/** Stored file of a run: its recorded hash and its current hash. */
export interface StoredFile {
  readonly name: string;
  readonly recorded: string;
  /** SHA-256 of the stored bytes; null if the file is missing. */
  readonly found: string | null;
}

/** Further inputs of a reconciliation. */
export interface MeasuredRun {
  /** Risk of the last holdings; null if it could not be measured. */
  readonly risk: MeasuredRisk | null;
  /** Called before the weights of a date are read. */
  readonly onDate?: () => void;
}

/**
 * Checks a stored run by recomputing its identities. Reports each identity with both sides.
 * @param filesOf called last, because other threads may still be hashing the files
 * @cost reads every weight and price of the run
 */
export function createReconcileView(
  columns: RunColumns,
  filesOf: () => readonly StoredFile[],
  { risk, onDate = () => {} }: MeasuredRun = { risk: null },
): ReconciliationView {
  const record = columns.has('record') ? recordIn(columns) : null;
  const { weights, contributions } = checkPanels(columns, onDate);
  const namedChecks = [
    ...(record ? [...checkLevels(columns, record), ...checkPortfolio(columns, record)] : []),
    ...(record === null && columns.has('record') ? [UNREADABLE] : []),
    ...weights,
    ...checkRebalances(columns),
    ...contributions,
    ...(risk ? checkRisk(risk) : []),
  ];
  const checks = [...filesOf().map(checkFile), ...namedChecks];
  return {
    index_id: columns.header.run_id,
    reconciles: checks.every(({ holds }) => holds),
    checks,
    not_compared: listUncheckedParts(columns),
  };
}

/** Returns notes about checks that cannot be made for runs of earlier versions. */
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

/** Returns the checks of the weights and of the contributions. One pass over the weights computes both. */
function checkPanels(
  columns: RunColumns,
  onDate: () => void,
): { readonly weights: Check[]; readonly contributions: Check[] } {
  const last = columns.header.dates - 1;
  const rows = openPanelRows(columns, 'weights', { from: 0, to: last });
  const contributions = createContributionPass(columns, rows);
  const weights = createWeightPass(columns);
  for (let t = 0; t <= last; t++) {
    onDate();
    const row = rows.at(t);
    contributions.see(t, row);
    weights.see(t, row);
  }
  return { weights: weights.checks(), contributions: contributions.checks() };
}

function checkFile({ name, recorded, found }: StoredFile): Check {
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
 * Returns the record of a run. Returns null if the stored bytes are invalid; the reconciliation reports this as a
 * failed check.
 */
function recordIn(columns: RunColumns): RunRecord | null {
  try {
    return readRecord(columns);
  } catch {
    return null;
  }
}
