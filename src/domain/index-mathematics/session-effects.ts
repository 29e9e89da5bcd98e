import { createWithholding, type WithholdingTax } from './withholding.js';
import {
  carryClose,
  computeOpeningFactor,
  countSharesOfPayments,
  spreadPayments,
} from '../index-mathematics/adjusted-close.js';
import { createExchangeRates, findRedenomination } from '../market/exchange-rates.js';
import { ACTION_KINDS, type CorporateAction } from '../market/market-data.js';
import type { SessionAction } from '../market/session-actions.js';
import type { Day } from '../time/days.js';
import {
  computeEffect,
  computeReinvestedShare,
  combineEffects,
  type SessionEffect,
} from '../index-mathematics/session-effect.js';
import { placeSpinOffs, valueDistribution } from './spin-offs.js';
import { createKey, findTerms, holdsShares, type GrowthTerms } from './growth-terms.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';

/** Effect on a security. */
export interface SecurityEffect extends SessionEffect {
  readonly column: number;
}

/**
 * Effects of all sessions as columns, ordered by session and security, [A] each. A simulation reads the effects session
 * by session.
 */
export interface EffectTable {
  /** Columns of the securities. */
  readonly columns: Int32Array;
  readonly ratio: Float64Array;
  readonly cash: Float64Array;
  readonly rights: Float64Array;
  readonly subscription: Float64Array;
  readonly special: Float64Array;
  readonly income: Float64Array;
  readonly spunOff: Float64Array;
  readonly detached: Float64Array;
  /** Ordinary dividends before and after tax. 0 if the paying security reinvests them. */
  readonly ordinary: Float64Array;
  readonly net: Float64Array;
  /** Position of the first effect of each session, [S + 1]. */
  readonly starts: Int32Array;
  /** 1 for a session on which corporate actions change units of holdings, [S]. */
  readonly isOpening: Uint8Array;
  readonly terms: GrowthTerms;
  /** Returns the terms on a session. */
  readonly getTerms: (session: number) => GrowthTerms;
  /** Carried close of the security of each effect on its session; NaN until it is computed, [A]. */
  readonly carried: Float64Array;
  /** Session of each effect, [A]. */
  readonly sessions: Int32Array;
}

/** Maximum number of terms with cached effects: more than the number of variants of a definition. */
const TABLES_MAX = 8;

const tablesByMarket = new WeakMap<SessionMarket, Map<string, EffectTable>>();

/** Returns the effects of all actions under given terms. @cost O(A) once per market and terms */
export function createEffectTable(sm: SessionMarket, terms: GrowthTerms): EffectTable {
  let tables = tablesByMarket.get(sm);
  if (!tables) tablesByMarket.set(sm, (tables = new Map()));
  const key = createKey(terms);
  let table = tables.get(key);
  if (!table) {
    tables.set(key, (table = readEffects(sm, terms)));
    if (tables.size > TABLES_MAX) tables.delete(tables.keys().next().value!);
  }
  return table;
}

/** Returns the effect on a security on a session. Returns undefined without an effect. */
export function findEffect(table: EffectTable, session: number, column: number): SecurityEffect | undefined {
  const { columns, starts } = table;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) if (columns[e] === column) return readEffect(table, e);
  return undefined;
}

/** Returns the effect at a position. */
export function readEffect(table: EffectTable, position: number): SecurityEffect {
  const { columns, ratio, cash, rights, subscription, special, income, spunOff, detached } = table;
  return {
    column: columns[position]!,
    ratio: ratio[position]!,
    cash: cash[position]!,
    rights: rights[position]!,
    subscription: subscription[position]!,
    special: special[position]!,
    income: income[position]!,
    spunOff: spunOff[position]!,
    detached: detached[position]!,
  };
}

/**
 * Returns the ratio of two market values of a holding: after an effect has adjusted the previous close, and at that
 * close.
 * @param before carried close
 */
export function computeOpening(table: EffectTable, position: number, before: number): number {
  return computeOpeningFactor(readEffect(table, position), before, table.getTerms(table.sessions[position]!));
}

/**
 * Returns true if an effect may change the units of a holding. If units are not shares, only an adjustment of the
 * previous close that changes the value of a holding does.
 */
function hasOpening({ ratio, rights, special, cash }: SessionEffect, terms: GrowthTerms): boolean {
  if (holdsShares(terms)) return ratio !== 1 || rights > 0 || special > 0 || cash > 0;
  return special > 0 || (rights > 0 && terms.rights !== 'constituent') || (ratio !== 1 && terms.splitShares === 'keep');
}

interface ListedEffect {
  readonly effect: SecurityEffect;
  readonly session: number;
  /** Ordinary dividends before and after tax. */
  readonly ordinary: number;
  readonly net: number;
}

function readEffects(sm: SessionMarket, terms: GrowthTerms): EffectTable {
  const getTerms = createTermsBySession(sm, terms);
  const listedEffects = listEffects(sm, getTerms);
  const starts = new Int32Array(sm.sessions.length + 1);
  const isOpening = new Uint8Array(sm.sessions.length);
  for (const { effect, session } of listedEffects) {
    starts[session + 1]!++;
    if (hasOpening(effect, getTerms(session))) isOpening[session] = 1;
  }
  for (let s = 0; s < sm.sessions.length; s++) starts[s + 1]! += starts[s]!;
  const getEffects = (member: keyof SessionEffect): Float64Array =>
    Float64Array.from(listedEffects, ({ effect }) => effect[member]);
  const ordinaryDividends = Float64Array.from(listedEffects, (listedEffect) => listedEffect.ordinary);
  return {
    columns: Int32Array.from(listedEffects, ({ effect }) => effect.column),
    ratio: getEffects('ratio'),
    cash: getEffects('cash'),
    rights: getEffects('rights'),
    subscription: getEffects('subscription'),
    special: getEffects('special'),
    income: getEffects('income'),
    spunOff: getEffects('spunOff'),
    detached: getEffects('detached'),
    ordinary: ordinaryDividends,
    net: Float64Array.from(listedEffects, (listedEffect) => listedEffect.net),
    starts,
    isOpening,
    terms,
    getTerms,
    carried: new Float64Array(listedEffects.length).fill(Number.NaN),
    sessions: Int32Array.from(listedEffects, ({ session }) => session),
  };
}

function createTermsBySession({ sessions }: SessionMarket, terms: GrowthTerms): EffectTable['getTerms'] {
  if (terms.amended === undefined) return () => terms;
  const termsBySession = new Map<number, GrowthTerms>();
  return (session) => {
    const result = termsBySession.get(session) ?? findTerms(terms, sessions[session]!);
    termsBySession.set(session, result);
    return result;
  };
}

/** Returns one combined effect per security and session, in order. */
function listEffects(sm: SessionMarket, getTerms: EffectTable['getTerms']): ListedEffect[] {
  const list: ListedEffect[] = [];
  const withholdingByTax = new Map<WithholdingTax, ReturnType<typeof createWithholding>>();
  const findWithholding = ({ withholdingTax: tax }: GrowthTerms): ReturnType<typeof createWithholding> => {
    const findWithheldFraction = withholdingByTax.get(tax) ?? createWithholding(sm.market, tax);
    withholdingByTax.set(tax, findWithheldFraction);
    return findWithheldFraction;
  };
  for (const sessionAction of placeSpinOffs(sm)) {
    const { column, session } = sessionAction;
    const terms = getTerms(session);
    const action = convertAmounts(sm, terms, sessionAction);
    const withheldFraction = findWithholding(terms)(action.identifier, sm.sessions[session]!);
    const change = computeEffect(action, sm.market.adjustment, terms, withheldFraction, () =>
      valueDistribution(sm, terms, sessionAction),
    );
    if (change === undefined) continue;
    const ordinaryDividend = action.type === 'DIVIDEND' && terms.reinvestment === 'index' ? action.value : 0;
    const net = ordinaryDividend * computeReinvestedShare('net', withheldFraction);
    const before = list.at(-1);
    if (before?.effect.column === column && session === before.session) {
      const effect = { column, ...combineEffects(before.effect, change) };
      list[list.length - 1] = { effect, session, ordinary: before.ordinary + ordinaryDividend, net: before.net + net };
    } else list.push({ effect: { column, ...change }, session, ordinary: ordinaryDividend, net });
  }
  return list.map((listed) => payBeforeRights(sm, listed, getTerms(listed.session), list));
}

/**
 * Returns an action with its amounts in the currencies in which they apply. Amounts are stated in the currency of the
 * security on the ex-date. Those that adjust the previous close apply in the currency of that close, at its rate.
 */
function convertAmounts(
  sm: SessionMarket,
  { currency, specialDividends }: GrowthTerms,
  { action, column, session }: SessionAction,
): CorporateAction {
  const rates = createExchangeRates(sm, currency);
  const isCash = ACTION_KINDS[action.type] === 'cash';
  const isPaid = isCash && (action.type === 'DIVIDEND' || specialDividends !== 'adjust');
  const on = isPaid ? session : Math.max(0, session - 1);
  const conversion = { column, stated: action.exDay, wanted: sm.sessions[on]!, session: on };
  if (rates.convert(1, conversion) === 1) return action;
  const { value, subscriptionPrice } = action;
  return {
    ...action,
    value: isCash ? rates.convert(value, conversion) : value,
    subscriptionPrice: subscriptionPrice && rates.convert(subscriptionPrice, conversion),
  };
}

/**
 * Converts payments of a session with a rights issue to amounts per index share after it.
 * @param earlier effects before it, in order
 */
function payBeforeRights(
  sm: SessionMarket,
  { effect, ...listed }: ListedEffect,
  terms: GrowthTerms,
  earlier: readonly ListedEffect[],
): ListedEffect {
  const { session, ordinary, net } = listed;
  if (effect.rights === 0 || session <= sm.first) return { effect, ...listed };
  const paid = { ...effect, income: effect.income + ordinary }; // the price return has points without income
  const shares = countSharesOfPayments(
    paid,
    findCarriedBefore(sm, { session, column: effect.column }, terms, earlier),
    terms,
  );
  return {
    session,
    effect: { column: effect.column, ...spreadPayments(effect, shares) },
    ordinary: ordinary / shares,
    net: net / shares,
  };
}

/** Returns the close that a security carries before a session: its latest close after the effects since. */
function findCarriedBefore(
  sm: SessionMarket,
  { session, column }: Pick<LaterEvents, 'session' | 'column'>,
  { currency }: GrowthTerms,
  earlier: readonly ListedEffect[],
): number {
  const bar = sm.lastBar[readPanelRow(sm, session - 1) + column]!;
  // Without an action since, or in a market that begins later than the bar, only splits are known.
  if (bar < sm.first || bar === session - 1) return sm.carriedClose(session - 1, column);
  const { redenominations } = createExchangeRates(sm, currency);
  let price = sm.carriedClose(bar, column);
  for (let s = bar + 1; s < session; s++) {
    const passed = earlier.find((one) => one.session === s && one.effect.column === column);
    if (passed !== undefined) price = carryClose(passed.effect, price);
    price *= findRedenomination(redenominations, s, column);
  }
  return price;
}

interface LaterEvents {
  readonly session: number;
  readonly column: number;
  readonly day: Day;
}

/** Returns the effect of the actions of a session after a day. Returns undefined if there are none. */
export function findEffectAfter(
  sm: SessionMarket,
  terms: GrowthTerms,
  { session, column, day }: LaterEvents,
): SessionEffect | undefined {
  const { all, starts } = sm.actions;
  let effect: SessionEffect | undefined;
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const { action } = all[a]!;
    if (all[a]!.column !== column || action.exDay <= day) continue;
    const change = computeEffect(action, sm.market.adjustment, terms, 0, () => valueDistribution(sm, terms, all[a]!));
    if (change !== undefined) effect = effect === undefined ? change : combineEffects(effect, change);
  }
  return effect;
}
