import { proceedsOf } from '../books/book-events.js';
import type { TreatmentSpec } from '../documents/index-document.js';
import { openingFactor, shareFactor } from '../index-mathematics/adjusted-close.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import { effectOf } from '../index-mathematics/session-effect.js';
import { ACTION_KINDS, type CorporateAction, type ReturnVariant } from '../market/market-data.js';

/** A name of an index before an action, and how the index treats it. */
export interface BeforeAction {
  readonly weight: number;
  /** In the currency of the action, of a share as it is on its ex-date. */
  readonly price: number;
  readonly variant: ReturnVariant;
  readonly treatment: Pick<TreatmentSpec, 'reinvestment' | 'special_dividends' | 'splits' | 'spin_offs' | 'delisting'>;
  /** Fraction that is withheld from an ordinary dividend of the security. */
  readonly withheld: number;
  readonly growth: GrowthTerms;
  /** Whether what is spun off is in the prices already: nothing enters the index for it then. */
  readonly isTotal?: boolean;
}

/** One share of another name in shares of the one that is looked at, at prices as they stand; null without a price. */
export type WorthOf = (identifier: string) => number | null;

/** Shares of another name. */
export interface Received {
  readonly identifier: string;
  /** For one share held before. */
  readonly ratio: number;
  /** Of what is received, beside what was held of that name; of a coming action after cash has bought the others. */
  readonly weight: number;
}

/** An index after an action at prices that move by it alone. */
export interface ProForma {
  readonly weight: number | null;
  /** Index shares of the name, over those before. */
  readonly shares: number | null;
  /** Over the divisor before. */
  readonly divisor: number | null;
  /** Cash for a share of a name that leaves, which buys the others; null where there is none: it stays or turns into another. */
  readonly proceeds: number | null;
  readonly received: Received | null;
}

const STAYS = { proceeds: null, received: null };
const UNCHANGED = { shares: 1, divisor: 1, ...STAYS };
const UNKNOWN: ProForma = { weight: null, shares: null, divisor: null, ...STAYS };

/**
 * What an action is to do to an index. Cash that the level reinvests goes into the name; other cash leaves the index
 * with it, as what is withheld of a dividend does. What a name that ends is paid buys the others; of an offer of cash or
 * shares it is the shares. Null where it depends on a decision.
 */
export function proForma(action: CorporateAction, before: BeforeAction, worth: WorthOf): ProForma {
  const { type, value } = action;
  const { weight, treatment, variant, growth } = before;
  if (ACTION_KINDS[type] === 'ratio') {
    if (treatment.splits !== 'apply') return { ...UNCHANGED, weight };
    return growth.splitShares === 'keep' ? afterOpening(action, before) : { ...UNCHANGED, weight, shares: value };
  }
  switch (type) {
    case 'DIVIDEND':
      if (growth.reinvestment === 'index') return afterPayment(before, value);
      return afterCash(before, value, reinvestedOf(variant, before));
    case 'SPECIAL_DIVIDEND':
    case 'RETURN_OF_CAPITAL':
      if (growth.specialDividends === 'adjust') return afterOpening(action, before);
      return afterCash(before, value, growth.specialDividends === 'ignore' ? 0 : 1);
    case 'MERGER':
    case 'ACQUISITION':
    case 'DELISTING':
      return ended(action, before, worth);
    case 'RIGHTS_ISSUE': {
      const terms = rightsTerms(action);
      if (terms === null) return UNKNOWN;
      return growth.rights === 'constituent' ? afterRights(before, terms) : afterOpening(action, before);
    }
    case 'SPIN_OFF':
      return { ...UNCHANGED, weight, received: childOf(action, before) };
    case 'TICKER_CHANGE':
      return { weight, ...UNCHANGED };
    default:
      return UNKNOWN;
  }
}

/** What is held of a spun-off name: it enters at a price of zero, and weighs nothing before its first close. */
function childOf({ identifier, value, related }: CorporateAction, before: BeforeAction): Received | null {
  const enters = before.treatment.spin_offs !== 'ignore' && before.isTotal !== true;
  if (!enters || related === null || related === identifier || !(value > 0)) return null;
  return { identifier: related, ratio: value, weight: 0 };
}

function ended(
  { type, value, related, cash = 0 }: CorporateAction,
  { weight, price, treatment }: BeforeAction,
  worth: WorthOf,
): ProForma {
  const each = type === 'MERGER' && related !== null && value > 0 ? worth(related) : null;
  if (each !== null)
    return {
      weight: 0,
      shares: 0,
      divisor: cash === 0 ? 1 : 1 - (weight * cash) / price / (1 - weight + weight * (value * each + cash / price)),
      proceeds: cash === 0 ? null : cash,
      received: taken(weight, value, { identifier: related!, each }),
    };
  const paid = type === 'MERGER' ? undefined : proceedsOf(value, type === 'DELISTING', treatment.delisting);
  const proceeds = paid ?? price;
  return { weight: 0, shares: 0, divisor: withoutName(weight, proceeds / price), proceeds, received: null };
}

/** Divisor over that before a name left at a price, over the one before; null where nothing else is held. */
function withoutName(weight: number, moved: number): number | null {
  const others = 1 - weight;
  const level = others + weight * moved;
  return others !== 0 && level > 0 ? others / level : null;
}

/** Shares of another name instead of those of one, so many for one. @param each worth of one of them in shares of the name */
export function taken(
  weight: number,
  ratio: number,
  { identifier, each }: { readonly identifier: string; readonly each: number },
): Received {
  return { identifier, ratio, weight: (weight * ratio * each) / (1 - weight + weight * ratio * each) };
}

/** Fraction of an ordinary dividend that a level reinvests. Short positions pay it whole. */
export function reinvestedOf(
  variant: ReturnVariant,
  { weight, withheld }: { readonly weight: number; readonly withheld: number },
): number {
  return { price: 0, total: 1, net: weight < 0 ? 1 : 1 - withheld }[variant];
}

/** An adjusted previous close: index shares by the terms, and the divisor by what market value they leave. */
function afterOpening(action: CorporateAction, { weight, price, growth }: BeforeAction): ProForma {
  const effect = effectOf(action, 'none', growth, 0);
  if (effect === undefined) return { ...UNCHANGED, weight };
  const opening = openingFactor(effect, price, growth);
  const divisor = 1 + weight * (opening - 1);
  if (!(divisor > 0)) return UNKNOWN;
  const shares = (shareFactor(effect, price, growth) * unitOf(growth, divisor)) / divisor;
  return { ...STAYS, weight: (weight * opening) / divisor, shares, divisor };
}

/** An ordinary dividend that the whole index reinvests: the price falls by it, shares and divisor stay. */
function afterPayment({ weight, price }: BeforeAction, cash: number): ProForma {
  const paid = cash / price;
  if (!(paid < 1)) return UNKNOWN;
  return { ...UNCHANGED, weight: (weight * (1 - paid)) / (1 - weight * paid) };
}

/** @param reinvested fraction of the cash */
function afterCash({ weight, price, growth }: BeforeAction, cash: number, reinvested: number): ProForma {
  const paid = cash / price;
  if (!(paid < 1)) return UNKNOWN;
  const lost = (1 - reinvested) * paid;
  const level = 1 - weight * lost;
  const divisor = (1 - weight * paid) / level;
  return {
    ...STAYS,
    weight: (weight * (1 - lost)) / level,
    shares: ((1 - lost) / (1 - paid)) * unitOf(growth, divisor),
    divisor,
  };
}

/** Unit of index shares after an action over that before: market values where all return variants share them, else levels. */
function unitOf({ reinvestment }: GrowthTerms, divisor: number): number {
  return reinvestment === 'index' ? divisor : 1;
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
function afterRights({ weight, price, growth }: BeforeAction, terms: RightsTerms): ProForma {
  const subscribed = (terms.ratio * terms.subscription) / price;
  const divisor = 1 + weight * subscribed;
  return { ...STAYS, weight, shares: (price / exRights(price, terms)) * unitOf(growth, divisor), divisor };
}
