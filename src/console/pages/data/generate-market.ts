import type { DataStore, GenerateSyntheticRequest } from '#clients/typescript/divisor.js';
import { type OnRefusal, submitJob } from '../../state/actions.js';
import { service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';

export const MARKET_WORDS =
  'Prices, dividends, splits, listings and annual accounts of companies that do not exist. The same settings give the same result on every machine.';

/** Returns settings of a market of several years with an unused id. */
export function createMarket(stores: readonly DataStore[]): JsonObject {
  const takenIds = new Set(stores.map(({ store_id: id }) => id));
  let n = 1;
  while (takenIds.has(n === 1 ? 'market' : `market-${n}`)) n++;
  const [id, name] = n === 1 ? ['market', 'Generated market'] : [`market-${n}`, `Generated market ${n}`];
  return { store_id: id, name, assets: 150, start: '2018-01-01', seed: 42 };
}

export const submitGeneration = (settings: JsonObject, onRefusal: OnRefusal) =>
  submitJob(
    () => service.value.call('generateSynthetic', { body: settings as unknown as GenerateSyntheticRequest }),
    onRefusal,
  );
