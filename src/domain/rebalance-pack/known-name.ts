import type { ExchangeRates } from '../market/exchange-rates.js';
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
