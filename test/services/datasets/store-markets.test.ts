import { expect, test } from 'vitest';
import type { DatasetDocument } from '#domain/definition/datasets.js';
import { shareMarket } from '#domain/market/market-data.js';
import {
  createServedMarkets,
  getCallMarket,
  prepareServedMarket,
  type ServedMarket,
} from '#market/serve/served-markets.js';
import { withinReach } from '#services/keys/access.js';
import type { SourceContext } from '#services/shared/store-documents.js';
import { createStoreMarkets } from '#services/stores/serving.js';
import type { DocumentStore } from '#store/port.js';
import { createTestContext } from '../context.js';
import { createDatasetDocument } from './dataset-documents.js';
import { waitFor } from '../../waiting.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const DAYS = 64;
const NAMES = ['A', 'B'];
const STORE_BYTES = 8 * DAYS * NAMES.length;

/** Returns a market in which every close is the version number. */
function createMarket(datasetId: string, version: number): Promise<ServedMarket> {
  const market = {
    datasetId,
    contentHash: `${datasetId} ${version}`,
    adjustment: 'none' as const,
    identifiers: NAMES,
    dates: Int32Array.from({ length: DAYS }, (_, day) => day),
    fields: new Map([['CLOSE', new Float64Array(DAYS * NAMES.length).fill(version)]]),
    ...NO_TABLES,
  };
  return prepareServedMarket(shareMarket(market), '2026-01-01T00:00:00+00:00');
}

/** Creates stores with numbered contents. `desk` is the active store. */
async function openStoreWorld(keptBytesMax: number) {
  const versions = new Map<string, number>();
  const markets = createServedMarkets();
  markets.serve(await createMarket('desk', 1));
  const loads: string[] = [];
  const documents = {
    async get(_kind: string, id: string) {
      const version = versions.get(id) ?? (id === 'gone' ? undefined : 1);
      if (version === undefined) return undefined;
      const body = { ...createDatasetDocument(id, { active: id === 'desk' }), content_hash: `${id} ${version}` };
      return { id, body, etag: '', updatedAt: '' };
    },
  } as unknown as DocumentStore; // only the members that the code under test reads
  const reads: { gate?: Promise<void> } = {};
  const load = async ({ store_id: id, content_hash: hash }: DatasetDocument) => {
    loads.push(id);
    await reads.gate;
    return createMarket(id, Number(hash!.split(' ')[1]));
  };
  const stores = createStoreMarkets(createTestContext<SourceContext>({ documents, markets }), load, keptBytesMax);
  return { stores, markets, loads, reads, change: (id: string) => versions.set(id, (versions.get(id) ?? 1) + 1) };
}

test('stores are loaded at their first use, once for concurrent callers; the active store never', async () => {
  const { stores, markets, loads } = await openStoreWorld(10 * STORE_BYTES);
  const [first, second] = await Promise.all([stores.of('east'), stores.of('east')]);
  expect(first).toBe(second);
  expect(await stores.of('desk')).toBe(markets.served());
  expect(await stores.of('east')).toBe(first);
  expect([loads, stores.listKept()]).toEqual([['east'], ['east']]);
  await expect(stores.of('gone')).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' });
});

test('kept stores stay within their memory: the least recently used is released, the last one used never', async () => {
  const { stores, loads } = await openStoreWorld(2 * STORE_BYTES);
  for (const id of ['east', 'west', 'east', 'north']) await stores.of(id);
  expect(stores.listKept()).toEqual(['east', 'north']);
  const smallWorld = await openStoreWorld(STORE_BYTES / 2);
  for (const id of ['east', 'west']) await smallWorld.stores.of(id);
  expect(smallWorld.stores.listKept()).toEqual(['west']);
  expect(loads).toEqual(['east', 'west', 'north']);
});

test('a released content that a call still uses is not read again, but another content is', async () => {
  const { stores, loads, change } = await openStoreWorld(STORE_BYTES);
  await stores.within('east', async () => {
    const callMarket = getCallMarket();
    await stores.of('west');
    expect(stores.listKept()).toEqual(['west']);
    expect(await stores.of('east')).toBe(callMarket);
  });
  expect(loads).toEqual(['east', 'west']);
  change('east');
  expect((await stores.of('east')).identity.contentHash).toBe('east 2');
  expect(loads).toEqual(['east', 'west', 'east']);
});

test('a call after a change of a store does not get the content that an earlier call is still reading', async () => {
  const { stores, loads, reads, change } = await openStoreWorld(10 * STORE_BYTES);
  let open = (): void => {};
  reads.gate = new Promise((resolve) => (open = resolve));
  const earlierMarket = stores.of('east');
  await waitFor(() => expect(loads).toEqual(['east']));
  change('east');
  const laterMarket = stores.of('east');
  open();
  expect((await laterMarket).identity.contentHash).toBe('east 2');
  await earlierMarket;
  expect((await stores.of('east')).identity.contentHash).toBe('east 2');
});

test('a removed store is removed from memory', async () => {
  const { stores } = await openStoreWorld(10 * STORE_BYTES);
  await stores.of('east');
  stores.onRemoved({ store_id: 'east' });
  expect(stores.listKept()).toEqual([]);
});

test('a call reads its market to its end, whatever the store has meanwhile, and not after it', async () => {
  const { stores, change } = await openStoreWorld(10 * STORE_BYTES);
  let lateMarket: Promise<unknown> | undefined;
  await stores.within('east', async () => {
    change('east');
    await stores.of('east');
    expect(getCallMarket()?.identity.contentHash).toBe('east 1');
    lateMarket = new Promise((resolve) => setTimeout(resolve, 5)).then(getCallMarket);
    await stores.within(null, async () => expect(getCallMarket()?.identity.datasetId).toBe('east'));
    await stores.within('desk', async () => expect(getCallMarket()?.identity.datasetId).toBe('desk'));
  });
  expect(getCallMarket()).toBeUndefined();
  await expect(lateMarket).rejects.toThrow('after the end of the call');
});

test('a key that is limited to prefixes reads the active store, its own and those shared with it', async () => {
  const { stores } = await openStoreWorld(10 * STORE_BYTES);
  const reach = { prefixes: ['alpha-'], shared: new Set(['store/east']), isHidden: false };
  await withinReach(reach, async () => {
    for (const id of ['desk', 'alpha-own', 'east']) expect((await stores.of(id)).identity.datasetId).toBe(id);
    await expect(stores.of('west')).rejects.toMatchObject({ code: 'FORBIDDEN_ID' });
  });
});
