import { computeTax } from '#kernels/lots/account-program.js';
import { formatDay, parseValidDay, type Day } from '../time/days.js';
import type { Account, AccountLot, RecentTrade } from './account-request.js';
import type { AccountTrade } from './account-result.js';
import type { LotsAfterAction, HeldLot } from './lot-actions.js';
import { createTaxSides } from './tax-sides.js';
import { computeTaxedSales } from './taxed-sales.js';
import {
  addDisallowedLosses,
  createWashRule,
  isLongTerm,
  readWindow,
  SHARES_MIN,
  type Replacement,
} from './wash-sales.js';

/** Lot of a sale, and the gain that the sale realises. */
export interface RealisedLot {
  /** Start of the holding period. */
  readonly acquired: string;
  /** Cost basis per share. */
  readonly cost: number;
  /** Gain that is taxed, in money. */
  readonly gain: number;
  /** Loss that is added to the basis of the replacement, in money. */
  readonly disallowed_loss: number;
  readonly term: 'short' | 'long';
}

/** Cash movement on a session, in money: positive into the account. */
export interface CashEntry {
  readonly date: string;
  readonly kind: 'buy' | 'sell' | 'cost' | 'dividend' | 'action' | 'tax';
  readonly identifier: string | null;
  readonly shares: number;
  readonly amount: number;
  /** Sold lot; null if the movement realises no gain or loss. */
  readonly lot: RealisedLot | null;
}

/** Taxes of a calendar year. */
export interface TaxYear {
  readonly year: number;
  readonly short_gain: number;
  readonly long_gain: number;
  readonly dividends: number;
  /** Losses carried forward from the previous year. */
  readonly carried: number;
  readonly tax: number;
  /** False for the year of the last session, whose tax is not yet paid. */
  readonly is_paid: boolean;
}

/** Trade of a rebalance, as recorded in the account history. */
export type BookedTrade = Pick<AccountTrade, 'identifier' | 'side' | 'shares' | 'price'> & {
  /** Index of the lot before the trades. */
  readonly lot?: number;
};

/** Lots, cash and taxes of an account over time. */
export interface AccountHistory {
  readonly lots: readonly HeldLot[];
  readonly cash: number;
  readonly entries: readonly CashEntry[];
  /** Tax years, including the current one. */
  readonly years: readonly TaxYear[];
  /** Accrued tax of the current year, not yet paid. */
  accrued(): number;
  /** Returns the account on a day in the form that the solver accepts. */
  accountOn(account: Account, day: Day): Account;
  /** Records a corporate action. If the day belongs to a new tax year, ends the previous year first. */
  act(day: Day, identifier: string, acted: LotsAfterAction): void;
  /** Applies a corporate action to the trades in the wash sale window. */
  actOnTrades(change: (recent: readonly RecentTrade[]) => readonly RecentTrade[]): void;
  trade(day: Day, trades: readonly BookedTrade[], costRate: number): void;
  /** Ends the tax year if a day belongs to a later year, and pays the tax of the ended year. */
  payTaxes(day: Day): void;
}

export function createHistory(account: Account, historyTerms: HistoryTerms): AccountHistory {
  const { tax } = account;
  const window = readWindow(account, historyTerms.start);
  const state = {
    lots: account.lots.flatMap((lot, position) => divideUsed(lot, window.used.get(position) ?? 0)).map(parseLot),
    cash: account.cash,
    recent: window.trades,
    year: findYear(historyTerms.start),
    short: tax.realised.short,
    long: tax.realised.long,
    dividends: 0,
    carried: { short: tax.carry_forward, long: 0 } as Gains,
  };
  const entries: CashEntry[] = [];
  const years: TaxYear[] = [];
  const sides = createTaxSides({ ...tax, loss_value: 0 });

  function recordEntry(day: Day, entry: UndatedEntry): void {
    const { shares = 0, lot = null } = entry;
    if (entry.amount === 0 && shares === 0) return;
    entries.push({ date: formatDay(day), ...entry, shares, lot });
    state.cash += entry.amount;
    if (lot !== null) state[lot.term] += lot.gain;
  }

  const computeYearTax = (): number =>
    Math.max(0, computeTax(sides, state.short - state.carried.short, state.long - state.carried.long)) +
    historyTerms.dividendRate * state.dividends;

  function createYear(isPaid: boolean): TaxYear {
    const { year, short, long, dividends, carried } = state;
    const gains = { year, short_gain: short, long_gain: long, dividends, carried: carried.short + carried.long };
    return { ...gains, tax: computeYearTax(), is_paid: isPaid };
  }

  function payTaxes(day: Day): void {
    if (findYear(day) === state.year) return;
    const { short, long, carried } = state;
    const endedYear = createYear(true);
    years.push(endedYear);
    recordEntry(day, { kind: 'tax', identifier: null, amount: -endedYear.tax });
    Object.assign(state, {
      year: findYear(day),
      short: 0,
      long: 0,
      dividends: 0,
      carried: computeCarriedLosses({ short: short - carried.short, long: long - carried.long }, tax.netting),
    });
  }

  /** Sells lots, and moves disallowed losses to the lots that replace them. Prices are per share by security. */
  function sell(day: Day, sold: ReadonlyMap<number, number>, prices: ReadonlyMap<string, number>): HeldLot[] {
    const lots = state.lots.map(formatLot);
    const rule = createWashRule({ ...account, lots }, day, { trades: state.recent, used: new Map() });
    const priceOf = (identifier: string): number => prices.get(identifier)!;
    const { sales, replacements } = computeTaxedSales(rule, sold, priceOf);
    const lossSales: RecentTrade[] = [];
    for (const { lot, shares, gain, disallowed, isLong } of sales) {
      const { identifier, cost, acquired } = lots[lot]!;
      const price = priceOf(identifier);
      const term = isLong ? 'long' : 'short';
      const soldLot = { acquired, cost, gain, disallowed_loss: disallowed, term } as const;
      recordEntry(day, { kind: 'sell', identifier, amount: shares * price, shares: -shares, lot: soldLot });
      if (price < cost) lossSales.push({ identifier, date: formatDay(day), shares: -shares, price, cost });
    }
    const remaining = lots.flatMap((lot, position) => {
      const shares = lot.shares - (sold.get(position) ?? 0);
      return shares < lot.shares * 1e-12 ? [] : [{ ...lot, shares, lot: position }];
    });
    state.recent = [...subtractReplacements(state.recent, replacements), ...lossSales];
    return addDisallowedLosses(remaining, replacements).map(parseLot);
  }

  return {
    get lots() {
      return state.lots;
    },
    get cash() {
      return state.cash;
    },
    entries,
    get years() {
      return [...years, createYear(false)];
    },
    accrued: computeYearTax,
    accountOn: (stated, day) => ({
      ...stated,
      cash: state.cash,
      lots: state.lots.map(formatLot),
      recent: state.recent.filter(({ date }) => day - parseValidDay(date) <= tax.wash_sale_days),
      tax: {
        ...tax,
        carry_forward: state.carried.short,
        realised: { short: state.short, long: state.long - state.carried.long },
      },
    }),
    actOnTrades(change) {
      state.recent = change(state.recent);
    },
    act(day, identifier, acted) {
      payTaxes(day);
      state.lots = [...acted.lots];
      recordEntry(day, { kind: 'dividend', identifier, amount: acted.dividends });
      state.dividends += acted.dividends;
      for (const entry of listActionEntries(day, identifier, acted)) recordEntry(day, entry);
    },
    trade(day, trades, costRate) {
      const { sold, prices, boughtLots, notional } = readTrades(day, trades, state.lots);
      const keptLots = sell(day, sold, prices);
      for (const { identifier, shares, cost } of boughtLots)
        recordEntry(day, { kind: 'buy', identifier, amount: -shares * cost, shares });
      recordEntry(day, { kind: 'cost', identifier: null, amount: -notional * costRate });
      state.lots = [...keptLots, ...boughtLots];
    },
    payTaxes,
  };
}

type UndatedEntry = Pick<CashEntry, 'kind' | 'identifier' | 'amount'> & Partial<Pick<CashEntry, 'shares' | 'lot'>>;

/** Returns the cash movements of a corporate action: one for each lot with a gain, and the other cash. */
function listActionEntries(day: Day, identifier: string, { cash: total, gains }: LotsAfterAction): UndatedEntry[] {
  let otherCash = total;
  const entries = gains.map(({ amount: gain, cash, sold, cost, acquired }): UndatedEntry => {
    const term = isLongTerm(formatDay(acquired), day) ? 'long' : 'short';
    const lot = { acquired: formatDay(acquired), cost, gain, disallowed_loss: 0, term } as const;
    otherCash -= cash;
    return { kind: 'action', identifier, amount: cash, shares: 0 - sold, lot };
  });
  const isRest = gains.length === 0 || Math.abs(otherCash) > CASH_ERROR * Math.abs(total);
  return isRest ? [...entries, { kind: 'action', identifier, amount: otherCash }] : entries;
}

/** Returns the shares sold by lot, the prices by security, the purchases, and the sum of all trades in money. */
function readTrades(day: Day, trades: readonly BookedTrade[], lots: readonly HeldLot[]) {
  const sold = new Map<number, number>();
  const prices = new Map<string, number>();
  const boughtLots: HeldLot[] = [];
  let notional = 0;
  for (const { identifier, side, shares, price, lot } of trades) {
    notional += shares * price;
    if (side === 'buy') boughtLots.push({ identifier, shares, cost: price, acquired: day });
    else sold.set(lot!, Math.min((sold.get(lot!) ?? 0) + shares, lots[lot!]!.shares));
    prices.set(identifier, price);
  }
  return { sold, prices, boughtLots, notional };
}

/** Cash that is a rounding error, as a fraction of the cash of a corporate action. */
const CASH_ERROR = 1e-12;

const parseLot = ({ identifier, shares, cost, acquired, bought }: AccountLot): HeldLot => ({
  identifier,
  shares,
  cost,
  acquired: parseValidDay(acquired),
  ...(bought !== undefined && { bought: parseValidDay(bought) }),
});

export const formatLot = ({ acquired, bought, ...lot }: HeldLot): AccountLot => ({
  ...lot,
  acquired: formatDay(acquired),
  ...(bought !== undefined && { bought: formatDay(bought) }),
});

/** Separates the shares of a lot that have already replaced shares sold at a loss. */
function divideUsed(lot: AccountLot, used: number): AccountLot[] {
  if (!(used > SHARES_MIN)) return [lot];
  const usedLot = { ...lot, shares: Math.min(used, lot.shares), bought: lot.acquired };
  return used < lot.shares ? [usedLot, { ...lot, shares: lot.shares - used }] : [usedLot];
}

interface Gains {
  readonly short: number;
  readonly long: number;
}

/**
 * Returns the net losses of a year to carry forward, by term (short or long). They keep their term. Gains of the other
 * term offset them only if the netting rules permit it.
 * @source 26 U.S.C. 1212(b)(1)
 */
function computeCarriedLosses({ short, long }: Gains, netting: Account['tax']['netting']): Gains {
  const netGains = { short: Math.max(0, -short), long: Math.max(0, -long) };
  return netting === 'separate'
    ? netGains
    : { short: Math.max(0, netGains.short - Math.max(0, long)), long: Math.max(0, netGains.long - Math.max(0, short)) };
}

export interface HistoryTerms {
  readonly start: Day;
  readonly dividendRate: number;
}

const findYear = (day: Day): number => Number(formatDay(day).slice(0, 4));

/** Subtracts replacement shares from purchases outside the lots. Each share can replace only one sold share. */
function subtractReplacements(
  recent: readonly RecentTrade[],
  replacements: readonly Replacement[],
): readonly RecentTrade[] {
  let out = recent;
  for (const { fresh, shares } of replacements) {
    if (fresh.lot !== null) continue;
    let left = shares;
    out = out.flatMap((trade) => {
      const isSame = trade.identifier === fresh.identifier && parseValidDay(trade.date) === fresh.day;
      if (!isSame || !(left > 0 && trade.shares > 0)) return [trade];
      const takenShares = Math.min(left, trade.shares);
      left -= takenShares;
      return takenShares < trade.shares ? [{ ...trade, shares: trade.shares - takenShares }] : [];
    });
  }
  return out;
}
