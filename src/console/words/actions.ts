import type { IndexAction } from '#clients/typescript/divisor.js';
import { formatAtMost, figure, formatMoney } from './numbers.js';

const CASH: ReadonlySet<string> = new Set([
  'DIVIDEND',
  'SPECIAL_DIVIDEND',
  'RETURN_OF_CAPITAL',
  'DELISTING',
  'SILENT_DELISTING',
  'ACQUISITION',
]);
/** Types of actions that distribute additional shares. */
export const SHARES: ReadonlySet<string> = new Set(['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE']);

/** Maximum number of decimals of amounts and ratios, as in the data. */
const DIGITS = 6;

/**
 * Formats the value of a corporate action with its unit, for example `0.7008 a share` or `2 for 1`. Other types have
 * ratios without a unit.
 * @param currency currency of a cash amount; null if unknown
 */
export function actionValue(type: IndexAction['type'], value: number | null, currency: string | null = null): string {
  if (value === null) return figure(value);
  if (CASH.has(type)) return `${formatMoney(formatAtMost(value, DIGITS), currency)} a share`;
  if (type === 'RIGHTS_ISSUE') return `${formatAtMost(value, DIGITS)} new for 1`;
  return SHARES.has(type) ? `${formatAtMost(value, DIGITS)} for 1` : figure(value);
}
