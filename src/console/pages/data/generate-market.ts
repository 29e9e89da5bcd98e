import type { DataStore } from '#clients/typescript/divisor.js';
import { start, type OnRefusal } from '../../state/actions.js';
import { service } from '../../state/service.js';

/** Years of 150 generated companies and those that come in place of others, as in the guide. */
const MARKET = { store_id: 'market', name: 'Generated market', seed: 42, assets: 150, start: '2018-01-01' } as const;

export const MARKET_WORDS =
  'About 150 companies, with entries and exits, prices, dividends, splits and annual accounts since 2018. The result is the same on every machine.';

/** Generates a market under an id that no store has yet. */
export function generateMarket(
  stores: readonly DataStore[],
  { activate }: { readonly activate: boolean },
  onRefusal: OnRefusal,
) {
  const taken = new Set(stores.map(({ store_id: id }) => id));
  let id: string = MARKET.store_id;
  let n = 1;
  while (taken.has(id)) id = `${MARKET.store_id}-${++n}`;
  const name = n === 1 ? MARKET.name : `${MARKET.name} ${n}`;
  return start(
    () => service.value.call('generateSynthetic', { body: { ...MARKET, store_id: id, name, activate } }),
    onRefusal,
  );
}
