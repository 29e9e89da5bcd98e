import type { CorporateAction, RightsChoice } from '../market/market-data.js';
import {
  computeExRightsPrice,
  computeRightsTerms,
  convertShares,
  type PositionBeforeAction,
  type ReceivedShares,
  type WorthReader,
} from './pro-forma.js';

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
