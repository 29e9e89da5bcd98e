import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type MarketData, openMarket, shareMarket } from '#domain/market/market-data.js';
import { encodeSnapshot, prepareServedMarket, readSnapshot } from '#market/serve/served-markets.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';

const MARKET: MarketData = {
  datasetId: 'market',
  contentHash: 'c'.repeat(64),
  adjustment: 'splits',
  currency: 'EUR',
  identifiers: ['A', 'B\n"Ü'],
  dates: Int32Array.of(19_724, 19_725, 19_726),
  fields: new Map([
    ['CLOSE', Float64Array.of(1, -0, Number.NaN, 1e-310, 0.1 + 0.2, Infinity)],
    ['VOLUME', Float64Array.of(1, 2, 3, 4, 5, 6)],
  ]),
  reference: { columns: ['SECTOR'], rows: new Map([['A', [{ from: null, values: { SECTOR: 'Energy' } }]]]) },
  actions: [],
  universes: [],
} as unknown as MarketData;

test('a market is read as it was written, bit for bit, without the spare capacity after its panels', async () => {
  const handle = shareMarket(MARKET);
  const fields = handle.fields.map(({ name, values }) => {
    const memory = new SharedArrayBuffer(values.byteLength + 80);
    new Uint8Array(memory).fill(7).set(new Uint8Array(values));
    return { name, values: memory };
  });
  const digests = { blocks: Uint8Array.of(1, 255), tables: Uint8Array.of(2), history: Uint8Array.of() };
  const file = { dataset: 'market', label: 'a.csv' } as never;
  const servedMarket = await prepareServedMarket({ ...handle, fields, digests }, '2026-01-02T00:00:00.000000+00:00', [
    file,
  ]);
  const path = join(await createTemporaryFolder(), 'snapshot');
  await writeFile(path, await encodeSnapshot(servedMarket));
  const read = await readSnapshot(path);
  expect(read).toMatchObject({ loadedAt: servedMarket.loadedAt, files: [file] });
  expect(read.handle.digests).toEqual(digests);
  const [before, after] = [openMarket(handle), openMarket(read.handle)];
  expect({ ...after, fields: null }).toEqual({ ...before, fields: null });
  const listBits = (market: MarketData) =>
    [...market.fields].map(([name, { buffer }]) => [name, Buffer.from(buffer).toString('hex')]);
  expect(listBits(after)).toEqual(listBits(before));
});
