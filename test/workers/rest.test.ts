import { threadId } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { openMarketOn } from '#domain/market/session-market.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { createReturnTerms } from '#domain/market/action-effects.js';
import { computeGrowth, computeValueIndex } from '#domain/market/growth.js';
import { type MarketHandle, shareMarket } from '#domain/market/market-data.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import { openCachedCalendars, openCachedMarket, runOnEngine } from '#workers/input/inputs.js';
import { releaseMemory } from '#workers/tasks.js';
import { createMarket } from './bits-market.js';

const TERMS = createReturnTerms(TreatmentSpec.parse({}), 'USD', 'total');
const control: TaskControl = { report: () => {} };
const handle: MarketHandle = shareMarket(createMarket(4, 300));

const openAligned = () =>
  openMarketOn({ market: openCachedMarket(handle), calendars: openCachedCalendars(), code: 'XNYS' });

test('a prepared thread keeps its market at rest and computes equal panels again', async () => {
  const sm = openAligned();
  const before = [computeGrowth(sm, TERMS), computeValueIndex(sm, TERMS)];
  expect(computeGrowth(sm, TERMS)).toBe(before[0]);
  await releaseMemory({ prepared: threadId }, control);
  expect(openAligned()).toBe(sm);
  const after = [computeGrowth(sm, TERMS), computeValueIndex(sm, TERMS)];
  for (const [k, panel] of after.entries()) {
    expect(panel).not.toBe(before[k]);
    expect(panel).toEqual(before[k]);
  }
});

test('another thread closes its market at rest and opens an equal one again', async () => {
  const sm = openAligned();
  const before = computeValueIndex(sm, TERMS);
  await releaseMemory({ prepared: threadId + 1 }, control);
  const again = openAligned();
  expect(again).not.toBe(sm);
  expect(computeValueIndex(again, TERMS)).toEqual(before);
});

test('a thread at rest frees the arena of its kernels, and the next product has the same bits', async () => {
  const n = 400;
  const x = Float64Array.from({ length: n * n }, (_, k) => Math.sin(k));
  const multiply = () =>
    runOnEngine((engine) => {
      const out = new Float64Array(n * n);
      engine.gemm({ rows: n, inner: n, columns: n }, x, x, out);
      return { out, bytes: engine.bytes() };
    });
  const before = await multiply();
  expect(before.bytes).toBeGreaterThan(3 * x.byteLength); // two operands and the product
  await releaseMemory({ prepared: threadId }, control);
  expect(await runOnEngine((engine) => engine.bytes())).toBeLessThan(x.byteLength);
  expect((await multiply()).out).toEqual(before.out);
});
