import type { DeskActionEffect } from '#clients/typescript/divisor.js';
import { formatBps } from '../../words/numbers.js';

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
