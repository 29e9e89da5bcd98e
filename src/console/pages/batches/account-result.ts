import type { BatchAccount } from '#clients/typescript/divisor.js';
import { formatLabel } from '../../words/labels.js';
import { formatBps, formatDecimal, formatPercent } from '../../words/numbers.js';

/** Account with members of its result that the contract does not describe. */
export interface Account extends BatchAccount {
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

/** Returns true if the optimiser found trades that satisfy the limits of the account. */
export const hasSolution = ({ status }: Pick<BatchAccount, 'status'>): boolean =>
  status !== 'infeasible' && status !== 'refused';

/**
 * Maximum optimality gap at which an account counts as optimal. It is 0.01 basis points of the value of the account.
 */
export const GAP_MIN = 1e-6;

/** Formats the status of an account. If its trades are feasible but not optimal, the optimality gap is added. */
export function formatStatus({ status, certificate }: Account): string {
  if (status !== 'feasible' || certificate === undefined) return status;
  return certificate.gap <= GAP_MIN ? 'optimal' : `within ${formatBps(certificate.gap)}`;
}

const RULES: Readonly<Record<string, string>> = {
  'tax.budget': 'Budget of net gains',
  'tax.limit': 'Limit of the tax',
  'tax.wash_sales': 'Wash sales',
  cash_minimum: 'Minimum cash',
  cash_maximum: 'Maximum cash',
};

/** Returns the label of a rule of an account. */
export const formatRule = (rule: string): string => RULES[rule] ?? formatLabel(rule);

/** Rules that cannot be relaxed by an amount. */
const WITHOUT_AMOUNT: ReadonlySet<string> = new Set(['whole_shares', 'minimum_trade', 'tax.wash_sales']);

/** Maximum number of excluded securities listed in a conflict. */
const EXCLUSIONS_SHOWN = 5;

/**
 * Formats a rule that is part of a conflict, with the amount by which it must be relaxed, for example `Exclusions:
 * 4.917% has to stay (VAJM 4.917%)`.
 */
export function formatConflict(
  { conflict_amounts: amounts, conflict_exclusions: staying }: Account,
  rule: string,
): string {
  const amount = amounts?.[rule] ?? null;
  if (amount === null) return WITHOUT_AMOUNT.has(rule) ? formatRule(rule) : `${formatRule(rule)}: no amount suffices`;
  const amountText = rule === 'tax.budget' || rule === 'tax.limit' ? formatDecimal(amount) : formatPercent(amount, 3);
  if (rule !== 'exclusions') return `${formatRule(rule)}: ${amountText} more`;
  const all = Object.entries(staying ?? {}).toSorted((a, b) => b[1] - a[1]);
  const names = all.slice(0, EXCLUSIONS_SHOWN).map(([name, weight]) => `${name} ${formatPercent(weight, 3)}`);
  const otherCount = all.length - names.length;
  const list = [...names, ...(otherCount > 0 ? [`${otherCount} more`] : [])].join(', ');
  return `${formatRule(rule)}: ${amountText} has to stay${list === '' ? '' : ` (${list})`}`;
}

/**
 * Returns true if the trades of an infeasible account are rounded. No permitted trades were found, but it is not proved
 * that there are none.
 */
export const isRounded = ({ conflicts = [] }: Account): boolean =>
  conflicts.includes('whole_shares') || conflicts.includes('minimum_trade');
