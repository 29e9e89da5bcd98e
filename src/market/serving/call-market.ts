import { AsyncLocalStorage } from 'node:async_hooks';
import type { Markets, ServedMarket } from './markets.js';

/** Market of a call; undefined after the end of the call. */
interface Context {
  market: ServedMarket | undefined;
}

const calls = new AsyncLocalStorage<Context | undefined>();

/**
 * Runs a call on a market: all code that the call awaits reads this market, regardless of the active store. Work that
 * continues after the call does not keep the market in memory.
 */
export async function onMarket<T>(market: ServedMarket, work: () => T | Promise<T>): Promise<T> {
  const context: Context = { market };
  try {
    return await calls.run(context, work);
  } finally {
    context.market = undefined;
  }
}

/** Runs work of the service, such as background work, on the active store. */
export const runOffMarket = <T>(work: () => T): T => calls.run(undefined, work);

/**
 * Returns the market of the current call; undefined outside calls, which read the active store. @throws Error after the
 * end of the call
 */
export function getCallMarket(): ServedMarket | undefined {
  const context = calls.getStore();
  if (context === undefined) return undefined;
  if (context.market === undefined) throw new Error('a market was read after the end of the call that it belonged to');
  return context.market;
}

/** Returns markets with the market of the current call, otherwise the active market. */
export function createCallMarkets<M extends Markets>(active: M): M {
  return {
    ...active,
    served: () => getCallMarket() ?? active.served(),
    current: () => getCallMarket() ?? active.current(),
    require: () => getCallMarket() ?? active.require(),
  };
}
