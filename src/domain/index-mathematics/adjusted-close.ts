import type { GrowthTerms } from './growth-terms.js';
import type { SessionEffect } from './session-effect.js';

/**
 * Returns the previous close on the basis of a session: after splits, minus special dividends, at the theoretical
 * ex-rights price.
 * @source S&P DJI, Index Mathematics Methodology: corporate actions and index adjustments
 */
export function adjustClose(effect: SessionEffect, before: number): number {
  const { ratio, rights, subscription } = effect;
  const split = before / ratio - computeReduction(effect, before);
  return rights === 0 ? split : (split + rights * subscription) / (1 + rights);
}

/**
 * Returns the special dividend that reduces the previous close. A dividend larger than the close counts as a return
 * instead.
 */
function computeReduction({ ratio, special }: SessionEffect, before: number): number {
  return special < before / ratio ? special : 0;
}

/**
 * Returns the price of a security that has no bar on the session of an effect. Without a bar, the fall of the price is
 * the value of the distributed shares. A value that is not smaller than the price reduces nothing.
 */
export function carryClose(effect: SessionEffect, before: number): number {
  const adjustedClose = adjustClose(effect, before);
  const distributed = effect.spunOff + effect.detached;
  return distributed < adjustedClose ? adjustedClose - distributed : adjustedClose;
}

/**
 * Returns the return of a security over a session with an effect, including dividends of the return variant.
 * @param before carried close of the previous session, on the share basis of that session
 * @param bar close of the session, NaN without a bar
 */
export function computeGrowthStep(
  effect: SessionEffect,
  before: number,
  bar: number,
): { readonly factor: number; readonly carried: number } {
  const { ratio, rights, special, income, spunOff } = effect;
  const adjustedClose = adjustClose(effect, before);
  const paid = computeKeptCash(effect, before) + income;
  if (bar !== bar) {
    const carried = carryClose(effect, before);
    const held = effect.detached > 0 ? carried : adjustedClose;
    return { factor: held / adjustedClose + paid / adjustedClose, carried };
  }
  if (spunOff !== spunOff) return { factor: 1 + paid / adjustedClose, carried: bar };
  const cash = paid + spunOff;
  const isSplitAlone = rights === 0 && special === 0;
  return { factor: isSplitAlone ? (ratio * (bar + cash)) / before : (bar + cash) / adjustedClose, carried: bar };
}

/** Returns the cash of an effect that is part of the return of the paying security, which reinvests it at the close. */
export function computeKeptCash(effect: SessionEffect, before: number): number {
  return effect.cash + (effect.special - computeReduction(effect, before));
}

/**
 * Returns the index shares after a rights issue per share before it, by which payments of that session are divided. They
 * are paid on the shares before the issue, and an effect states amounts per index share after it.
 * @param before close before the session
 */
export function countSharesOfPayments(effect: SessionEffect, before: number, terms: ShareTerms): number {
  const { ratio, rights, cash, income, spunOff, detached } = effect;
  const isPaid = cash !== 0 || income !== 0 || spunOff !== 0 || detached !== 0;
  return rights === 0 || !isPaid ? 1 : computeShareFactor({ ...effect, ratio: 1 }, before / ratio, terms);
}

/** Returns an effect whose payments are stated per share before a rights issue as amounts per share after it. */
export function spreadPayments(effect: SessionEffect, shares: number): SessionEffect {
  if (shares === 1) return effect;
  const { cash, income, spunOff, detached } = effect;
  return {
    ...effect,
    cash: cash / shares,
    income: income / shares,
    spunOff: spunOff / shares,
    detached: detached / shares,
  };
}

/** Settings that determine the effect of an action on index shares. */
export type ShareTerms = Pick<GrowthTerms, 'rights' | 'splitShares'>;

/**
 * Returns the ratio of two market values of a holding: after the previous close was adjusted, and before. The divisor
 * changes by the weighted sum of these ratios. The ratio is 1 if index shares absorb the adjustment.
 */
export function computeOpeningFactor(effect: SessionEffect, before: number, terms: ShareTerms): number {
  const { ratio, rights, subscription } = effect;
  const split = before / ratio;
  const reducedRatio = split - computeReduction(effect, before);
  const splitFactor = terms.splitShares === 'keep' ? 1 / ratio : 1;
  const specialFactor = reducedRatio === split ? 1 : reducedRatio / split;
  if (rights === 0 || terms.rights === 'constituent') return splitFactor * specialFactor;
  const subscriptionFactor = (reducedRatio + rights * subscription) / reducedRatio;
  return (
    splitFactor *
    specialFactor *
    (terms.rights === 'subscribe' ? subscriptionFactor : subscriptionFactor / (1 + rights))
  );
}

/**
 * Returns the ratio of index shares after an effect to index shares before. It applies to shares that are kept through
 * a rebalance.
 */
export function computeShareFactor(effect: SessionEffect, before: number, terms: ShareTerms): number {
  const { ratio, rights } = effect;
  const splitFactor = terms.splitShares === 'keep' ? 1 : ratio;
  if (rights === 0 || terms.rights === 'price_only') return splitFactor;
  if (terms.rights === 'subscribe') return splitFactor * (1 + rights);
  const closeWithoutRights = adjustClose({ ...effect, rights: 0 }, before);
  return (splitFactor * closeWithoutRights) / adjustClose(effect, before);
}
