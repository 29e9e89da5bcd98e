import { AsyncLocalStorage } from 'node:async_hooks';
import type { Markets, ServedMarket } from './markets.js';

/** The market of a call; undefined once the call has ended. */
interface Context {
  market: ServedMarket | undefined;
}

const calls = new AsyncLocalStorage<Context | undefined>();

/**
 * Runs a call on a market: everything that the call awaits reads this market, regardless of the active store. Work that
 * outlives the call does not keep the market in memory.
 */
export async function onMarket<T>(market: ServedMarket, work: () => T | Promise<T>): Promise<T> {
  const context: Context = { market };
  try {
    return await calls.run(context, work);
  } finally {
    context.market = undefined;
  }
}

/** Runs work of the service itself, on the active store. */
export const runOffMarket = <T>(work: () => T): T => calls.run(undefined, work);

/** The market of the present call; undefined if it reads the active store. */
export function marketOfCall(): ServedMarket | undefined {
  const context = calls.getStore();
  if (context === undefined) return undefined;
  if (context.market === undefined) throw new Error('a market was read after the end of the call that it belonged to');
  return context.market;
}

/** Returns the markets as calls read them: the market of the call, otherwise the active one. */
export function marketsOfCalls<M extends Markets>(active: M): M {
  return {
    ...active,
    served: () => marketOfCall() ?? active.served(),
    current: () => marketOfCall() ?? active.current(),
    require: () => marketOfCall() ?? active.require(),
  };
}
