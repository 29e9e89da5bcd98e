import type { IndexAction } from '#clients/typescript/divisor.js';
import { figure, inMoney } from './numbers.js';

const CASH: ReadonlySet<string> = new Set(['DIVIDEND', 'SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL']);
const SHARES: ReadonlySet<string> = new Set(['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE']);

/**
 * The value of a corporate action with its unit: `0.700800 a share`, `2 for 1`; others are bare ratios.
 * @param currency of cash, where it is known
 */
export function actionValue(type: IndexAction['type'], value: number, currency: string | null = null): string {
  if (CASH.has(type)) return `${inMoney(figure(value), currency)} a share`;
  return SHARES.has(type) ? `${figure(value)} for 1` : figure(value);
}
