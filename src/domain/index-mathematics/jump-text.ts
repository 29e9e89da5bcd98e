import { ACTION_KINDS } from '../market/market-data.js';
import { formatPrices } from '../numbers/price-text.js';
import { formatDay, type Day } from '../time/days.js';
import { computeUnexplainedGrowth, isJump, type CloseStep, type UnexplainedGrowth } from './unexplained-growth.js';

export interface DatedStep extends CloseStep {
  /** Days of both bars. */
  readonly fromDay: Day;
  readonly toDay: Day;
  /** Code of the second bar, if a change of ticker gave the security another one. */
  readonly renamedTo?: string;
}

/** Describes a move of a close that its actions do not explain. */
export function describeJump(step: DatedStep, { growths, isAdjusted }: UnexplainedGrowth): string {
  const { before, close, actions, fromDay, toDay, renamedTo } = step;
  const [beforeText, closeText] = formatPrices([before, close]);
  const move = `CLOSE went from ${beforeText} on ${formatDay(fromDay)} to ${closeText}${renamedTo === undefined ? '' : ` of ${renamedTo}`} on ${formatDay(toDay)}`;
  if (actions.length === 0) return `${move} without a corporate action in between.`;
  const list = actions.map(
    ({ type, value, exDay, related }) =>
      `${type}${type === 'TICKER_CHANGE' ? ` to ${related}` : ` of ${value}`} on ${formatDay(exDay)}`,
  );
  const [{ low, high }] = growths as [UnexplainedGrowth['growths'][number]];
  const impliedText =
    low === high && low > 0 && isAdjusted
      ? `which implies ${formatPrices([findImpliedClose(step, low)])[0]}`
      : 'which does not explain it';
  return `${move} with ${list.join(' and ')}, ${impliedText}.${suggestInverse(step)}`;
}

/** Returns the close at which actions explain the whole move. The growth is linear in the close. */
function findImpliedClose(step: CloseStep, growth: number): number {
  const paid = computeUnexplainedGrowth({ ...step, close: 0 }).growths[0]!.low;
  return (step.close * (1 - paid)) / (growth - paid);
}

/** Suggests the inverse of the ratio of a split if it explains the move. */
function suggestInverse(step: CloseStep): string {
  const [action] = step.actions;
  if (step.actions.length !== 1 || action === undefined || ACTION_KINDS[action.type] !== 'ratio') return '';
  const ratio = 1 / action.value;
  const isExplained = !isJump(computeUnexplainedGrowth({ ...step, actions: [{ ...action, value: ratio }] }));
  return isExplained ? ` A ratio of ${Number(ratio.toPrecision(12))} explains the move.` : '';
}
