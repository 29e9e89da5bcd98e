import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExchangeCalendars } from '#domain/calendars/exchange-calendars.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';

/** Last day of a seeded market, inclusive, in days since 1970-01-01. */
const LAST_DAY = 20_000;

/** Returns a market of random walks with quarterly dividends. Each call with equal arguments creates identical data. */
export function createSeededMarket(
  calendars: ExchangeCalendars,
  { names, sessions }: { readonly names: number; readonly sessions: number },
): MarketData {
  const all = calendars.get('XNYS')!.sessions;
  const last = all.findLastIndex((day) => day <= LAST_DAY);
  const dates = all.slice(last - sessions + 1, last + 1);
  let state = 0x9e3779b9;
  const drawRandom = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const identifiers = Array.from({ length: names }, (_, i) => `N${String(i).padStart(5, '0')}`);
  const price = Float64Array.from({ length: names }, () => 20 + 180 * drawRandom());
  const shares = Float64Array.from({ length: names }, () => Math.round(1e6 * Math.exp(4 * drawRandom())));
  const close = new Float64Array(sessions * names);
  const outstanding = new Float64Array(sessions * names);
  for (let t = 0; t < sessions; t++) {
    for (let i = 0; i < names; i++) {
      price[i]! *= 1 + 0.0003 + 0.05 * (drawRandom() - 0.5);
      close[t * names + i] = Math.max(1, Math.round(price[i]! * 100) / 100);
      outstanding[t * names + i] = shares[i]!;
    }
  }
  return {
    datasetId: 'bench',
    contentHash: `bench-${names}`,
    adjustment: 'none',
    identifiers,
    dates,
    fields: new Map([
      ['CLOSE', close],
      ['SHARES_OUTSTANDING', outstanding],
    ]),
    reference: { columns: [], rows: new Map() },
    actions: createQuarterlyDividends(identifiers, dates),
    universes: [],
  };
}

/**
 * Writes close.f64, shares.f64 and cash.f64 for a peer, [sessions x securities], row-major. Returns the two dimensions.
 */
export function writePanels(folder: string, market: MarketData): { readonly sessions: number; readonly names: number } {
  const { names, sessions } = { names: market.identifiers.length, sessions: market.dates.length };
  const cash = new Float64Array(sessions * names);
  const column = new Map(market.identifiers.map((identifier, i) => [identifier, i]));
  const row = new Map([...market.dates].map((day, t) => [day, t]));
  for (const { identifier, exDay, value } of market.actions)
    cash[row.get(exDay)! * names + column.get(identifier)!]! += value;
  const panels = { close: market.fields.get('CLOSE')!, shares: market.fields.get('SHARES_OUTSTANDING')!, cash };
  for (const [name, panel] of Object.entries(panels)) writeFileSync(join(folder, `${name}.f64`), panel);
  return { names, sessions };
}

/** Dividend per share. It is paid every 63 sessions, and the payment day differs between securities. */
const DIVIDEND = 0.2;

/** Returns the dividends of every security over some dates (days since 1970-01-01), by security and day. */
export function createQuarterlyDividends(identifiers: readonly string[], dates: ArrayLike<number>): CorporateAction[] {
  return identifiers.flatMap((identifier, i) => {
    const dividends: CorporateAction[] = [];
    for (let t = 20 + (i % 60); t < dates.length; t += 63)
      dividends.push({
        identifier,
        type: 'DIVIDEND',
        value: DIVIDEND,
        exDay: dates[t]!,
        payDay: null,
        status: 'paid',
        announcedDay: null,
        related: null,
        subscriptionPrice: null,
      });
    return dividends;
  });
}
