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

interface RightsTerms {
  /** New shares for one held. */
  readonly ratio: number;
  readonly subscription: number;
}

/** Null without a subscription price: nothing can be worked out then. */
function rightsTerms({ value, subscriptionPrice: subscription }: CorporateAction): RightsTerms | null {
  return subscription === null || !(value > 0) ? null : { ratio: value, subscription };
}

/** Theoretical price ex rights. */
function exRights(price: number, { ratio, subscription }: RightsTerms): number {
  return (price + ratio * subscription) / (1 + ratio);
}

/** As levels grow: over the theoretical price ex rights. What is subscribed enters the divisor with the new shares. */
function afterRights({ weight, price }: BeforeAction, terms: RightsTerms): ProForma {
  const subscribed = (terms.ratio * terms.subscription) / price;
  return { weight, shares: price / exRights(price, terms), divisor: 1 + weight * subscribed };
}

/** What a holder can do with rights. */
export const RIGHTS_CHOICES = {
  take_up: 'subscribe for all new shares, paid from outside',
  sell: 'sell the rights at their theoretical value and take the cash out',
  sell_to_fund: 'sell as many rights as pay for the subscription of the others',
  lapse: 'do nothing: the rights are worth nothing afterwards',
} as const;
export type RightsChoice = keyof typeof RIGHTS_CHOICES;

/** A name behind a choice, at the theoretical price ex rights and the prices of the others. */
export interface AfterChoice {
  readonly choice: RightsChoice;
  readonly weight: number;
  /** Over those before. */
  readonly shares: number;
  /** For one share held before, in the currency of the name; negative where it is paid. */
  readonly cash: number;
}

/** What becomes of a name by what its holder decides; empty where there is nothing to decide or no term is known. */
export function choicesOf(action: CorporateAction, { weight, price }: BeforeAction): AfterChoice[] {
  const terms = awaitsDecision(action) ? rightsTerms(action) : null;
  if (terms === null) return [];
  const { ratio, subscription } = terms;
  const after = exRights(price, terms);
  const right = Math.max(0, ratio * (after - subscription));
  const byChoice: Readonly<Record<RightsChoice, Omit<AfterChoice, 'choice' | 'weight'>>> = {
    take_up: { shares: 1 + ratio, cash: -ratio * subscription },
    sell: { shares: 1, cash: right },
    sell_to_fund: { shares: 1 + right / after, cash: 0 },
    lapse: { shares: 1, cash: 0 },
  };
  const choices = Object.keys(RIGHTS_CHOICES) as RightsChoice[]; // Object.keys returns plain strings.
  return choices.map((choice) => {
    const { shares, cash } = byChoice[choice];
    const grown = (shares * after) / price;
    return { choice, weight: (weight * grown) / (1 + weight * (grown - 1)), shares, cash };
  });
}

/** Whether a holder has to decide what becomes of it. */
export function awaitsDecision({ type }: CorporateAction): boolean {
  return type === 'RIGHTS_ISSUE';
}
