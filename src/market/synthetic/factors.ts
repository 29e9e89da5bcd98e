import { toCivilDate } from '#domain/time/days.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { drawClusteredShocks } from './shocks.js';
import { SESSIONS_PER_YEAR, type SyntheticSpec } from './spec.js';

/** Volatility of a sector in addition to the market, as a fraction of market volatility. */
const SECTOR_SHARE = 0.5;

/** First numbers of random streams by purpose. The streams of securities come last. */
export const STREAMS = { market: 0, listings: 1, sectors: 2, names: 64 } as const;

/** Common factors of all securities, by session. */
export interface Factors {
  /** Returns of the market and of each sector. */
  readonly market: Float64Array;
  readonly sectors: readonly Float64Array[];
  /** Month of each session, 1 to 12, and its position among the sessions of the month, from 0. */
  readonly month: Uint8Array;
  readonly monthSession: Uint8Array;
}

export function drawFactors({ seed, sessions, sectors, market_return, market_volatility }: SyntheticSpec): Factors {
  const dailyVolatility = market_volatility / Math.sqrt(SESSIONS_PER_YEAR);
  const drawPath = (stream: number, deviation: number, drift: number) => {
    const shocks = drawClusteredShocks(createCounterRandom({ seed, stream }), {
      deviation,
      reaction: 0.08,
      persistence: 0.9,
    });
    return Float64Array.from(sessions, () => drift + shocks.next());
  };
  const month = Uint8Array.from(sessions, (day) => toCivilDate(day).month);
  const monthSession = new Uint8Array(sessions.length);
  for (let t = 1; t < sessions.length; t++) monthSession[t] = month[t] === month[t - 1] ? monthSession[t - 1]! + 1 : 0;
  return {
    month,
    monthSession,
    market: drawPath(STREAMS.market, dailyVolatility, market_return / SESSIONS_PER_YEAR),
    sectors: Array.from({ length: sectors }, (_, sector) =>
      drawPath(STREAMS.sectors + sector, SECTOR_SHARE * dailyVolatility, 0),
    ),
  };
}
