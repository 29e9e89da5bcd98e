import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DataStore } from '#contract/stores.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const MARKET = { assets: 100, start: '2016-01-01', end: '2020-12-30', listings_per_year: 0, delistings_per_year: 0 };
const INDEX = {
  name: 'Pinned',
  calendar: 'XNYS',
  base_date: '2017-06-01',
  rebalance: { frequency: 'weekly' },
  pipeline: { weighting: { type: 'MinimumVarianceWeight', cap: 0.1 } },
};

async function generateStore(id: string, seed: number, market: object): Promise<DataStore> {
  await service.ask('POST', '/data/synthetic', { ...MARKET, store_id: id, seed, ...market });
  const { result } = await service.waitForJob(`generate:${id}`);
  return result as DataStore;
}

/** Returns the content hash that the run of an index records as its input. */
async function readContentHash(id: string): Promise<string> {
  const { status, result } = await service.waitForJob(`backtest:${id}`);
  expect(status).toBe('succeeded');
  return (result as { readonly store_content_hash: string }).store_content_hash;
}

/** Runs PINNED while its store is deleted. @returns true if the run had not ended before the deletion */
async function isOutliving(): Promise<boolean> {
  const first = await generateStore('first', 1, { activate: true });
  await service.ask('PUT', '/indices/PINNED', { ...INDEX, id: 'PINNED' });
  await service.ask('POST', '/analytics/PINNED/backtest');
  const fetchStatus = async () => (await service.ask<JobStatus>('GET', '/jobs/backtest:PINNED')).body.status;
  await expect.poll(fetchStatus, { interval: 5 }).not.toBe('pending');
  await service.ask('POST', '/data/stores/second/activate');
  expect(await service.waitForJob('load:second')).toMatchObject({ status: 'succeeded' });
  expect((await service.ask('GET', '/jobs/generate:first')).status).toBe(200);
  expect((await service.ask('DELETE', '/data/stores/first')).status).toBe(204);
  expect((await service.ask('GET', '/jobs/generate:first')).status).toBe(404);
  expect((await service.ask('GET', '/jobs/generate:second')).status).toBe(200);
  const isRunning = (await fetchStatus()) === 'running';
  expect(await readContentHash('PINNED')).toBe(first.content_hash);
  await service.ask('DELETE', '/indices/PINNED');
  return isRunning;
}

test('a run reads the store that was served when it began, although another is served and the first is deleted meanwhile', async () => {
  // The second store is small. Reading it takes a fraction of the time of the run on the first store.
  const second = await generateStore('second', 2, { activate: false, assets: 12 });
  while (!(await isOutliving()));
  await service.ask('PUT', '/indices/ALONE', { ...INDEX, id: 'ALONE' });
  await service.ask('POST', '/analytics/ALONE/backtest');
  expect(await readContentHash('ALONE')).toBe(second.content_hash);
});

test(
  'requests while stores are switched see one store or the other, never a mix and never none',
  { timeout: 120_000 },
  async () => {
    const names = ['A', 'B', 'C'];
    for (const price of [1, 2]) {
      const data = ['2024-01-02', '2024-01-03'].flatMap((day) => names.map((name) => [name, day, price]));
      const tables = {
        market: createFrame(['identifier', 'date', 'CLOSE'], data),
        reference: {
          index: names.map((_, i) => i),
          columns: ['identifier', 'PRICE'],
          data: names.map((name) => [name, price]),
        },
      };
      expect(
        (
          await service.ask('POST', '/data/import', {
            store_id: `at-${price}`,
            name: 'x',
            tables,
            activate: price === 1,
          })
        ).status,
      ).toBe(201);
    }
    const seenAnswers = new Map<string, number>();
    const switching = new AbortController();
    const read = async () => {
      while (!switching.signal.aborted) {
        const { status, body } = await service.ask<{ entries?: { fields: { CLOSE: number; PRICE: number } }[] }>(
          'GET',
          `/data/reference?identifiers=${names.join(',')}&fields=CLOSE,PRICE`,
        );
        const answerText = `${status} ${[...new Set(body.entries?.flatMap(({ fields }) => [fields.CLOSE, fields.PRICE]))].join(' and ')}`;
        seenAnswers.set(answerText, (seenAnswers.get(answerText) ?? 0) + 1);
      }
    };
    const readers = [read(), read(), read()];
    for (const price of [2, 1]) {
      await service.ask('POST', `/data/stores/at-${price}/activate`);
      expect(await service.waitForJob(`load:at-${price}`)).toMatchObject({ status: 'succeeded' });
      const computeAnswers = () => seenAnswers.get(`200 ${price}`) ?? 0;
      const before = computeAnswers();
      await expect.poll(computeAnswers, { interval: 5 }).toBeGreaterThan(before);
    }
    switching.abort();
    await Promise.all(readers);
    expect([...seenAnswers.keys()].sort()).toEqual(['200 1', '200 2']);
  },
);
