import type { TreatmentSpec } from '../documents/index-document.js';
import { ACTION_KINDS, type CorporateAction, type ReturnVariant } from '../market/market-data.js';

/** A name of an index before an action, and how the index treats it. */
export interface BeforeAction {
  readonly weight: number;
  /** In the currency of the action. */
  readonly price: number;
  readonly variant: ReturnVariant;
  readonly treatment: Pick<TreatmentSpec, 'special_dividends' | 'splits'>;
}

/** An index after an action at prices that move by it alone. */
export interface ProForma {
  readonly weight: number | null;
  /** Index shares of the name, over those before. */
  readonly shares: number | null;
  /** Over the divisor before. */
  readonly divisor: number | null;
}

const UNCHANGED = { shares: 1, divisor: 1 };
const UNKNOWN: ProForma = { weight: null, shares: null, divisor: null };

/**
 * What an action is to do to an index. Cash that the level reinvests goes into the name; other cash leaves the index
 * with it. Null where it depends on a decision or on a tax.
 */
export function proForma(action: CorporateAction, before: BeforeAction): ProForma {
  const { type, value } = action;
  const { weight, variant, treatment } = before;
  if (ACTION_KINDS[type] === 'ratio') return { weight, shares: treatment.splits === 'apply' ? value : 1, divisor: 1 };
  switch (type) {
    case 'DIVIDEND':
      if (variant === 'net') return { ...UNKNOWN, weight };
      return afterCash(before, value, variant === 'total');
    case 'SPECIAL_DIVIDEND':
    case 'RETURN_OF_CAPITAL':
      return afterCash(before, value, treatment.special_dividends === 'reinvest');
    case 'MERGER':
    case 'ACQUISITION':
    case 'DELISTING':
      return { weight: 0, shares: 0, divisor: null };
    case 'RIGHTS_ISSUE': {
      const terms = rightsTerms(action);
      return terms === null ? UNKNOWN : afterRights(before, terms);
    }
    case 'SPIN_OFF':
    case 'TICKER_CHANGE':
      return { weight, ...UNCHANGED };
    default:
      return UNKNOWN;
  }
}

function afterCash({ weight, price }: BeforeAction, cash: number, isReinvested: boolean): ProForma {
  const paid = cash / price;
  if (!(paid < 1)) return UNKNOWN;
  if (isReinvested) return { weight, shares: 1 / (1 - paid), divisor: 1 - weight * paid };
  return { weight: (weight * (1 - paid)) / (1 - weight * paid), ...UNCHANGED };
}

export interface RightsTerms {
  /** New shares for one held. */
  readonly ratio: number;
  readonly subscription: number;
}

/** Null without a subscription price: nothing can be worked out then. */
export function rightsTerms({ value, subscriptionPrice: subscription }: CorporateAction): RightsTerms | null {
  return subscription === null || !(value > 0) ? null : { ratio: value, subscription };
}

/** Theoretical price ex rights. */
export function exRights(price: number, { ratio, subscription }: RightsTerms): number {
  return (price + ratio * subscription) / (1 + ratio);
}

/** As levels grow: over the theoretical price ex rights. What is subscribed enters the divisor with the new shares. */
function afterRights({ weight, price }: BeforeAction, terms: RightsTerms): ProForma {
  const subscribed = (terms.ratio * terms.subscription) / price;
  return { weight, shares: price / exRights(price, terms), divisor: 1 + weight * subscribed };
}
