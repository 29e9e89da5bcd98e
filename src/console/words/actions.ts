import type { CorporateAction, DeskAction, IndexAction } from '#clients/typescript/divisor.js';
import { formatAtMost, formatFigure, formatMoney } from './numbers.js';

/** Types of actions that pay cash while the security stays listed. */
const PAID_TYPES: ReadonlySet<string> = new Set(['DIVIDEND', 'SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL']);
/** Types of actions whose value is an amount of cash per share. */
const CASH_TYPES: ReadonlySet<string> = new Set([...PAID_TYPES, 'DELISTING', 'SILENT_DELISTING', 'ACQUISITION']);
/** Types of actions that distribute additional shares. */
export const SHARE_TYPES: ReadonlySet<string> = new Set(['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE']);

/** Types of actions whose value is a number of shares of another security for each share. */
const EXCHANGE_TYPES: ReadonlySet<string> = new Set(['MERGER', 'SPIN_OFF']);

/** Maximum number of decimals of amounts and ratios, as in the data. */
const DIGITS = 6;
/** Minimum number of decimals of an amount. The amounts of a column are then aligned. */
const AMOUNT_DIGITS = 4;

/**
 * Formats the value of a corporate action with its unit, for example `0.7008 a share` or `2 for 1`. For other types,
 * the value is a ratio without a unit.
 * @param currency currency of a cash amount; null if unknown
 */
export function formatActionValue(
  type: IndexAction['type'],
  value: number | null,
  currency: string | null = null,
): string {
  if (value === null) return formatFigure(value);
  if (CASH_TYPES.has(type)) return `${formatMoney(formatAtMost(value, DIGITS, AMOUNT_DIGITS), currency)} a share`;
  if (type === 'RIGHTS_ISSUE') return `${formatAtMost(value, DIGITS)} new for 1`;
  if (EXCHANGE_TYPES.has(type)) return `${formatAtMost(value, DIGITS)} shares for 1`;
  return SHARE_TYPES.has(type) ? `${formatAtMost(value, DIGITS)} for 1` : formatFigure(value);
}

/** Formats a type of action, for example `Special dividend` for SPECIAL_DIVIDEND. */
export const formatType = (type: IndexAction['type']): string =>
  `${type.charAt(0)}${type.slice(1).toLowerCase().replaceAll('_', ' ')}`;

/** Returns the status of an action in words. Only a payment is paid; another action is in effect. */
export const formatStatus = ({ type, status }: Pick<CorporateAction, 'type' | 'status'>): string | null =>
  status === 'paid' && !PAID_TYPES.has(type) ? 'in effect' : status;

/** Returns true for an action that needs a decision: it is new, or its terms changed after the decision. */
export const isUndecided = ({ state }: Pick<DeskAction, 'state'>): boolean => state === 'new' || state === 'amended';

/**
 * Returns true for an undecided action whose ex-date has passed.
 * @param today current UTC date
 */
export const isOverdue = (action: Pick<DeskAction, 'state' | 'ex_date'>, today: string): boolean =>
  isUndecided(action) && action.ex_date < today;
