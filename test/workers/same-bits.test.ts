import { createHash } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { RiskModelRequest } from '#domain/documents/risk-model-document.js';
import { shareMarket } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { planSimulation, SimulationRequest, tallyBytes } from '#domain/simulation/simulation.js';
import { createPool } from '#jobs/pool.js';
import type { ComputePool } from '#jobs/compute-pool.js';
import { counterRandom } from '#kernels/random/counter-random.js';
import { randomPanel } from '../kernels/engines/agreement.js';
import { golden } from '../kernels/golden.js';
import { shareTileRows } from './share-tile-rows.js';

const never = new AbortController().signal;
const pools: ComputePool[] = [];
const pool = (workers: number): ComputePool => {
  const opened = createPool({ workers });
  pools.push(opened);
  return opened;
};
afterAll(() => Promise.all(pools.map((opened) => opened.close())));

/** 60 names over 200 days, every one with every bar. */
function market(): MarketData {
  const random = counterRandom({ seed: 11, stream: 0 });
  const names = 60;
  const close = new Float64Array(names * 200).fill(50);
  for (let at = names; at < close.length; at++) close[at] = close[at - names]! * (1 + 0.01 * random.normal());
  return {
    storeId: 'bits', contentHash: 'bits', adjustment: 'none',
    identifiers: Array.from({ length: names }, (_, i) => `N${100 + i}`),
    dates: Int32Array.from({ length: 200 }, (_, t) => 19_000 + t),
    fields: new Map([['CLOSE', close]]), reference: { columns: [], rows: new Map() }, actions: [], universes: [],
  };
}

const handle = shareMarket(market());
const identifiers = Array.from({ length: 60 }, (_, i) => `N${100 + i}`);
const sha = (bytes: ArrayBufferLike | Uint8Array): string => createHash('sha256').update(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)).digest('hex');

describe('one, two and four workers give the same bits of', () => {
  test('stored models, estimated side by side', async () => {
    const requests = [{}, { intensity_method: 'ledoit_wolf' }, { half_life: 40, target: 'scaled_identity' }, { intensity: 0 }] as const;
    const estimates = async (workers: number) => {
      const on = pool(workers);
      const outputs = await Promise.all(
        requests.map((request) => on.run({ lane: 'heavy', task: 'estimate-risk-model', input: { market: handle, universe: { kind: 'names', identifiers }, request: RiskModelRequest.parse({ identifiers, ...request }) }, signal: never }).output),
      );
      return outputs.map(({ covariance, diagnostics }) => [sha(covariance.bytes), diagnostics]);
    };
    const alone = await estimates(1);
    expect(await estimates(2)).toEqual(alone);
    expect(await estimates(4)).toEqual(alone);
  });

  test('simulated paths', async () => {
    const moments = { mean: 0.0003, deviation: 0.012 };
    const plan = planSimulation(SimulationRequest.parse({ paths: 20_000, horizon: 40 }), { kind: 'gaussian', ...moments }, moments);
    const paths = async (workers: number) => {
      const on = pool(workers);
      const memory = new SharedArrayBuffer(tallyBytes(plan));
      await Promise.all(plan.cuts.slice(1).map((_, part) => on.run({ lane: 'heavy', task: 'simulate-paths', input: { plan, part, memory }, signal: never }).output));
      return sha(new Uint8Array(memory).slice());
    };
    const alone = await paths(1);
    expect(await paths(2)).toBe(alone);
    expect(await paths(4)).toBe(alone);
  });

  test('a product whose tile rows they share over one memory', async () => {
    const x = randomPanel(300, 150);
    const alone = await shareTileRows(x, 150, 1);
    expect(await shareTileRows(x, 150, 2)).toEqual(alone);
    expect(await shareTileRows(x, 150, 4)).toEqual(alone);
  });
});

test('the bits of this Node are those recorded on Node 20, 22 and 24', async () => {
  const { kernelBits } = await import('./kernel-bits.js');
  expect(kernelBits()).toEqual(golden<{ bits: Record<string, string> }>('bits').bits);
});
