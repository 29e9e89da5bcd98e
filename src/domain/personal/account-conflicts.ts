import type { AccountRow } from '#kernels/lots/account-program.js';
import type { Account } from './account-request.js';
import type { BatchCommon } from './batch-common.js';
import { buildAccount, type BuiltAccount } from './build-account.js';
import { findTrades, findNearestTrades } from './find-trades.js';

/** Rule of an account that cannot be kept together with the others. */
export interface Conflict {
  /** Id of a row, or the field of the account or of the terms. */
  readonly rule: string;
  /**
   * By how much the rule has to give if all other rules of the account stay: tracking error, weight, or money for the budget; for
   * exclusions, the weight that has to stay. Null for a rule without an amount, and where no amount suffices.
   */
  readonly amount: number | null;
  /** Weight that has to stay by excluded security. */
  readonly weights?: Readonly<Record<string, number>>;
}

/** Price of the rule that gives: above all others. */
const GIVING = 10;
/** Weight that counts as none. */
const SMALLEST_WEIGHT = 1e-7;

/**
 * Returns an irreducible set of rules of an account without permitted trades: without any one of them, there are trades that keep
 * the others of the set.
 */
export function listConflicts(common: BatchCommon, { account, rowIds }: BuiltAccount): Conflict[] {
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
    if (findTrades(programWith(common, account, kept).program) === undefined) continue;
    kept.add(rule);
  }
  return [...kept].map((rule) => ({ rule, ...givingOf(common, account, { rule, rules }) }));
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
  return { built, rows, program: { ...built.program, rows } };
}

interface Giving {
  readonly rule: string;
  /** All rules of the account. */
  readonly rules: readonly string[];
}

/** Returns the least amount by which a rule gives if all others are kept. */
function givingOf(common: BatchCommon, account: Account, { rule, rules }: Giving): Omit<Conflict, 'rule'> {
  const others = new Set(rules);
  others.delete(rule);
  const { built, program, rows } = programWith(common, account, others);
  if (rule === 'tracking_error_limit') {
    const nearest = findNearestTrades(program)?.figures;
    return { amount: nearest === undefined ? null : Math.sqrt(nearest.variance) - account.tracking_error_limit! };
  }
  const giving = rule === 'exclusions' ? createExcludedRow(common, built, account) : rowOf(built, rule);
  if (giving === undefined) return { amount: null };
  const figures = findTrades({ ...program, rows: [...rows, { ...giving, penalty: GIVING }] })?.figures;
  if (figures === undefined) return { amount: null };
  const amount = figures.violations.at(-1)! * (rule === 'tax.budget' ? built.value : 1);
  return rule === 'exclusions' ? { amount, weights: stayingIn(common, built, figures.weights) } : { amount };

  function stayingIn({ identifiers }: BatchCommon, { names }: BuiltAccount, weights: Float64Array) {
    const excluded = new Set(account.exclusions);
    const staying = names.flatMap((name, i) =>
      excluded.has(identifiers[name]!) && weights[i]! > SMALLEST_WEIGHT
        ? [[identifiers[name]!, weights[i]!] as const]
        : [],
    );
    return Object.fromEntries(staying);
  }
}

const rowOf = ({ program, rowIds }: BuiltAccount, rule: string): AccountRow | undefined =>
  program.rows[rowIds.indexOf(rule)];

/** Returns a row that is violated by the weight of excluded securities. */
function createExcludedRow(common: BatchCommon, { names }: BuiltAccount, { exclusions }: Account): AccountRow {
  const excluded = new Set(exclusions);
  const weights = Float64Array.from(names, (name) => Number(excluded.has(common.identifiers[name]!)));
  return { weights, short: 0, long: 0, cost: 0, constant: 0, penalty: GIVING };
}
