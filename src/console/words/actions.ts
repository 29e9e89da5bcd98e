import type { IndexAction } from '#clients/typescript/divisor.js';
import { figure } from './numbers.js';

const CASH: ReadonlySet<string> = new Set(['DIVIDEND', 'SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL']);
const SHARES: ReadonlySet<string> = new Set(['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE']);

/** The value of a corporate action with its unit: `0.700800 a share`, `2 for 1`; others are bare ratios. */
export function actionValue(type: IndexAction['type'], value: number): string {
  if (CASH.has(type)) return `${figure(value)} a share`;
  return SHARES.has(type) ? `${figure(value)} for 1` : figure(value);
}
