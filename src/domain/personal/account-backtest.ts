import { computeTax } from '#kernels/lots/account-program.js';
import { Refusal, refuseWithFindings } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Composer } from '../books/compositions.js';
import { readSpinOff } from '../books/events.js';
import { createIndexTerms } from '../books/index-run.js';
import { createEffectTable } from '../market/action-effects.js';
import { findCarriedUnder } from '../market/growth.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction } from '../market/market-data.js';
import { createExchangeRates } from '../market/rates.js';
import type { SessionMarket } from '../market/session-market.js';
import { type AccountTrade, createAccountResult } from './account-result.js';
import { buildAccount, solveOne } from './account-solve.js';
import {
  type Account,
  type AccountBacktestRequest,
  type AccountLot,
  DIVIDEND_RATE,
  type RecentTrade,
} from './account.js';
import { type BatchCommon, indexSecurities } from './batch.js';
import { composeCommon } from './common-terms.js';
import {
  addDisallowedLosses,
  computeTaxedSales,
  createWashRule,
  readWashWindow,
  type LotReplacement,
  SHARES_MIN,
} from './lots.js';
import { readAccount } from './read-account.js';
import {
  applyTransactions,
  checkTax,
  computeCarriedLosses,
  createPotReader,
  createTaxSides,
  findTaxYear,
  isDividendSecond,
  namePot,
  poolLots,
  readBalances,
  readMatchingDays,
  readRegime,
  readWashDays,
  withBalances,
} from './tax-regime.js';

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

interface LotsAfterAction {
  readonly lots: readonly HeldLot[];
  /** Cash received, excluding dividends. */
  readonly cash: number;
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

function applySpinOff(lot: HeldLot, action: CorporateAction, { adjustment, priceOf, out }: ActionContext): void {
  const spunOff = readSpinOff(action, { spin_offs: 'zero_price', adjustment });
  if (spunOff === null) return void out.lots.push(lot);
  const { identifier, ratio } = spunOff;
  const [parent, child] = [priceOf(lot.identifier), ratio * priceOf(identifier)];
  if (!(child > 0) || !(parent > 0)) return void out.lots.push(lot);
  const share = child / (parent + child);
  out.lots.push(
    { ...lot, cost: lot.cost * (1 - share) },
    { ...lot, identifier, shares: lot.shares * ratio, cost: (lot.cost * share) / ratio },
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

export interface RealisedLot {
  /** Start of the holding period. */
  readonly acquired: string;
  /** Cost basis per share. */
  readonly cost: number;
  /** Gain that is taxed, in money. */
  readonly gain: number;
  /** Loss that is added to the basis of the replacement, in money. */
  readonly disallowed_loss: number;
  /** Name of the pot of the gain. */
  readonly term: string;
}

/** Cash movement on a session, in money: positive into the account. */
interface CashEntry {
  readonly date: string;
  readonly kind: 'buy' | 'sell' | 'cost' | 'dividend' | 'action' | 'tax';
  readonly identifier: string | null;
  readonly shares: number;
  readonly amount: number;
  /** Sold lot; null if the movement realises no gain or loss. */
  readonly lot: RealisedLot | null;
}

interface TaxYear {
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
  readonly lot?: number;
};

/** Lots, cash and taxes of an account over time. */
interface AccountHistory {
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
  /** Joins the lots of each security that were bought before a day, if the regime has pools. */
  joinLots(day: Day): void;
  /** Ends the tax year if a day belongs to a later year, and pays the tax of the ended year. */
  payTaxes(day: Day): void;
}

export function createHistory(account: Account, historyTerms: HistoryTerms): AccountHistory {
  const { tax } = account;
  const regime = readRegime(tax);
  const isSecondPot = createPotReader(regime);
  const balances = readBalances(tax);
  const windowDays = Math.max(readWashDays(regime), readMatchingDays(regime));
  const window = readWashWindow(account, historyTerms.start);
  const state = {
    lots: account.lots.flatMap((lot, position) => divideUsed(lot, window.used.get(position) ?? 0)).map(parseLot),
    cash: account.cash,
    recent: window.trades,
    year: findTaxYear(regime, historyTerms.start),
    ...balances.realised,
    dividends: 0,
    carried: balances.carried,
  };
  const entries: CashEntry[] = [];
  const years: TaxYear[] = [];
  const sides = createTaxSides({ ...tax, loss_value: 0 }, 1);
  const dividendRate = regime.dividends === null ? historyTerms.dividendRate : 0;

  function recordEntry(day: Day, entry: UndatedEntry): void {
    const { shares = 0, lot = null } = entry;
    if (entry.amount === 0 && shares === 0) return;
    entries.push({ date: formatDay(day), ...entry, shares, lot });
    state.cash += entry.amount;
    if (lot !== null) addGain(lot.term === namePot(regime, false), lot.gain);
  }

  function addGain(isFirst: boolean, gain: number): void {
    state[isFirst ? 'short' : 'long'] += gain;
  }

  const computeYearTax = (): number =>
    Math.max(0, computeTax(sides, state.short - state.carried.short, state.long - state.carried.long)) +
    dividendRate * state.dividends;

  function createYear(isPaid: boolean): TaxYear {
    const { year, short, long, dividends, carried } = state;
    const gains = { year, short_gain: short, long_gain: long, dividends, carried: carried.short + carried.long };
    return { ...gains, tax: computeYearTax(), is_paid: isPaid };
  }

  function payTaxes(day: Day): void {
    if (findTaxYear(regime, day) === state.year) return;
    const { short, long, carried } = state;
    const endedYear = createYear(true);
    years.push(endedYear);
    recordEntry(day, { kind: 'tax', identifier: null, amount: -endedYear.tax });
    Object.assign(state, {
      year: findTaxYear(regime, day),
      short: 0,
      long: 0,
      dividends: 0,
      carried: computeCarriedLosses(regime, { short, long }, carried),
    });
  }

  /** Sells lots, and moves disallowed losses to the lots that replace them. Prices are per share by security. */
  function sell(day: Day, sold: ReadonlyMap<number, number>, prices: ReadonlyMap<string, number>): HeldLot[] {
    const lots = state.lots.map(formatLot);
    const rule = createWashRule({ ...account, lots }, day, { trades: state.recent, used: new Map() });
    const priceOf = (identifier: string): number => prices.get(identifier)!;
    const { sales, replacements } = computeTaxedSales(rule, sold, priceOf);
    const keptSales: RecentTrade[] = [];
    for (const { lot, shares, gain, disallowed, isLong } of sales) {
      const { identifier, cost, acquired } = lots[lot]!;
      const price = priceOf(identifier);
      const term = namePot(regime, isLong);
      const soldLot = { acquired, cost, gain, disallowed_loss: disallowed, term } as const;
      recordEntry(day, { kind: 'sell', identifier, amount: shares * price, shares: -shares, lot: soldLot });
      if (price < cost || readMatchingDays(regime) > 0)
        keptSales.push({ identifier, date: formatDay(day), shares: -shares, price, cost });
    }
    const remaining = lots.flatMap((lot, position) => {
      const shares = lot.shares - (sold.get(position) ?? 0);
      return shares < lot.shares * 1e-12 ? [] : [{ ...lot, shares, lot: position }];
    });
    state.recent = [...subtractReplacements(state.recent, replacements), ...keptSales];
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
      recent: state.recent.filter(({ date }) => day - parseValidDay(date) <= windowDays),
      tax: withBalances(tax, { realised: { short: state.short, long: state.long }, carried: state.carried }),
    }),
    actOnTrades(change) {
      state.recent = change(state.recent);
    },
    act(day, identifier, acted) {
      payTaxes(day);
      state.lots = [...acted.lots];
      recordEntry(day, { kind: 'dividend', identifier, amount: acted.dividends });
      state.dividends += acted.dividends;
      if (regime.dividends !== null) addGain(!isDividendSecond(regime), acted.dividends);
      const nameTerm = (acquired: string): string => namePot(regime, isSecondPot({ identifier, acquired }, day));
      for (const entry of listActionEntries(identifier, acted, nameTerm)) recordEntry(day, entry);
    },
    joinLots(day) {
      state.lots = [...poolLots(regime, state.lots, ({ acquired }) => acquired === day)];
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
function listActionEntries(
  identifier: string,
  { cash: total, gains }: LotsAfterAction,
  nameTerm: (acquired: string) => string,
): UndatedEntry[] {
  let otherCash = total;
  const entries = gains.map(({ amount: gain, cash, sold, cost, acquired }): UndatedEntry => {
    const term = nameTerm(formatDay(acquired));
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

const formatLot = ({ acquired, bought, ...lot }: HeldLot): AccountLot => ({
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

export interface HistoryTerms {
  readonly start: Day;
  readonly dividendRate: number;
}

/** Subtracts replacement shares from purchases outside the lots. Each share can replace only one sold share. */
function subtractReplacements(
  recent: readonly RecentTrade[],
  replacements: readonly LotReplacement[],
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

/** Value of an account at the close of a session, in money. */
export interface AccountSession {
  readonly date: string;
  readonly value: number;
  readonly cash: number;
  /** Accrued tax of the current year, not yet paid. */
  readonly accrued_tax: number;
}

export interface AccountRebalance {
  readonly date: string;
  readonly status: string;
  readonly trades: number;
  readonly turnover: number;
  readonly tracking_error: number;
  readonly gap: number;
  readonly avoided_wash_sales: number;
}

export interface AccountBacktest {
  readonly sessions: readonly AccountSession[];
  readonly rebalances: readonly AccountRebalance[];
  readonly entries: readonly CashEntry[];
  readonly years: readonly TaxYear[];
  readonly lots: readonly AccountLot[];
}

export interface AccountRunInput {
  readonly composer: Composer;
  readonly parent: string;
  readonly request: Omit<AccountBacktestRequest, 'backtest_id'>;
  readonly report: (fraction: number) => void;
}

/**
 * Runs an account over the history of its parent, after tax. Every decision uses data up to the close at which the
 * account trades. Taxes of a year are paid before the first trades of the next year.
 * @throws Refusal NO_DATA_AT_DATE, LOOK_AHEAD, MODEL_LACKS_NAMES, VALIDATION_FAILED
 */
export function runAccount({ composer, parent, request, report }: AccountRunInput): AccountBacktest {
  const sm = composer.market(parent);
  const [first, last] = findRange(sm, request);
  const document = composer.document(parent);
  const rates = createExchangeRates(sm, document.currency);
  const effects = createEffectTable(sm, createIndexTerms({ treatment: composer.treatment(parent), document }));
  const getPrice = (session: number, identifier: string): number => {
    const column = sm.columnOf(identifier);
    if (column < 0) return Number.NaN;
    return (
      findCarriedUnder(sm, effects, session, column) * (rates.isNative(column) ? 1 : rates.rateAt(session, column))
    );
  };
  const account = readStartAccount(request, sm.sessions[first]!);
  const history = createHistory(account, {
    start: sm.sessions[first]!,
    dividendRate: request.dividend_rate,
  });
  const sessions: AccountSession[] = [];
  const rebalances: AccountRebalance[] = [];
  const due = listDueSessions(sm.sessions, { first, last, every: request.rebalance });
  for (let session = first; session <= last; session++) {
    report((session - first) / (last - first + 1));
    const day = sm.sessions[session]!;
    if (session > first)
      applyActions(history, {
        sm,
        session,
        priceAt: getPrice,
        rateAt: (column) => (rates.isNative(column) ? 1 : rates.rateAt(session, column)),
      });
    history.payTaxes(day);
    history.joinLots(day);
    if (due.has(session))
      rebalances.push(
        rebalanceAccount(history, {
          composer,
          parent,
          request: { ...request, account },
          day,
          priceOf: (identifier) => getPrice(session, identifier),
        }),
      );
    let value = history.cash;
    for (const { identifier, shares, cost } of history.lots) {
      const price = getPrice(session, identifier);
      value += shares * (price > 0 ? price : cost);
    }
    sessions.push({ date: formatDay(day), value, cash: history.cash, accrued_tax: history.accrued() });
  }
  return {
    sessions,
    rebalances,
    entries: history.entries,
    years: history.years,
    lots: history.lots.map(formatLot),
  };
}

/** Returns the account with its lots before the first session. @throws Refusal VALIDATION_FAILED */
function readStartAccount({ account, dividend_rate: rate }: AccountRunInput['request'], start: Day): Account {
  const findings = checkTax(account, start).map((finding) => ({
    ...finding,
    path: `account.${finding.path}`,
    message: `account.${finding.message}`,
  }));
  const late = account.transactions.findIndex(({ date }) => parseValidDay(date) > start);
  if (late >= 0) {
    const path = `account.transactions[${late}].date`;
    const value = account.transactions[late]!.date;
    const message = `${path}: ${value} is after the first session, ${formatDay(start)}.`;
    findings.push({ severity: 'error', code: 'BAD_DATE', path, message, value });
  }
  const { regime } = account.tax;
  if (regime !== null && regime.dividends !== null && rate !== DIVIDEND_RATE)
    findings.push({
      severity: 'error',
      code: 'NO_EFFECT',
      path: 'dividend_rate',
      message: `dividend_rate: ${rate} has no effect: dividends belong to the pot ${regime.dividends}.`,
      value: rate,
    });
  if (findings.length > 0) throw refuseWithFindings('request', findings);
  return { ...applyTransactions(account, start), transactions: [] };
}

function findRange(sm: SessionMarket, { start, end, account }: AccountRunInput['request']): [number, number] {
  if (sm.market.adjustment === 'total')
    throw new Refusal(
      'NO_DATA_AT_DATE',
      'The prices of the store include dividends. A backtest after tax needs prices without dividends.',
    );
  const first = sm.sessionAt(parseValidDay(start) - 1) + 1;
  const last = end === null ? sm.sessions.length - 1 : sm.sessionAt(parseValidDay(end));
  if (first > last)
    throw new Refusal('NO_DATA_AT_DATE', `The data contains no session from ${start} to ${end ?? 'their last date'}.`);
  const late = account.lots.findIndex(({ acquired }) => parseValidDay(acquired) > sm.sessions[first]!);
  if (late >= 0) {
    const path = `account.lots[${late}].acquired`;
    const value = account.lots[late]!.acquired;
    const message = `${path}: ${value} is after the first session, ${formatDay(sm.sessions[first]!)}.`;
    throw refuseWithFindings('request', [{ severity: 'error', code: 'BAD_DATE', path, message, value }]);
  }
  return [first, last];
}

const MONTHS_PER_PERIOD = { monthly: 1, quarterly: 3, yearly: 12 } as const;

function listDueSessions(
  sessions: Int32Array,
  {
    first,
    last,
    every,
  }: { readonly first: number; readonly last: number; readonly every: keyof typeof MONTHS_PER_PERIOD },
): ReadonlySet<number> {
  const findPeriod = (session: number): number => {
    const [year, month] = formatDay(sessions[session]!).split('-').map(Number) as [number, number];
    return year * 12 + Math.floor((month - 1) / MONTHS_PER_PERIOD[every]) * MONTHS_PER_PERIOD[every];
  };
  const due = new Set([first]);
  for (let session = first + 1; session <= last; session++)
    if (findPeriod(session) !== findPeriod(session - 1)) due.add(session);
  return due;
}

interface SessionTerms {
  readonly sm: SessionMarket;
  readonly session: number;
  readonly priceAt: (session: number, identifier: string) => number;
  readonly rateAt: (column: number) => number;
}

function applyActions(history: AccountHistory, { sm, session, priceAt, rateAt }: SessionTerms): void {
  const { all, starts } = sm.actions;
  const priceOf = (identifier: string): number => priceAt(session, identifier);
  for (const { column, action } of orderActions(all.slice(starts[session], starts[session + 1]), priceOf)) {
    history.actOnTrades((recent) => applyToRecent(recent, action, sm.market.adjustment));
    if (!history.lots.some(({ identifier }) => identifier === action.identifier)) continue;
    const actionResult = applyToLots(history.lots, convertAction(action, rateAt(column)), {
      adjustment: sm.market.adjustment,
      priceOf,
    });
    history.act(sm.sessions[session]!, action.identifier, actionResult);
  }
}

/** Converts the amounts of an action into another currency. */
function convertAction(action: CorporateAction, rate: number): CorporateAction {
  const isMoney = ACTION_KINDS[action.type] === 'cash' || action.type === 'ACQUISITION' || action.type === 'DELISTING';
  return {
    ...action,
    ...(isMoney && { value: action.value * rate }),
    ...(action.cash !== undefined && { cash: action.cash * rate }),
  };
}

interface RebalanceTerms extends Pick<AccountRunInput, 'composer' | 'parent' | 'request'> {
  readonly day: Day;
  readonly priceOf: (identifier: string) => number;
}

/** Sells the securities that the risk model does not cover, then trades according to the solver. */
function rebalanceAccount(
  history: AccountHistory,
  { composer, parent, request, day, priceOf }: RebalanceTerms,
): AccountRebalance {
  const { account: accountRequest, risk_model, objective, constraints, whole_shares, search_nodes } = request;
  const terms = { parent, risk_model, objective, constraints, whole_shares, search_nodes, as_of: formatDay(day) };
  const batchCommon = composeCommon(composer, terms);
  const costRate = objective.cost_bps / 10_000;
  sellUncovered(history, { common: batchCommon, day, costRate, priceOf });
  const { account, positions } = removeUncovered(batchCommon, history.accountOn(accountRequest, day));
  const checkedAccount = { ...account, cash: Math.max(0, account.cash) };
  const { findings } = readAccount(batchCommon, checkedAccount, { path: 'account', line: null });
  if (findings.length > 0) throw refuseWithFindings('request', findings);
  const builtAccount = buildAccount(batchCommon, account, { trades: account.recent, used: new Map() });
  const result = createAccountResult(batchCommon, solveOne(batchCommon, builtAccount), []);
  if (result.status === 'infeasible') return createRebalance(formatDay(day), result, 0);
  const trades = result.trades.map((trade) => ({
    ...trade,
    ...(trade.lot !== undefined && { lot: positions[trade.lot]! }),
  }));
  history.trade(day, trades, costRate);
  return createRebalance(
    formatDay(day),
    result,
    result.trades.reduce((sum, { value }) => sum + value, 0) / 2 / result.value,
  );
}

function createRebalance(
  date: string,
  result: ReturnType<typeof createAccountResult>,
  turnover: number,
): AccountRebalance {
  return {
    date,
    status: result.status,
    trades: result.status === 'infeasible' ? 0 : result.trades.length,
    turnover,
    tracking_error: result.status === 'infeasible' ? result.tracking_error_before : result.tracking_error,
    gap: result.certificate.gap,
    avoided_wash_sales: result.avoided_wash_sales.length,
  };
}

interface Uncovered {
  readonly common: BatchCommon;
  readonly day: Day;
  readonly costRate: number;
  readonly priceOf: (identifier: string) => number;
}

function sellUncovered(history: AccountHistory, { common, day, costRate, priceOf }: Uncovered): void {
  const positionByName = indexSecurities(common);
  const trades = history.lots.flatMap(({ identifier, shares }, lot): BookedTrade[] => {
    const price = priceOf(identifier);
    return positionByName.has(identifier) || !(price > 0) ? [] : [{ identifier, side: 'sell', shares, price, lot }];
  });
  if (trades.length > 0) history.trade(day, trades, costRate);
}

/**
 * Removes securities that the risk model does not cover on a day from an account. @returns the account, and the indices
 * of its remaining lots
 */
function removeUncovered(common: BatchCommon, account: ReturnType<AccountHistory['accountOn']>) {
  const positionByName = indexSecurities(common);
  const positions = account.lots.flatMap(({ identifier }, position) =>
    positionByName.has(identifier) ? [position] : [],
  );
  const tilts = Object.fromEntries(Object.entries(account.tilts).filter(([name]) => positionByName.has(name)));
  return { account: { ...account, lots: positions.map((position) => account.lots[position]!), tilts }, positions };
}
