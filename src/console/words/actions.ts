import type { CorporateAction, DeskAction, DeskActionEffect, IndexAction } from '#clients/typescript/divisor.js';
import { formatAtMost, formatBps, formatFigure, formatMoney, MISSING_TEXT } from './numbers.js';

/** Returns the part of the level that each return variant reinvests. Returns nothing for an action without a dividend. */
export function listReturns(effect: DeskActionEffect): readonly (readonly [term: string, text: string])[] {
  const { dividend_return: total = null, net_dividend_return: net = null } = effect;
  if (total === null) return [];
  const netText = net === null || net === total ? '' : `, ${formatBps(net)} net of tax`;
  return [
    ['Total return', `${formatBps(total)} reinvested${netText}`],
    ['Price return', 'no effect'],
  ];
}

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

type Value = number | null;

/**
 * Formats a value before and after an event, for example `1.25 → 1.5`. If both are formatted alike, the relative change
 * is added in basis points, or `unchanged` if it rounds to zero.
 */
export function describeValueChange(before: Value, after: Value, write: (value: Value) => string): string {
  const [from, to] = [write(before), write(after)];
  if (from !== to) return `${from} → ${to}`;
  if (before === null || after === null) return MISSING_TEXT;
  return `${from}, ${describeSmall(before === 0 ? 0 : after / before - 1)}`;
}

/** Returns true if two values differ by more than rounding, or if only one of them is known. */
export const isChanged = (before: Value, after: Value): boolean =>
  before === null || after === null || before === 0 ? before !== after : Math.abs(after / before - 1) >= SMALLEST;

/** Smallest fraction that is not zero with two decimals of a basis point. */
const SMALLEST = 0.005e-4;

const describeSmall = (change: number): string => {
  if (Math.abs(change) < SMALLEST) return 'unchanged';
  return `${change > 0 ? '+' : ''}${formatBps(change)}`;
};
