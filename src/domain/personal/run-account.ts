import { ACTION_KINDS, type CorporateAction } from '../market/market-data.js';
import { createIndexTerms } from '../books/index-run.js';
import { findCarriedUnder } from '../index-mathematics/growth.js';
import { createEffectTable } from '../index-mathematics/session-effects.js';
import { createExchangeRates } from '../market/exchange-rates.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Composer } from '../books/compositions.js';
import { Refusal, refuseWithFindings } from '../refusals/refusal.js';
import { parseValidDay, formatDay, type Day } from '../time/days.js';
import {
  createHistory,
  formatLot,
  type AccountHistory,
  type BookedTrade,
  type CashEntry,
  type TaxYear,
} from './account-history.js';
import { createAccountResult } from './account-result.js';
import type { AccountLot } from './account-request.js';
import type { AccountBacktestRequest } from './backtest-request.js';
import { indexSecurities, type BatchCommon } from './batch-common.js';
import { buildAccount } from './build-account.js';
import { composeCommon } from './compose-common.js';
import { applyToLots, applyToRecent, orderActions } from './lot-actions.js';
import { readAccount } from './read-account.js';
import { solveOne } from './solve-one.js';

/** Value of an account at the close of a session, in money. */
export interface AccountSession {
  readonly date: string;
  readonly value: number;
  readonly cash: number;
  /** Accrued tax of the current year, not yet paid. */
  readonly accrued_tax: number;
}

/** Rebalance of an account. */
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
  const history = createHistory(request.account, {
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
    if (due.has(session))
      rebalances.push(
        rebalanceAccount(history, {
          composer,
          parent,
          request,
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

/** Returns the first session, and the first session of each period. */
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
