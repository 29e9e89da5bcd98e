import { expect, test } from 'vitest';
import { shareMarket } from '#domain/market/market-data.js';
import { createServedMarkets, prepareServedMarket } from '#market/serve/served-markets.js';
import { createMarket } from '../../workers/bits-market.js';

const LOADED_AT = '2024-01-02T00:00:00.000Z';

test('the memory of a market is found by its identity, or by an equal one, and not copied', async () => {
  const markets = createServedMarkets();
  const handle = shareMarket(createMarket(3, 4));
  const servedMarket = await prepareServedMarket(handle, LOADED_AT);
  markets.serve(servedMarket);
  expect(markets.handleOf(servedMarket.identity)).toBe(handle);
  expect(markets.handleOf({ ...servedMarket.identity })).toBe(handle);
});

test('a holder of an identity computes on that market while another is served', async () => {
  const markets = createServedMarkets();
  const before = await prepareServedMarket(shareMarket(createMarket(3, 4)), LOADED_AT);
  markets.serve(before);
  const after = await prepareServedMarket(shareMarket({ ...createMarket(3, 5), contentHash: 'later' }), LOADED_AT);
  markets.serve(after);
  expect(markets.handleOf(before.identity).contentHash).toBe('bits');
  expect(markets.handleOf(after.identity).contentHash).toBe('later');
});

test('a market that this process does not have is refused', () => {
  const identity = { datasetId: 'm', contentHash: 'other', adjustment: 'none' } as const;
  expect(() => createServedMarkets().handleOf(identity)).toThrow(expect.objectContaining({ code: 'NO_DATA_SOURCE' }));
});
