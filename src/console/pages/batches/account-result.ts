import type { BatchAccount } from '#clients/typescript/divisor.js';
import { labelOf } from '../../words/labels.js';
import { bps, decimal, percent } from '../../words/numbers.js';

/** Members of a result that the contract leaves open. */
export interface Account extends BatchAccount {
  readonly short_gain?: number;
  readonly long_gain?: number;
  readonly tracking_error_before?: number;
  readonly one_more_bp_saves?: number;
  readonly weights?: Readonly<Record<string, number>>;
  readonly shadow_prices?: { readonly tracking_error_bp: number; readonly rows: Readonly<Record<string, number>> };
  readonly deviations?: {
    readonly variance_by_reason: Readonly<Record<string, number>>;
    readonly largest: readonly Deviation[];
  };
}

export interface Deviation {
  readonly identifier: string;
  readonly active_weight: number;
  readonly variance_share: number;
  readonly reason: string;
}

/** Returns true if the trades of an account satisfy its limits. */
export const hasSolution = ({ status }: Account): boolean => status !== 'infeasible' && status !== 'refused';

/** Gap up to which an account is called optimal: a hundredth of a basis point of its value. */
export const GAP_MIN = 1e-6;

/** Returns the status of an account in words: an account with a gap is as near to its optimum as proved. */
export function statusText({ status, certificate }: Account): string {
  if (status !== 'feasible' || certificate === undefined) return status;
  return certificate.gap <= GAP_MIN ? 'optimal' : `within ${bps(certificate.gap)}`;
}

const RULES: Readonly<Record<string, string>> = {
  'tax.budget': 'Budget of net gains',
  'tax.wash_sales': 'Wash sales',
  cash_minimum: 'Minimum cash',
  cash_maximum: 'Maximum cash',
};

/** Returns a rule of an account in words. */
export const ruleText = (rule: string): string => RULES[rule] ?? labelOf(rule);

/** Rules that hold or do not hold. */
const WITHOUT_AMOUNT: ReadonlySet<string> = new Set(['whole_shares', 'minimum_trade', 'tax.wash_sales']);

/** Excluded securities that a conflict names. */
const EXCLUSIONS_SHOWN = 5;

/** Returns a conflicting rule with the amount by which it has to give: `Exclusions: 4.917% has to stay (VAJM 4.917%)`. */
export function conflictText(
  { conflict_amounts: amounts, conflict_exclusions: staying }: Account,
  rule: string,
): string {
  const amount = amounts?.[rule] ?? null;
  if (amount === null) return WITHOUT_AMOUNT.has(rule) ? ruleText(rule) : `${ruleText(rule)}: no amount suffices`;
  const own = rule === 'tax.budget' ? decimal(amount) : percent(amount, 3);
  if (rule !== 'exclusions') return `${ruleText(rule)}: ${own} more`;
  const all = Object.entries(staying ?? {}).toSorted((a, b) => b[1] - a[1]);
  const names = all.slice(0, EXCLUSIONS_SHOWN).map(([name, weight]) => `${name} ${percent(weight, 3)}`);
  const others = all.length - names.length;
  const list = [...names, ...(others > 0 ? [`${others} more`] : [])].join(', ');
  return `${ruleText(rule)}: ${own} has to stay${list === '' ? '' : ` (${list})`}`;
}

/** Returns true if the trades of an infeasible account are rounded: no permitted trades were found, which is no proof. */
export const isRounded = ({ conflicts = [] }: Account): boolean =>
  conflicts.includes('whole_shares') || conflicts.includes('minimum_trade');
