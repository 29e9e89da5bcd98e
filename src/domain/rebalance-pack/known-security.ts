import { readCarriedClose } from '../index-mathematics/growth.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import type { ExchangeRates } from '../market/exchange-rates.js';
import { ACTION_KINDS } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import type { KnownSecurity } from './pack.js';

export interface MarketOnSession {
  readonly sm: SessionMarket;
  /** Exchange rates into the currency of the index. */
  readonly rates: ExchangeRates;
  /** Terms of the index. Its holdings and the orders have one price, also without a bar on the session. */
  readonly growth: GrowthTerms;
  readonly session: number;
  /** Number of sessions with a price bar over which the volume is averaged. */
  readonly sessions: number;
}

/** Returns the data of a security at a close; the price is NaN if there is none. */
export function readSecurityAsKnown(marketOnSession: MarketOnSession, column: number, weight: number): KnownSecurity {
  const { sm, rates, growth, session } = marketOnSession;
  return {
    identifier: sm.identifiers[column]!,
    weight,
    price: readCarriedClose(sm, growth, session, column) * (rates.isNative(column) ? 1 : rates.rateAt(session, column)),
    adv: computeMeanVolume(marketOnSession, column),
  };
}

/**
 * Returns the data of a security at an earlier close, on the share basis of a later session. Splits between the two are
 * applied to price and volume. A security without a price at the earlier close keeps its later data.
 * @param later data on the later session
 */
export function readSecurityBefore(
  marketOnSession: MarketOnSession,
  later: KnownSecurity,
  until: number,
): KnownSecurity {
  const { sm, session } = marketOnSession;
  const column = sm.columnOf(later.identifier);
  const ratio = multiplySplits(sm, column, { after: session, until });
  const { price, adv } = readSecurityAsKnown(marketOnSession, column, later.weight);
  if (!Number.isFinite(price)) return later;
  return { ...later, price: price / ratio, adv: adv === null ? null : adv * ratio };
}

interface Split {
  readonly session: number;
  /** Shares after the split divided by shares before. */
  readonly ratio: number;
}

const NO_SPLITS: readonly Split[] = [];

/**
 * Splits of each security by market, latest last. There are none if the prices of the store are already adjusted for
 * splits.
 */
const splitsByMarket = new WeakMap<SessionMarket, ReadonlyMap<number, readonly Split[]>>();

function listSplits(sm: SessionMarket, column: number): readonly Split[] {
  const splitsByColumn = splitsByMarket.get(sm) ?? listAllSplits(sm);
  splitsByMarket.set(sm, splitsByColumn);
  return splitsByColumn.get(column) ?? NO_SPLITS;
}

function listAllSplits({ actions, market }: SessionMarket): ReadonlyMap<number, readonly Split[]> {
  const splits = new Map<number, Split[]>();
  if (market.adjustment !== 'none') return splits;
  for (const { session, column, action } of actions.all) {
    if (ACTION_KINDS[action.type] !== 'ratio') continue;
    const columnSplits = splits.get(column) ?? [];
    columnSplits.push({ session, ratio: action.value });
    splits.set(column, columnSplits);
  }
  return splits;
}

/** Returns the number of shares on a later session per share on an earlier one. */
function multiplySplits(
  sm: SessionMarket,
  column: number,
  { after, until }: { readonly after: number; readonly until: number },
): number {
  let ratio = 1;
  for (const split of listSplits(sm, column)) if (split.session > after && split.session <= until) ratio *= split.ratio;
  return ratio;
}

/**
 * Returns the mean VOLUME over the latest sessions with a value, in shares on the share basis of the session. Returns
 * null without a value.
 */
function computeMeanVolume({ sm, session, sessions }: MarketOnSession, column: number): number | null {
  const volumes = sm.market.fields.get('VOLUME');
  if (volumes === undefined) return null;
  const splits = listSplits(sm, column);
  let split = splits.findLastIndex((one) => one.session <= session);
  let ratio = 1;
  let sum = 0;
  let count = 0;
  for (let position = session; position >= 0 && count < sessions; position--) {
    while (split >= 0 && splits[split]!.session > position) ratio *= splits[split--]!.ratio;
    const volume = sm.valueAt(volumes, position, column);
    if (Number.isNaN(volume)) continue;
    sum += volume * ratio;
    count++;
  }
  return count === 0 ? null : sum / count;
}
