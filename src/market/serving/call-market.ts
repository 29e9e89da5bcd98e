import { AsyncLocalStorage } from 'node:async_hooks';
import type { Markets, ServedMarket } from './markets.js';

/** Market that a call reads. It is undefined after the end of the call. */
interface Context {
  market: ServedMarket | undefined;
}

const calls = new AsyncLocalStorage<Context | undefined>();

/**
 * Runs a call on a market. All code that the call awaits reads this market, even if another store becomes active. Work
 * that continues after the call does not keep the market in memory.
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
 * Returns the market of the current call. Returns undefined outside calls, where code reads the active store. @throws
 * Error after the end of the call
 */
export function getCallMarket(): ServedMarket | undefined {
  const context = calls.getStore();
  if (context === undefined) return undefined;
  if (context.market === undefined) throw new Error('a market was read after the end of the call that it belonged to');
  return context.market;
}

/** Wraps access to markets. It returns the market of the current call if there is one, otherwise the active market. */
export function createCallMarkets<M extends Markets>(active: M): M {
  return {
    ...active,
    served: () => getCallMarket() ?? active.served(),
    current: () => getCallMarket() ?? active.current(),
    require: () => getCallMarket() ?? active.require(),
  };
}
