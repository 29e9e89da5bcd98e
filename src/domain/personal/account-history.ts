import { computeTax } from '#kernels/lots/account-program.js';
import { formatDay, type Day } from '../time/days.js';
import type { Account, RecentTrade } from './account-request.js';
import type { AccountTrade } from './account-result.js';
import type { LotsAfterAction, HeldLot, RealisedGain } from './lot-actions.js';
import { createTaxSides } from './tax-sides.js';
import { isLongTerm } from './wash-sales.js';

/** Cash movement on a session, in money: positive into the account. */
export interface CashEntry {
  readonly date: string;
  readonly kind: 'buy' | 'sell' | 'cost' | 'dividend' | 'action' | 'tax';
  readonly identifier: string | null;
  readonly shares: number;
  readonly amount: number;
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
}

/** Trade of a rebalance, as recorded in the account history. */
export type BookedTrade = Pick<AccountTrade, 'identifier' | 'side' | 'shares' | 'price'> & {
  /** Index of the lot before the trades. */
  readonly lot?: number;
  /** Loss disallowed by the wash sale rule. */
  readonly disallowed_loss?: number;
  /** Term of the gain. Default: by the holding period of the lot. */
  readonly term?: 'short' | 'long';
};

/** Lots, cash and taxes of an account over time. */
export interface AccountHistory {
  readonly lots: readonly HeldLot[];
  readonly cash: number;
  readonly entries: readonly CashEntry[];
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

export function createHistory(
  { lots, cash, tax, substitutes, recent }: Account,
  historyTerms: HistoryTerms,
): AccountHistory {
  const state = {
    lots: lots.map((lot): HeldLot => ({ ...lot, acquired: historyTerms.dayOf(lot.acquired) })),
    cash,
    recent: [...recent] as readonly RecentTrade[],
    year: findYear(historyTerms.start),
    short: tax.realised.short,
    long: tax.realised.long,
    dividends: 0,
    carried: { short: tax.carry_forward, long: 0 } as Gains,
  };
  const entries: CashEntry[] = [];
  const years: TaxYear[] = [];
  const sides = createTaxSides({ ...tax, loss_value: 0 });

  function recordEntry(day: Day, kind: CashEntry['kind'], identifier: string | null, amount: number, shares = 0): void {
    if (amount === 0 && shares === 0) return;
    entries.push({ date: formatDay(day), kind, identifier, shares, amount });
    state.cash += amount;
  }

  function realiseGain(day: Day, { amount, acquired }: RealisedGain, term?: BookedTrade['term']): void {
    if (term === undefined ? isLongTerm(formatDay(acquired), day) : term === 'long') state.long += amount;
    else state.short += amount;
  }

  const computeYearTax = (): number =>
    Math.max(0, computeTax(sides, state.short - state.carried.short, state.long - state.carried.long)) +
    historyTerms.dividendRate * state.dividends;

  function payTaxes(day: Day): void {
    if (findYear(day) === state.year) return;
    const { year, short, long, dividends, carried } = state;
    const due = computeYearTax();
    const before = carried.short + carried.long;
    years.push({ year, short_gain: short, long_gain: long, dividends, carried: before, tax: due });
    recordEntry(day, 'tax', null, -due);
    Object.assign(state, {
      year: findYear(day),
      short: 0,
      long: 0,
      dividends: 0,
      carried: computeCarriedLosses({ short: short - carried.short, long: long - carried.long }, tax.netting),
    });
  }

  return {
    get lots() {
      return state.lots;
    },
    get cash() {
      return state.cash;
    },
    entries,
    years,
    accrued: computeYearTax,
    accountOn: (account, day) => ({
      ...account,
      cash: state.cash,
      lots: state.lots.map(({ acquired, ...lot }) => ({ ...lot, acquired: formatDay(acquired) })),
      recent: state.recent.filter(({ date }) => day - historyTerms.dayOf(date) <= tax.wash_sale_days),
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
      recordEntry(day, 'dividend', identifier, acted.dividends);
      recordEntry(day, 'action', identifier, acted.cash);
      state.dividends += acted.dividends;
      for (const gain of acted.gains) realiseGain(day, gain);
    },
    trade(day, trades, costRate) {
      const openLots: (HeldLot & { left: number })[] = state.lots.map((lot) => ({ ...lot, left: lot.shares }));
      const boughtLots: HeldLot[] = [];
      const movedLosses: DisallowedLoss[] = [];
      const recordedTrades: RecentTrade[] = [];
      let notional = 0;
      for (const { identifier, side, shares, price, lot: lotPosition, disallowed_loss: loss = 0, term } of trades) {
        notional += shares * price;
        if (side === 'buy') {
          recordEntry(day, 'buy', identifier, -shares * price, shares);
          boughtLots.push({ identifier, shares, cost: price, acquired: day });
          recordedTrades.push({ identifier, date: formatDay(day), shares, price });
          continue;
        }
        const openLot = openLots[lotPosition!]!;
        const soldShares = Math.min(shares, openLot.left);
        openLot.left = openLot.left - soldShares < openLot.shares * 1e-12 ? 0 : openLot.left - soldShares;
        recordEntry(day, 'sell', identifier, soldShares * price, -soldShares);
        realiseGain(day, { amount: soldShares * (price - openLot.cost) + loss, acquired: openLot.acquired }, term);
        if (loss > 0) movedLosses.push({ identifier, shares: soldShares, loss, held: day - openLot.acquired });
        recordedTrades.push({ identifier, date: formatDay(day), shares: -soldShares, price, cost: openLot.cost });
      }
      recordEntry(day, 'cost', null, -notional * costRate);
      const heldLots = openLots
        .filter(({ left }) => left > 0)
        .map(({ left, ...lot }): HeldLot => ({ ...lot, shares: left }));
      state.recent = [...state.recent, ...recordedTrades];
      const terms = { day, days: tax.wash_sale_days, dayOf: historyTerms.dayOf, substitutes };
      state.lots = addDisallowedLosses([...heldLots, ...boughtLots], movedLosses, terms);
      state.recent = subtractReplacements(state.recent, movedLosses, terms);
    },
    payTaxes,
  };
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
  readonly dayOf: (date: string) => Day;
}

const findYear = (day: Day): number => Number(formatDay(day).slice(0, 4));

interface DisallowedLoss {
  readonly identifier: string;
  readonly shares: number;
  readonly loss: number;
  /** Number of days for which the sold shares were held. */
  readonly held: number;
}

interface WashWindow {
  readonly day: Day;
  readonly days: number;
  readonly dayOf: HistoryTerms['dayOf'];
  readonly substitutes: Account['substitutes'];
}

const isAlike = ({ substitutes }: WashWindow, a: string, b: string): boolean =>
  a === b || substitutes.some((group) => group.includes(a) && group.includes(b));

/**
 * Adds disallowed losses to the basis of shares bought within the window, in lot order. Also adds the holding period of
 * the sold shares.
 * @source 26 U.S.C. 1091(d), 1223(3)
 */
function addDisallowedLosses(
  lots: readonly HeldLot[],
  movedLosses: readonly DisallowedLoss[],
  window: WashWindow,
): HeldLot[] {
  const out = [...lots];
  for (const { identifier, shares, loss, held } of movedLosses) {
    let left = shares;
    for (let position = 0; position < out.length && left > 0; position++) {
      const lot = out[position]!;
      if (window.day - lot.acquired > window.days || !isAlike(window, lot.identifier, identifier)) continue;
      const takenShares = Math.min(left, lot.shares);
      const raisedLot = { ...lot, shares: takenShares, cost: lot.cost + loss / shares, acquired: lot.acquired - held };
      out.splice(
        position,
        1,
        raisedLot,
        ...(takenShares < lot.shares ? [{ ...lot, shares: lot.shares - takenShares }] : []),
      );
      left -= takenShares;
    }
  }
  return out;
}

/** Subtracts replacement shares from the purchases within the window. Each share can replace only one sold share. */
function subtractReplacements(
  recent: readonly RecentTrade[],
  movedLosses: readonly DisallowedLoss[],
  window: WashWindow,
): readonly RecentTrade[] {
  let out = recent;
  for (const { identifier, shares } of movedLosses) {
    let left = shares;
    out = out.flatMap((trade) => {
      const isLeft = left > 0 && trade.shares > 0 && window.day - window.dayOf(trade.date) <= window.days;
      if (!isLeft || !isAlike(window, trade.identifier, identifier)) return [trade];
      const takenShares = Math.min(left, trade.shares);
      left -= takenShares;
      return takenShares < trade.shares ? [{ ...trade, shares: trade.shares - takenShares }] : [];
    });
  }
  return out;
}
