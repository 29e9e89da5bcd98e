import type { AccountProgram, AccountRow } from '#kernels/lots/account-program.js';
import { solveAccount } from '#kernels/lots/solve-account.js';
import type { Account } from './account-request.js';
import type { BatchCommon } from './batch-common.js';
import { buildAccount, type BuiltAccount } from './build-account.js';

/** Rule of an account that cannot be kept together with the others. */
export interface Conflict {
  /** Id of a row, or the field of the account or of the terms. */
  readonly rule: string;
  /**
   * By how much the rule has to give if the others stay: tracking error, weight, or money for the budget; for exclusions, the weight
   * that has to stay. Null for a rule without an amount.
   */
  readonly amount: number | null;
}

/** Weights of the objective in a search for feasible trades: nothing else matters. */
const SEARCH = { taxWeight: 1e-3, aversion: 1 } as const;
/** Weight of the variance in a search for the lowest tracking error. */
const NEAREST = 1000;
/** Price of the rule that gives: above all others. */
const GIVING = 10;

/**
 * Returns an irreducible set of rules of an account without permitted trades: without any one of them, there are trades that keep
 * the others of the set.
 */
export function conflictsOf(common: BatchCommon, { account, rowIds }: BuiltAccount): Conflict[] {
  // The first of these are dropped first, where the others conflict without them.
  const rules = [
    ...(common.terms.whole_shares ? ['whole_shares'] : []),
    ...(account.minimum_trade > 0 ? ['minimum_trade'] : []),
    ...(account.recent.length > 0 || account.tax.wash_sales === 'forbid' ? ['tax.wash_sales'] : []),
    ...rowIds.filter((id) => id !== 'tax.budget').toReversed(),
    ...(account.exclusions.length > 0 ? ['exclusions'] : []),
    ...(account.tax.budget === null ? [] : ['tax.budget']),
    ...(account.tracking_error_limit === null ? [] : ['tracking_error_limit']),
  ];
  const kept = new Set(rules);
  for (const rule of rules) {
    kept.delete(rule);
    if (solve(programWith(common, account, kept).program) === undefined) continue;
    kept.add(rule);
  }
  return [...kept].map((rule) => ({ rule, amount: amountOf(common, account, { rule, kept }) }));
}

/** Returns figures of trades that keep the rows of a program; undefined if there are none. */
function solve(program: AccountProgram) {
  const { status, figures } = solveAccount(program, { nodes: 0 });
  return status === 'infeasible' ? undefined : figures;
}

/** Builds an account that keeps some rules only. */
function programWith(common: BatchCommon, account: Account, kept: ReadonlySet<string>) {
  const { terms } = common;
  const built = buildAccount(
    { ...common, terms: { ...terms, whole_shares: terms.whole_shares && kept.has('whole_shares') } },
    {
      ...account,
      minimum_trade: kept.has('minimum_trade') ? account.minimum_trade : 0,
      exclusions: kept.has('exclusions') ? account.exclusions : [],
      tracking_error_limit: kept.has('tracking_error_limit') ? account.tracking_error_limit : null,
      ...(!kept.has('tax.wash_sales') && { recent: [], tax: { ...account.tax, wash_sales: 'disallow' } }),
    },
  );
  const rows = built.program.rows.filter((_, j) => kept.has(built.rowIds[j]!));
  return { built, rows, program: { ...built.program, ...SEARCH, rows } };
}

interface Giving {
  readonly rule: string;
  readonly kept: ReadonlySet<string>;
}

/** Returns the least amount by which a rule gives if the others of the set are kept. */
function amountOf(common: BatchCommon, account: Account, { rule, kept }: Giving): number | null {
  const others = new Set(kept);
  others.delete(rule);
  const { built, program, rows } = programWith(common, account, others);
  if (rule === 'tracking_error_limit') {
    const nearest = solve({ ...program, aversion: NEAREST });
    return nearest === undefined ? null : Math.sqrt(nearest.variance) - account.tracking_error_limit!;
  }
  const giving = rule === 'exclusions' ? excludedRow(common, built, account) : rowOf(built, rule);
  if (giving === undefined) return null;
  const figures = solve({ ...program, rows: [...rows, { ...giving, penalty: GIVING }] });
  if (figures === undefined) return null;
  return figures.violations.at(-1)! * (rule === 'tax.budget' ? built.value : 1);
}

const rowOf = ({ program, rowIds }: BuiltAccount, rule: string): AccountRow | undefined =>
  program.rows[rowIds.indexOf(rule)];

/** Returns a row that is violated by the weight of excluded securities. */
function excludedRow(common: BatchCommon, { names }: BuiltAccount, { exclusions }: Account): AccountRow {
  const excluded = new Set(exclusions);
  const weights = Float64Array.from(names, (name) => Number(excluded.has(common.identifiers[name]!)));
  return { weights, short: 0, long: 0, cost: 0, constant: 0, penalty: GIVING };
}
