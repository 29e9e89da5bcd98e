import { formatPrices } from '../base/numbers.js';
import { type Day, formatDay } from '../base/time.js';
import { adjustClose, combineEffects, computeEffect, computeGrowthStep, createSecurityTerms, NO_EFFECT, type SessionEffect } from './action-effects.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction } from './market-data.js';

/** Maximum difference of a growth from 1 without a warning, if no action explains the growth. */
export const JUMP_MAX = 0.5;

/** Minimum growth in addition to the effect of an action without a warning: the inverse of the maximum growth. */
const EXPLAINED_MIN = 1 / (1 + JUMP_MAX);

/** Maximum relative move of a close that does not reflect an action. */
const UNMOVED_MAX = 0.2;

/**
 * Limits between which a growth without actions is not a jump under any rounding. A product, which is cheaper than a
 * quotient, decides this for most bars.
 */
const ORDINARY_MIN = 1.01 - JUMP_MAX;
const ORDINARY_MAX = 0.99 + JUMP_MAX;

/** Terms under which a holder receives everything that an action pays. */
const WHOLE_RETURN = createSecurityTerms('total', '');

/** Closes of a security on two successive bars. */
export interface CloseStep {
  readonly before: number;
  readonly close: number;
  /** Actions that take effect after the first bar, up to the second, ascending by ex-date and without cancelled ones. */
  readonly actions: readonly CorporateAction[];
  readonly adjustment: Adjustment;
  /** Returns the price of the other security of an action in the currency of this one. Returns NaN if it is unknown. */
  readonly findRelatedPrice: (action: CorporateAction) => number;
}

/** Growth that remains in addition to the effect of actions. Both ends differ if an action states no amount. */
interface Growth {
  readonly low: number;
  readonly high: number;
}

export interface UnexplainedGrowth {
  /** Growth without cash, shares and rights, followed by that against each price that an ending action pays. */
  readonly growths: readonly Growth[];
  /** True if an action has an effect on the close. */
  readonly isAdjusted: boolean;
}

/**
 * Returns the growth from bar to bar that the actions in between leave unexplained: the return of a holder who receives
 * all cash, shares and rights, as an index computes it. A change of ticker explains no growth.
 */
export function computeUnexplainedGrowth(step: CloseStep): UnexplainedGrowth {
  const [low, high] = [computeGrowth(step, Math.min), computeGrowth(step, Math.max)];
  const ends = findEndingGrowths(step);
  const isAdjusted = ends.length > 0 || step.actions.some((action) => findEffect(step, action, Math.max) !== undefined);
  return { growths: [{ low, high }, ...ends], isAdjusted };
}

/** Returns true if a growth in addition to the effect of actions is so large that data or actions are probably wrong. */
export function isJump({ growths, isAdjusted }: UnexplainedGrowth): boolean {
  return growths.every(
    ({ low, high }) => low - 1 > JUMP_MAX || (isAdjusted ? high < EXPLAINED_MIN : 1 - high > JUMP_MAX),
  );
}

/** Returns true if a move without actions is so small that it is no jump. */
export const isOrdinaryMove = (before: number, close: number): boolean =>
  close > ORDINARY_MIN * before && close < ORDINARY_MAX * before;

export const isMoved = ({ before, close }: Pick<CloseStep, 'before' | 'close'>): boolean =>
  Math.abs(close / before - 1) > UNMOVED_MAX;

/** Returns the unexplained growth that is nearest to 1. */
export function findNearestGrowth({ growths }: UnexplainedGrowth): number {
  const nearest = growths.map(({ low, high }) => Math.min(Math.max(1, low), high));
  return nearest.reduce((best, growth) => (Math.abs(Math.log(growth)) < Math.abs(Math.log(best)) ? growth : best));
}

/** Returns the smaller or larger of two effects that are both consistent with an action. */
type Choice = (effect: number, otherEffect: number) => number;

function computeGrowth(step: CloseStep, choose: Choice): number {
  const { before, close, actions } = step;
  let [carried, factor, effect, exDay] = [before, 1, NO_EFFECT, actions[0]?.exDay];
  for (const action of actions) {
    if (action.exDay !== exDay) {
      factor *= computeGrowthStep(effect, carried, Number.NaN).factor;
      [carried, effect, exDay] = [adjustClose(effect, carried), NO_EFFECT, action.exDay];
    }
    effect = combineEffects(effect, findEffect(step, action, choose) ?? NO_EFFECT);
  }
  return factor * computeGrowthStep(effect, carried, close).factor;
}

function findEffect(
  { close, adjustment, findRelatedPrice }: CloseStep,
  action: CorporateAction,
  choose: Choice,
): SessionEffect | undefined {
  if (adjustment === 'total') return undefined;
  const { type, value, subscriptionPrice } = action;
  // Rights without a price are worth between nothing and their whole share of the close.
  if (type === 'RIGHTS_ISSUE' && subscriptionPrice === null) return { ...NO_EFFECT, cash: choose(0, value * close) };
  if (type !== 'SPIN_OFF') return computeEffect(action, adjustment, WHOLE_RETURN, 0);
  const worth = value * findRelatedPrice(action);
  if (Number.isNaN(worth)) return { ...NO_EFFECT, cash: choose(0, Number.POSITIVE_INFINITY) };
  // Vendors differ in whether closes that are adjusted for splits are adjusted for spin-offs.
  return { ...NO_EFFECT, cash: adjustment === 'splits' ? choose(0, worth) : worth };
}

/** Returns the growths in relation to the payments of actions that end the security. */
function findEndingGrowths({ before, close, actions, findRelatedPrice }: CloseStep): Growth[] {
  return actions.flatMap((action) => {
    const { type, value, cash = 0 } = action;
    const isPaid = type === 'DELISTING' || (type === 'ACQUISITION' && value > 0);
    if (!isPaid && type !== 'MERGER') return [];
    const worth = isPaid ? value : value * findRelatedPrice(action) + cash;
    if (Number.isNaN(worth)) return [{ low: 0, high: Number.POSITIVE_INFINITY }];
    // A delisting without a payment explains every fall.
    if (worth === 0) return [{ low: close / before, high: Number.POSITIVE_INFINITY }];
    return [{ low: close / worth, high: close / worth }];
  });
}

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
