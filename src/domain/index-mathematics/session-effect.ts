import type { GrowthTerms } from './growth-terms.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction, type ReturnVariant } from '../market/market-data.js';

/** Effect of a session's corporate actions on one security. Amounts are per share on the new share basis. */
export interface SessionEffect {
  /** Share-count multiplier of splits, stock dividends and bonus issues. */
  readonly ratio: number;
  /** Cash that is reinvested in the paying security. */
  readonly cash: number;
  /** New shares per share held, and the price per new share. Both are zero without an issue that adjusts the close. */
  readonly rights: number;
  readonly subscription: number;
  /** Cash by which the previous close is reduced. */
  readonly special: number;
  /** Ordinary dividend that the whole index reinvests in this return variant. */
  readonly income: number;
  /**
   * Value of the shares of another security that a holder receives. NaN if it is unknown; the change of the price on the
   * session is then the value.
   */
  readonly spunOff: number;
  /**
   * Value of the shares of another security that a holder receives as a separate holding. The price falls by it unless a
   * later bar shows the fall.
   */
  readonly detached: number;
}

export const NO_EFFECT: SessionEffect = {
  ratio: 1,
  cash: 0,
  rights: 0,
  subscription: 0,
  special: 0,
  income: 0,
  spunOff: 0,
  detached: 0,
};

/** Combines two effects on one security on one session. */
export function combineEffects(before: SessionEffect, change: SessionEffect): SessionEffect {
  return {
    ratio: before.ratio * change.ratio,
    cash: before.cash + change.cash,
    rights: before.rights + change.rights,
    subscription: change.rights === 0 ? before.subscription : change.subscription,
    special: before.special + change.special,
    income: before.income + change.income,
    spunOff: before.spunOff + change.spunOff,
    detached: before.detached + change.detached,
  };
}

/**
 * Returns the effect of an action on prices with the given adjustment. Returns undefined if there is no effect.
 * @param withheld fraction withheld from an ordinary dividend of the security
 * @param worth returns the value of the shares that a spin-off distributes per share
 */
export function computeEffect(
  action: CorporateAction,
  adjustment: Adjustment,
  terms: GrowthTerms,
  withheld: number,
  worth: () => number = () => Number.NaN,
): SessionEffect | undefined {
  if (adjustment === 'total') return undefined;
  if (ACTION_KINDS[action.type] === 'ratio') {
    return adjustment === 'none' && terms.splits === 'apply' ? { ...NO_EFFECT, ratio: action.value } : undefined;
  }
  switch (action.type) {
    case 'DIVIDEND':
      return computeOrdinaryEffect(action, terms, withheld);
    case 'SPECIAL_DIVIDEND':
    case 'RETURN_OF_CAPITAL':
      return computeSpecialEffect(action.value, terms.specialDividends);
    case 'RIGHTS_ISSUE':
      if (action.subscriptionPrice === null || !(action.value > 0)) return undefined;
      return { ...NO_EFFECT, rights: action.value, subscription: action.subscriptionPrice };
    case 'SPIN_OFF':
      return computeSpinOffEffect(action, terms, worth);
    default:
      return undefined;
  }
}

function computeSpinOffEffect(
  { value }: CorporateAction,
  terms: GrowthTerms,
  worth: () => number,
): SessionEffect | undefined {
  if (!(value > 0)) return undefined;
  if (terms.valuesSpinOffs === true) return { ...NO_EFFECT, spunOff: worth() };
  const detached = worth();
  return detached > 0 ? { ...NO_EFFECT, detached } : undefined;
}

function computeOrdinaryEffect(
  { value }: CorporateAction,
  terms: GrowthTerms,
  withheld: number,
): SessionEffect | undefined {
  const share = computeReinvestedShare(terms.variant, withheld);
  // Dividend points are counted in every return variant. The effect is listed even if the variant reinvests nothing.
  if (terms.reinvestment === 'index') return { ...NO_EFFECT, income: share * value };
  return share === 0 ? undefined : { ...NO_EFFECT, cash: share * value };
}

/** Returns the fraction of an ordinary dividend that a return variant reinvests. */
export function computeReinvestedShare(variant: ReturnVariant, withheld: number): number {
  return { price: 0, total: 1, net: 1 - withheld }[variant];
}

function computeSpecialEffect(value: number, treatment: GrowthTerms['specialDividends']): SessionEffect | undefined {
  if (treatment === 'ignore') return undefined;
  return treatment === 'adjust' ? { ...NO_EFFECT, special: value } : { ...NO_EFFECT, cash: value };
}
