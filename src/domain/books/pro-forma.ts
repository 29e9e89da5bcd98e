import type { TreatmentSpec } from '../definition/index-document.js';
import {
  computeEffect,
  computeOpeningFactor,
  computeShareFactor,
  type GrowthTerms,
  holdsShares,
} from '../market/action-effects.js';
import { ACTION_KINDS, type CorporateAction, type ReturnVariant, type RightsChoice } from '../market/market-data.js';
import { computeProceeds, readSpinOff } from './events.js';

/** Security of an index before an action, and its treatment by the index. */
export interface PositionBeforeAction {
  readonly weight: number;
  /** Price per share in the currency of the action, on the share basis of its ex-date. */
  readonly price: number;
  readonly variant: ReturnVariant;
  readonly treatment: Pick<TreatmentSpec, 'reinvestment' | 'special_dividends' | 'splits' | 'spin_offs' | 'delisting'>;
  /** Fraction withheld from an ordinary dividend of the security. */
  readonly withheld: number;
  readonly growth: GrowthTerms;
  /** True if prices are already adjusted for spun-off securities. These then do not enter the index. */
  readonly isTotal?: boolean;
  /** Returns true if the index holds a security before the action. Default: it holds none. */
  readonly isHeld?: (identifier: string) => boolean;
}

/**
 * Returns the value of one share of another security, in shares of this security, at current prices. Returns null
 * without a price.
 */
export type WorthReader = (identifier: string) => number | null;

/** Shares received in another security. */
export interface ReceivedShares {
  readonly identifier: string;
  /** Shares received per share held before. */
  readonly ratio: number;
  /**
   * Weight of the received shares in addition to those already held. For a future action, this is the weight after cash
   * has bought other securities.
   */
  readonly weight: number;
}

/** Index after an action, if no price changes for any other reason. */
export interface ProForma {
  readonly weight: number | null;
  /** Index shares of the security after the action, divided by those before. */
  readonly shares: number | null;
  /** Divisor after divided by before. */
  readonly divisor: number | null;
  /**
   * Cash per share of a security that leaves. The index buys the other securities with it. Null if the security stays
   * or converts into another security.
   */
  readonly proceeds: number | null;
  readonly received: ReceivedShares | null;
}

const NO_EXIT = { proceeds: null, received: null };
const NO_CHANGE = { shares: 1, divisor: 1, ...NO_EXIT };
const UNKNOWN_EFFECT: ProForma = { weight: null, shares: null, divisor: null, ...NO_EXIT };

/**
 * Computes the effect of an action on an index. Cash that the level reinvests buys the security; other cash, such as
 * withheld tax, leaves the index. If a security ends, its payments buy the other securities. An offer of cash or shares
 * is treated as paying shares. Members are null if the effect depends on a decision.
 */
export function computeProForma(action: CorporateAction, before: PositionBeforeAction, worth: WorthReader): ProForma {
  const { type, value } = action;
  const { weight, treatment, variant, growth } = before;
  if (ACTION_KINDS[type] === 'ratio') {
    if (treatment.splits !== 'apply') return { ...NO_CHANGE, weight };
    return growth.splitShares === 'keep' ? adjustOpening(action, before) : { ...NO_CHANGE, weight, shares: value };
  }
  switch (type) {
    case 'DIVIDEND':
      if (growth.reinvestment === 'index') return applyPayment(before, value);
      return applyCash(before, value, computeReinvestment(variant, before));
    case 'SPECIAL_DIVIDEND':
    case 'RETURN_OF_CAPITAL':
      if (growth.specialDividends === 'adjust') return adjustOpening(action, before);
      return applyCash(before, value, growth.specialDividends === 'ignore' ? 0 : 1);
    case 'MERGER':
    case 'ACQUISITION':
    case 'DELISTING':
      return computeEnded(action, before, worth);
    case 'RIGHTS_ISSUE': {
      const terms = computeRightsTerms(action);
      if (terms === null) return UNKNOWN_EFFECT;
      return growth.rights === 'constituent' ? applyRights(before, terms) : adjustOpening(action, before);
    }
    case 'SPIN_OFF': {
      const spunOff = readSpinOff(action, { ...treatment, adjustment: before.isTotal === true ? 'total' : 'none' });
      // The shares enter at a price of zero, so they have no weight before their first close.
      return { ...NO_CHANGE, weight, received: spunOff && { ...spunOff, weight: 0 } };
    }
    case 'TICKER_CHANGE':
      return { weight, ...NO_CHANGE };
    default:
      return UNKNOWN_EFFECT;
  }
}

function computeEnded(
  action: CorporateAction,
  { weight, price, treatment, growth, isHeld }: PositionBeforeAction,
  worth: WorthReader,
): ProForma {
  const { type, value, related, cash = 0 } = action;
  const worthPerShare = type === 'MERGER' && related !== null && value > 0 ? worth(related) : null;
  if (worthPerShare !== null && growth.splitShares === 'keep' && isHeld?.(related!) === true) {
    // An index of one share of each member gets no second share of the acquirer.
    const paid = value * worthPerShare + cash / price;
    const divisor = computeDivisorWithout(weight, paid);
    return { weight: 0, shares: 0, divisor, proceeds: paid * price, received: null };
  }
  if (worthPerShare !== null)
    return {
      weight: 0,
      shares: 0,
      divisor:
        cash === 0 ? 1 : 1 - (weight * cash) / price / (1 - weight + weight * (value * worthPerShare + cash / price)),
      proceeds: cash === 0 ? null : cash,
      received: convertShares(weight, value, { identifier: related!, each: worthPerShare }),
    };
  const exitProceeds = type === 'MERGER' ? undefined : computeProceeds(action, treatment.delisting);
  const proceeds = exitProceeds ?? price;
  return { weight: 0, shares: 0, divisor: computeDivisorWithout(weight, proceeds / price), proceeds, received: null };
}

/**
 * Returns the divisor after a security leaves at a price, divided by the divisor before. Returns null if no other
 * security is held.
 */
function computeDivisorWithout(weight: number, movedFraction: number): number | null {
  const otherWeight = 1 - weight;
  const level = otherWeight + weight * movedFraction;
  return otherWeight !== 0 && level > 0 ? otherWeight / level : null;
}

/**
 * Converts shares of one security into shares of another at a ratio. @param each value of one new share in shares of
 * the old security
 */
function convertShares(
  weight: number,
  ratio: number,
  { identifier, each }: { readonly identifier: string; readonly each: number },
): ReceivedShares {
  return { identifier, ratio, weight: (weight * ratio * each) / (1 - weight + weight * ratio * each) };
}

/**
 * Returns the fraction of an ordinary dividend that a return variant reinvests. Short positions pay the full dividend.
 */
export function computeReinvestment(
  variant: ReturnVariant,
  { weight, withheld }: { readonly weight: number; readonly withheld: number },
): number {
  return { price: 0, total: 1, net: weight < 0 ? 1 : 1 - withheld }[variant];
}

/**
 * Adjusts a previous close. Index shares change by the terms of the action, and the divisor by the remaining market
 * value.
 */
function adjustOpening(action: CorporateAction, { weight, price, growth }: PositionBeforeAction): ProForma {
  const effect = computeEffect(action, 'none', growth, 0);
  if (effect === undefined) return { ...NO_CHANGE, weight };
  const openingFactor = computeOpeningFactor(effect, price, growth);
  const divisor = 1 + weight * (openingFactor - 1);
  if (!(divisor > 0)) return UNKNOWN_EFFECT;
  // If units are not shares, they are fractions of the value.
  const shares = computeShareFactor(effect, price, growth) / (holdsShares(growth) ? 1 : divisor);
  return { ...NO_EXIT, weight: (weight * openingFactor) / divisor, shares, divisor };
}

/**
 * Applies an ordinary dividend that the whole index reinvests. The price falls by the dividend; index shares and
 * divisor are unchanged.
 */
function applyPayment({ weight, price }: PositionBeforeAction, cash: number): ProForma {
  const paidFraction = cash / price;
  if (!(paidFraction < 1)) return UNKNOWN_EFFECT;
  return { ...NO_CHANGE, weight: (weight * (1 - paidFraction)) / (1 - weight * paidFraction) };
}

/** Applies a payment of cash of which a fraction is reinvested. @param reinvested fraction of the cash */
function applyCash({ weight, price, growth }: PositionBeforeAction, cash: number, reinvested: number): ProForma {
  const paidFraction = cash / price;
  if (!(paidFraction < 1)) return UNKNOWN_EFFECT;
  const bought = reinvested * paidFraction;
  const lostFraction =
    growth.reinvestedAt === undefined ? (1 - reinvested) * paidFraction : 1 - (1 - paidFraction) / (1 - bought);
  const level = 1 - weight * lostFraction;
  return {
    ...NO_EXIT,
    weight: (weight * (1 - lostFraction)) / level,
    shares: (1 - lostFraction) / (1 - paidFraction),
    divisor: holdsShares(growth) ? 1 : (1 - weight * paidFraction) / level,
  };
}

export interface RightsTerms {
  /** New shares per share held. */
  readonly ratio: number;
  readonly subscription: number;
}

/** Returns the terms of a rights issue. Returns null without a subscription price. */
function computeRightsTerms({ value, subscriptionPrice: subscription }: CorporateAction): RightsTerms | null {
  return subscription === null || !(value > 0) ? null : { ratio: value, subscription };
}

function computeExRightsPrice(price: number, { ratio, subscription }: RightsTerms): number {
  return (price + ratio * subscription) / (1 + ratio);
}

/**
 * Applies a rights issue as index levels do: relative to the theoretical ex-rights price. If units are not shares, the
 * divisor includes the money paid for the new shares.
 */
function applyRights({ weight, price, growth }: PositionBeforeAction, terms: RightsTerms): ProForma {
  const subscribedFraction = (terms.ratio * terms.subscription) / price;
  return {
    ...NO_EXIT,
    weight,
    shares: price / computeExRightsPrice(price, terms),
    divisor: holdsShares(growth) ? 1 : 1 + weight * subscribedFraction,
  };
}

/** Choices of a holder of the security. */
export const ACTION_CHOICES = {
  take_up: 'subscribe for all new shares of a rights issue, with cash from outside',
  sell: 'sell the rights at their theoretical value; the cash leaves the index',
  sell_to_fund: 'sell enough rights to pay for the subscription of the others',
  lapse: 'let the rights expire without value',
  accept_cash: 'accept the cash of an offer of cash or shares, or of a scrip dividend; the cash leaves the index',
  accept_shares: 'accept the shares of an offer of cash or shares, or the new shares of a scrip dividend',
} as const satisfies Readonly<Record<RightsChoice | 'accept_cash' | 'accept_shares', string>>;
export type ActionChoice = keyof typeof ACTION_CHOICES;

/** Position in a security after a choice, if no price changes for any other reason. */
export interface ChoiceOutcome {
  readonly choice: ActionChoice;
  readonly weight: number;
  /** Shares after divided by shares before. */
  readonly shares: number;
  /** Cash per share held before, in the currency of the security; negative if the holder pays. */
  readonly cash: number;
  /** Weight of each other security after the choice, divided by its weight before. */
  readonly others: number;
  /** Shares received in another security; null if none are received. */
  readonly received: ReceivedShares | null;
}

/** Two sides of an offer, for one security on one day. */
export interface Offer {
  readonly cash: CorporateAction;
  readonly shares: CorporateAction;
}

/**
 * Finds offers of cash or shares. Such an offer is an acquisition and a merger of one security on one ex-date, and a
 * holder chooses between them.
 * @returns each offer by both of its actions
 */
export function listOffers(actions: readonly CorporateAction[]): ReadonlyMap<CorporateAction, Offer> {
  const sides = new Map<string, Partial<Offer>>();
  for (const action of actions) {
    if (action.type !== 'ACQUISITION' && action.type !== 'MERGER') continue;
    const key = `${action.exDay} ${action.identifier}`;
    sides.set(key, { ...sides.get(key), [action.type === 'MERGER' ? 'shares' : 'cash']: action });
  }
  const offers = new Map<CorporateAction, Offer>();
  for (const { cash, shares } of sides.values()) {
    if (cash === undefined || shares === undefined) continue;
    offers.set(cash, { cash, shares }).set(shares, { cash, shares });
  }
  return offers;
}

/** Returns the choices for a rights issue. Returns an empty list if its terms are unknown. */
export function computeRightsChoices(
  action: CorporateAction,
  { weight, price }: PositionBeforeAction,
): ChoiceOutcome[] {
  const terms = action.type === 'RIGHTS_ISSUE' ? computeRightsTerms(action) : null;
  if (terms === null) return [];
  const { ratio, subscription } = terms;
  const after = computeExRightsPrice(price, terms);
  const right = Math.max(0, ratio * (after - subscription));
  return (
    [
      ['take_up', 1 + ratio, -ratio * subscription],
      ['sell', 1, right],
      ['sell_to_fund', 1 + right / after, 0],
      ['lapse', 1, 0],
    ] as const
  ).map(([choice, shares, cash]) => {
    const growth = (shares * after) / price;
    const otherFactor = 1 / (1 + weight * (growth - 1));
    return { choice, weight: weight * growth * otherFactor, shares, cash, others: otherFactor, received: null };
  });
}

/**
 * Returns the choices for a dividend that may be taken in shares, at the ex-dividend price. Returns an empty list if
 * the dividend permits no choice.
 */
export function computeScripChoices(
  { value: cash, scripRatio }: CorporateAction,
  { weight, price }: PositionBeforeAction,
): ChoiceOutcome[] {
  if (scripRatio === undefined || !(cash < price)) return [];
  return (
    [
      ['accept_cash', 1, cash],
      ['accept_shares', 1 + scripRatio, 0],
    ] as const
  ).map(([choice, shares, paid]) => {
    const growth = (shares * (price - cash)) / price;
    const otherFactor = 1 / (1 + weight * (growth - 1));
    return { choice, weight: weight * growth * otherFactor, shares, cash: paid, others: otherFactor, received: null };
  });
}

/** Returns the choices between the two sides of an offer. */
export function computeOfferChoices(
  { cash, shares }: Offer,
  { weight, price }: PositionBeforeAction,
  worth: WorthReader,
): ChoiceOutcome[] {
  const money = cash.isUnpriced ? price : cash.value; // without a stated payment, the last close is paid
  const cashChoice: ChoiceOutcome = {
    choice: 'accept_cash',
    weight: 0,
    shares: 0,
    cash: money,
    others: 1 / (1 - weight),
    received: null,
  };
  const { related, value: ratio, cash: besides = 0 } = shares;
  const worthPerShare = related === null ? null : worth(related);
  if (related === null || worthPerShare === null) return [cashChoice];
  const otherFactor = 1 / (1 - weight + weight * ratio * worthPerShare);
  const receivedShares = convertShares(weight, ratio, { identifier: related, each: worthPerShare });
  return [
    cashChoice,
    { choice: 'accept_shares', weight: 0, shares: 0, cash: besides, others: otherFactor, received: receivedShares },
  ];
}
