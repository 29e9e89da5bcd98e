import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createIndexBody, startLoadedService, type LoadedService } from './loaded-service.js';
import { IS_SOAK } from '../soak.js';

/** Service that computes, pauses and computes again. The tests measure its resident memory. */
let service: LoadedService;
beforeAll(async () => {
  if (IS_SOAK) service = await startLoadedService(['--workers', '2']);
});
afterAll(() => service?.close());

const INDICES = 8;
/** Length of the pause in ms. The service frees memory after 30 s without work, once its views are prepared. */
const PAUSE_MS = 50_000;
/**
 * Maximum growth in MB. Code, the market and cached views of warm threads need it. It was twice as much before threads
 * released their young generation.
 */
const GROWTH_MB_MAX = 150;

async function runBacktests(from: number, to: number): Promise<void> {
  let next = from;
  const submitBacktests = async (): Promise<void> => {
    for (let i = next++; i < to; i = next++) {
      const indexId = `I${i % INDICES}`;
      await service.ask('POST', `/analytics/${indexId}/backtest`, { transaction_cost_bps: i / 10 });
      expect((await service.waitForJob(`backtest:${indexId}`)).error).toBeNull();
    }
  };
  await Promise.all([submitBacktests(), submitBacktests(), submitBacktests()]);
}

test('memory goes back after work, and does not grow from one time of work to the next', async ({ skip }) => {
  if (!IS_SOAK) skip('pauses for 100 s: npm run soak');
  const body = { store_id: 'market', seed: 1, assets: 60, start: '2021-01-04', end: '2024-12-31' };
  await service.ask('POST', '/data/synthetic', body);
  expect((await service.waitForJob('generate:market')).error).toBeNull();
  for (let i = 0; i < INDICES; i++)
    await service.ask('PUT', `/indices/I${i}`, { ...createIndexBody(`I${i}`), base_date: body.start });
  const start = await service.resident();
  const restedBytes: number[] = [];
  for (let round = 0; round < 2; round++) {
    await runBacktests(round * 200, (round + 1) * 200);
    const workedBytes = await service.resident();
    await sleep(PAUSE_MS);
    restedBytes.push(await service.resident());
    const sizes = [start, workedBytes, restedBytes[round]!].map((size) => size.toFixed(0));
    console.log(`resident at the start, after work and after the pause, MB: ${sizes.join(' ')}`);
  }
  expect(restedBytes[0]! - start).toBeLessThan(GROWTH_MB_MAX);
  expect(restedBytes[1]! - restedBytes[0]!).toBeLessThan(50);
});
