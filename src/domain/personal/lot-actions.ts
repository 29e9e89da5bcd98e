import { ACTION_KINDS, type Adjustment, type CorporateAction } from '../market/market-data.js';
import type { Day } from '../time/days.js';
import type { RecentTrade } from './account-request.js';

/** Lot that an account holds during a backtest. */
export interface HeldLot {
  readonly identifier: string;
  readonly shares: number;
  /** Cost basis per share. */
  readonly cost: number;
  readonly acquired: Day;
  /** Day of the purchase of shares that have replaced shares sold at a loss. */
  readonly bought?: Day | undefined;
}

/** Gain of a lot realised by a corporate action. */
export interface RealisedGain {
  readonly amount: number;
  /** Start of the holding period. */
  readonly acquired: Day;
  /** Cost basis per share. */
  readonly cost: number;
  /** Cash received for the lot. */
  readonly cash: number;
  /** Number of shares sold; 0 if the account keeps the lot. */
  readonly sold: number;
}

export interface LotsAfterAction {
  readonly lots: readonly HeldLot[];
  /** Cash received, excluding dividends. */
  readonly cash: number;
  /** Dividends received. */
  readonly dividends: number;
  readonly gains: readonly RealisedGain[];
}

/** Function that returns the price per share at the close of the session of an action; NaN without a price. */
export type PriceReader = (identifier: string) => number;

/**
 * Applies a corporate action of a security to the lots of an account.
 *
 * Splits and stock dividends spread the basis over the new shares. A spin-off allocates the basis by the values of both
 * securities at the close. A merger for shares keeps the basis. If it also pays cash, a gain is realised up to the
 * amount of cash, but no loss. Returns of capital reduce the basis; amounts beyond the basis are gains. Holding periods
 * continue in all new shares.
 *
 * @source 26 U.S.C. 301(c), 305, 307, 354-358, 1223
 */
export function applyToLots(
  lots: readonly HeldLot[],
  action: CorporateAction,
  { adjustment, priceOf }: { readonly adjustment: Adjustment; readonly priceOf: PriceReader },
): LotsAfterAction {
  const out = { lots: [] as HeldLot[], cash: 0, dividends: 0, gains: [] as RealisedGain[] };
  for (const lot of lots) {
    if (lot.identifier === action.identifier) applyToLot(lot, action, { adjustment, priceOf, out });
    else out.lots.push(lot);
  }
  return out;
}

/**
 * Applies a corporate action to the trades of its security in the wash sale window. A split changes their shares and
 * prices. Shares of a successor take the place of those of its predecessor. The amounts of the trades do not change.
 */
export function applyToRecent(
  recent: readonly RecentTrade[],
  { identifier, type, value, related }: CorporateAction,
  adjustment: Adjustment,
): readonly RecentTrade[] {
  const isSplit = type === 'SPLIT' || type === 'STOCK_DIVIDEND' || type === 'BONUS_ISSUE';
  const isMerger = type === 'MERGER' && value > 0 && related !== null;
  const ratio = (isSplit && adjustment === 'none') || isMerger ? value : 1;
  const successor = (isMerger || type === 'TICKER_CHANGE') && related !== null ? related : identifier;
  if (ratio === 1 && successor === identifier) return recent;
  return recent.map((trade) =>
    trade.identifier === identifier
      ? {
          ...trade,
          identifier: successor,
          shares: trade.shares * ratio,
          price: trade.price / ratio,
          ...(trade.cost !== undefined && { cost: trade.cost / ratio }),
        }
      : trade,
  );
}

/**
 * Orders the actions of a session as levels apply them: by ex-date, first splits, then payments and spin-offs on the
 * shares held, then endings. An ending precedes the endings of the security whose shares it pays. Of several endings of
 * a security, the one that applies to its index shares is first, so that the account holds no shares at the others.
 */
export function orderActions<Dated extends { readonly action: CorporateAction }>(
  dated: readonly Dated[],
  priceOf: PriceReader,
): readonly Dated[] {
  if (dated.length < 2) return dated;
  const endings = dated.filter(({ action }) => rankAction(action, priceOf) >= FIRST_ENDING);
  const depths = new Map<string, number>();
  const findDepth = (identifier: string): number => depths.get(identifier) ?? 0;
  for (let round = 0; round < endings.length; round++)
    for (const { action } of endings)
      if (action.related !== null)
        depths.set(action.related, Math.max(findDepth(action.related), findDepth(action.identifier) + 1));
  const listKeys = ({ action }: Dated): readonly [number, number, number] => {
    const rank = rankAction(action, priceOf);
    return rank < FIRST_ENDING ? [action.exDay, 0, rank] : [action.exDay, 1 + findDepth(action.identifier), rank];
  };
  return dated
    .map((item) => ({ item, keys: listKeys(item) }))
    .toSorted(({ keys: a }, { keys: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    .map(({ item }) => item);
}

/** Rank of the first action that ends a security. Lower ranks apply to the shares that are still held. */
const FIRST_ENDING = 3;

function rankAction({ type, value, related, isUnpriced }: CorporateAction, priceOf: PriceReader): number {
  switch (type) {
    case 'MERGER':
      return value > 0 && related !== null && priceOf(related) > 0 ? FIRST_ENDING : FIRST_ENDING + 3;
    case 'ACQUISITION':
      return isUnpriced === true ? FIRST_ENDING + 4 : FIRST_ENDING + 1;
    case 'DELISTING':
      return isUnpriced === true ? FIRST_ENDING + 5 : FIRST_ENDING + 2;
    case 'TICKER_CHANGE':
      return FIRST_ENDING + 6;
    default:
      return { ratio: 0, cash: 1, structural: 2 }[ACTION_KINDS[type]];
  }
}

interface ActionContext {
  readonly adjustment: Adjustment;
  readonly priceOf: PriceReader;
  readonly out: { lots: HeldLot[]; cash: number; dividends: number; gains: RealisedGain[] };
}

function applyToLot(lot: HeldLot, action: CorporateAction, acting: ActionContext): void {
  const { out, adjustment } = acting;
  const { value } = action;
  switch (action.type) {
    case 'DIVIDEND':
    case 'SPECIAL_DIVIDEND':
      out.dividends += lot.shares * value;
      break;
    case 'RETURN_OF_CAPITAL': {
      const gain = Math.max(0, value - lot.cost);
      out.cash += lot.shares * value;
      if (gain > 0) out.gains.push(createGain(lot, lot.shares * gain, { cash: lot.shares * value, sold: 0 }));
      out.lots.push({ ...lot, cost: Math.max(0, lot.cost - value) });
      return;
    }
    case 'SPLIT':
    case 'STOCK_DIVIDEND':
    case 'BONUS_ISSUE':
      // Prices divided by later splits require share counts on the last share basis.
      if (adjustment === 'none') out.lots.push({ ...lot, shares: lot.shares * value, cost: lot.cost / value });
      else out.lots.push(lot);
      return;
    case 'SPIN_OFF':
      return applySpinOff(lot, action, acting);
    case 'MERGER':
      return applyMerger(lot, action, acting);
    case 'ACQUISITION':
    case 'DELISTING':
      return applySale(lot, action.isUnpriced ? acting.priceOf(lot.identifier) : value, out);
    case 'TICKER_CHANGE':
      out.lots.push(action.related === null ? lot : { ...lot, identifier: action.related });
      return;
    case 'RIGHTS_ISSUE':
      break; // The rights lapse: the data contain no price at which they could be sold.
  }
  out.lots.push(lot);
}

function applySale(lot: HeldLot, price: number, out: ActionContext['out']): void {
  const [cash, sold] = [lot.shares * price, lot.shares];
  out.cash += cash;
  out.gains.push(createGain(lot, lot.shares * (price - lot.cost), { cash, sold }));
}

const createGain = (
  { acquired, cost }: HeldLot,
  amount: number,
  paid: Pick<RealisedGain, 'cash' | 'sold'>,
): RealisedGain => ({ amount, acquired, cost, ...paid });

function applySpinOff(lot: HeldLot, { related, value }: CorporateAction, { priceOf, out }: ActionContext): void {
  const [parent, child] = [priceOf(lot.identifier), related === null ? Number.NaN : value * priceOf(related)];
  if (!(child > 0) || !(parent > 0)) return void out.lots.push(lot);
  const share = child / (parent + child);
  out.lots.push(
    { ...lot, cost: lot.cost * (1 - share) },
    { ...lot, identifier: related!, shares: lot.shares * value, cost: (lot.cost * share) / value },
  );
}

function applyMerger(
  lot: HeldLot,
  { related, value, cash = 0 }: CorporateAction,
  { priceOf, out }: ActionContext,
): void {
  const price = related === null ? Number.NaN : priceOf(related);
  if (!(value > 0) || !(price > 0)) return applySale(lot, cash > 0 ? cash : priceOf(lot.identifier), out);
  const gain = Math.min(cash, Math.max(0, value * price + cash - lot.cost));
  out.cash += lot.shares * cash;
  if (gain > 0) out.gains.push(createGain(lot, lot.shares * gain, { cash: lot.shares * cash, sold: 0 }));
  out.lots.push({
    ...lot,
    identifier: related!,
    shares: lot.shares * value,
    cost: (lot.cost - cash + gain) / value,
  });
}
