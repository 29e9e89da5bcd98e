import type { ExchangeRates } from '../market/exchange-rates.js';
import { ACTION_KINDS } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import type { KnownName } from './pack.js';

export interface KnownOn {
  readonly sm: SessionMarket;
  /** To the currency of the index. */
  readonly rates: ExchangeRates;
  readonly session: number;
  /** Sessions with a bar in the mean volume. */
  readonly sessions: number;
}

/** What is known of a name at a close; its price is NaN where it has none. */
export function knownName(known: KnownOn, column: number, weight: number): KnownName {
  const { sm, rates, session } = known;
  return {
    identifier: sm.identifiers[column]!,
    weight,
    price: sm.carriedClose(session, column) * (rates.isNative(column) ? 1 : rates.rateAt(session, column)),
    adv: meanVolume(known, column),
  };
}

/**
 * The same at an earlier close, on the share basis of a later session: splits between the two are undone. What had no
 * price then is as it is later.
 * @param later as it is known on that session
 */
export function knownBefore(known: KnownOn, later: KnownName, until: number): KnownName {
  const { sm, session } = known;
  const column = sm.columnOf(later.identifier);
  const ratio = splitsBetween(sm, column, { after: session, until });
  const { price, adv } = knownName(known, column, later.weight);
  if (!Number.isFinite(price)) return later;
  return { ...later, price: price / ratio, adv: adv === null ? null : adv * ratio };
}

/** Shares of a later session for one share of an earlier one. */
function splitsBetween(
  { actions, market }: SessionMarket,
  column: number,
  { after, until }: { readonly after: number; readonly until: number },
): number {
  if (market.adjustment !== 'none') return 1;
  const { all, starts } = actions;
  let ratio = 1;
  for (let a = starts[after + 1]!; a < starts[until + 1]!; a++) {
    const { column: of, action } = all[a]!;
    if (of === column && ACTION_KINDS[action.type] === 'ratio') ratio *= action.value;
  }
  return ratio;
}

/** Mean VOLUME of the last sessions that have one, null without any. */
function meanVolume({ sm, session, sessions }: KnownOn, column: number): number | null {
  const volumes = sm.market.fields.get('VOLUME');
  if (volumes === undefined) return null;
  let sum = 0;
  let count = 0;
  for (let at = session; at >= 0 && count < sessions; at--) {
    const volume = sm.valueAt(volumes, at, column);
    if (Number.isNaN(volume)) continue;
    sum += volume;
    count++;
  }
  return count === 0 ? null : sum / count;
}
