import { computeTax, type AccountProgram, type AccountRow } from '#kernels/lots/account-program.js';
import type { Account } from './account-request.js';
import type { BatchCommon } from './batch-common.js';
import { buildAccount, type BuiltAccount } from './build-account.js';
import type { WashWindow } from './wash-sales.js';
import {
  findAccountTrades,
  findNearestAccountTrades,
  findUntaxedAccountTrades,
  type FinderQuestion,
} from './find-trades.js';

/** Rule of an account that contradicts other rules. */
export interface Conflict {
  /** Id of a row, or the name of a field of the account or of the terms. */
  readonly rule: string;
  /**
   * Amount by which the rule must be relaxed if all other rules of the account are kept. It is a tracking error, a
   * weight, or money for the tax budget. For exclusions it is the excluded weight that must be kept. Null for a rule
   * without an amount, and if no amount suffices.
   */
  readonly amount: number | null;
  /** Weight that must be kept, by excluded security. */
  readonly weights?: Readonly<Record<string, number>>;
}

/** Price per unit of violation of the relaxed rule, higher than all other prices. */
const RELAXED_PENALTY = 10;
/** Largest amount that is a rounding error. */
const AMOUNT_MIN = 1e-7;
/** Maximum weight that counts as zero. */
const SMALLEST_WEIGHT = 1e-7;

/**
 * Returns a set of contradictory rules. If any rule of the set is dropped, there are trades that satisfy the others.
 */
export function listConflicts(common: BatchCommon, base: BuiltAccount): Conflict[] {
  const { account, rowIds } = base;
  // The first rules are dropped first if the remaining rules still contradict each other.
  const rules = [
    ...(common.terms.whole_shares ? ['whole_shares'] : []),
    ...(account.minimum_trade > 0 ? ['minimum_trade'] : []),
    ...(hasWashRules(account) ? ['tax.wash_sales'] : []),
    ...rowIds.filter((id) => id !== 'tax.budget').toReversed(),
    ...(account.exclusions.length > 0 ? ['exclusions'] : []),
    ...(account.tax.budget === null ? [] : ['tax.budget']),
    ...(account.tax.limit === null ? [] : ['tax.limit']),
    ...(account.tracking_error_limit === null ? [] : ['tracking_error_limit']),
  ];
  const remainingRules = new Set(rules);
  for (const rule of rules) {
    remainingRules.delete(rule);
    if (findAccountTrades(createQuestion(common, base, remainingRules)) === undefined) continue;
    remainingRules.add(rule);
  }
  return [...remainingRules].map((rule) => {
    const { amount, ...more } = computeRelaxation(common, base, { rule, rules });
    // Without a violation, the search found trades for the relaxed rules only: the amount is not known.
    return amount !== null && amount > AMOUNT_MIN ? { rule, amount, ...more } : { rule, amount: null };
  });
}

const hasWashRules = ({ recent, substitutes, tax }: Account): boolean =>
  recent.length > 0 || substitutes.length > 0 || tax.wash_sales === 'forbid';

/** Returns an account with only some of its rules, and perhaps a further row. */
function createQuestion(
  common: BatchCommon,
  { account, window, rowIds }: Pick<BuiltAccount, 'account' | 'window' | 'rowIds'>,
  remainingRules: ReadonlySet<string>,
  addedRow: AccountRow | null = null,
): FinderQuestion {
  const { terms } = common;
  const hasWashRule = remainingRules.has('tax.wash_sales') || !hasWashRules(account);
  return {
    common: { ...common, terms: { ...terms, whole_shares: terms.whole_shares && remainingRules.has('whole_shares') } },
    account: {
      ...account,
      minimum_trade: remainingRules.has('minimum_trade') ? account.minimum_trade : 0,
      exclusions: remainingRules.has('exclusions') ? account.exclusions : [],
      tracking_error_limit: remainingRules.has('tracking_error_limit') ? account.tracking_error_limit : null,
      substitutes: hasWashRule ? account.substitutes : [],
      tax: {
        ...account.tax,
        ...(!hasWashRule && { wash_sales: 'disallow' }),
        ...(!remainingRules.has('tax.limit') && { limit: null }),
      },
    },
    window: hasWashRule ? window : NO_TRADES,
    adapt: (program): AccountProgram => {
      const rows = program.rows.filter((_, j) => remainingRules.has(rowIds[j]!));
      return { ...program, rows: addedRow === null ? rows : [...rows, addedRow] };
    },
  };
}

/** Window of an account without earlier trades. */
const NO_TRADES: WashWindow = { trades: [], used: new Map() };

interface RelaxedRule {
  readonly rule: string;
  /** Names of all rules of the account. */
  readonly rules: readonly string[];
}

/** Returns the least amount by which a rule must be relaxed if all other rules are kept. */
function computeRelaxation(
  common: BatchCommon,
  base: BuiltAccount,
  { rule, rules }: RelaxedRule,
): Omit<Conflict, 'rule'> {
  const { account } = base;
  const otherRules = new Set(rules);
  otherRules.delete(rule);
  const question = createQuestion(common, base, otherRules);
  if (rule === 'tracking_error_limit') {
    const nearest = findNearestAccountTrades(question)?.figures;
    return { amount: nearest === undefined ? null : Math.sqrt(nearest.variance) - account.tracking_error_limit! };
  }
  const built = buildAccount(question.common, question.account, question.window);
  if (rule === 'tax.limit') {
    const nearest = findUntaxedAccountTrades(question, built.taxSides)?.figures;
    if (nearest === undefined) return { amount: null };
    return { amount: built.value * computeTax(built.taxSides, nearest.short, nearest.long) - account.tax.limit! };
  }
  const relaxedRow = rule === 'exclusions' ? createExcludedRow(common, built, account) : findRow(built, rule);
  if (relaxedRow === undefined) return { amount: null };
  const addedRow = { ...relaxedRow, penalty: RELAXED_PENALTY };
  const figures = findAccountTrades(createQuestion(common, base, otherRules, addedRow))?.figures;
  if (figures === undefined) return { amount: null };
  const amount = figures.violations.at(-1)! * (rule === 'tax.budget' ? built.value : 1);
  return rule === 'exclusions' ? { amount, weights: listRemainingWeights(common, built, figures.weights) } : { amount };

  function listRemainingWeights({ identifiers }: BatchCommon, { names }: BuiltAccount, weights: Float64Array) {
    const excludedIdentifiers = new Set(account.exclusions);
    const remainingWeights = names.flatMap((name, i) =>
      excludedIdentifiers.has(identifiers[name]!) && weights[i]! > SMALLEST_WEIGHT
        ? [[identifiers[name]!, weights[i]!] as const]
        : [],
    );
    return Object.fromEntries(remainingWeights);
  }
}

const findRow = ({ program, rowIds }: BuiltAccount, rule: string): AccountRow | undefined =>
  program.rows[rowIds.indexOf(rule)];

/** Returns a row that limits the weight of excluded securities to zero. */
function createExcludedRow(common: BatchCommon, { names }: BuiltAccount, { exclusions }: Account): AccountRow {
  const excludedIdentifiers = new Set(exclusions);
  const weights = Float64Array.from(names, (name) => Number(excludedIdentifiers.has(common.identifiers[name]!)));
  return { weights, short: 0, long: 0, cost: 0, constant: 0, penalty: RELAXED_PENALTY };
}
