import { findNearestGrowth } from '#domain/index-mathematics/unexplained-growth.js';
import { ACTION_KINDS } from '#domain/market/market-data.js';
import type { SecurityHistory } from './name-history.js';
import type { AuditPanels } from './split-odds.js';

/**
 * Returns the growth of each bar that its actions leave unexplained. Splits whose date is wrong explain nothing on their
 * own bar.
 */
export function explainGrowths(
  { returns, rows, position, misdated }: SecurityHistory,
  { steps, width }: AuditPanels,
): Float64Array {
  const misdatedBars = new Set([...misdated].map(({ bar }) => bar));
  return returns.map((move, b) => {
    const step = misdatedBars.has(b) ? undefined : steps.get(rows[b]! * width + position);
    return step === undefined ? 1 + move : findNearestGrowth(step.growth);
  });
}

/**
 * Returns the bars of actions that change a price by an amount that the actions do not state, unless the move is larger
 * than they can explain.
 */
export function listStructuralBars(
  { actions, rows, position }: SecurityHistory,
  { steps, width }: AuditPanels,
): ReadonlySet<number> {
  const isExplained = (bar: number) => steps.get(rows[bar]! * width + position)?.isJump !== true;
  return new Set(
    actions
      .filter(({ action, bar }) => ACTION_KINDS[action.type] === 'structural' && isExplained(bar))
      .map(({ bar }) => bar),
  );
}
