import { threadId } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { openMarketOn } from '#domain/market/session-market.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { createReturnTerms } from '#domain/market/action-effects.js';
import { computeGrowth, computeValueIndex } from '#domain/market/growth.js';
import { type MarketHandle, shareMarket } from '#domain/market/market-data.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import { openCachedCalendars, openCachedMarket } from '#workers/input/inputs.js';
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
