import type { MarketData } from '#domain/market/market-data.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { NO_TABLES } from '../domain/backtest/market-builder.js';

/** Returns a market of securities with a price on every day. */
export function createMarket(names: number, days: number): MarketData {
  const random = createCounterRandom({ seed: 11, stream: 0 });
  const close = new Float64Array(names * days).fill(50);
  for (let i = names; i < close.length; i++) close[i] = close[i - names]! * (1 + 0.01 * random.normal());
  return {
    datasetId: `bits ${names}`,
    contentHash: 'bits',
    adjustment: 'none',
    identifiers: createNames(names),
    dates: Int32Array.from({ length: days }, (_, t) => 19_000 + t),
    fields: new Map([['CLOSE', close]]),
    ...NO_TABLES,
  };
}

export function createNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `N${10_000 + i}`);
}
