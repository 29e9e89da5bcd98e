import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { createRunFiles } from '#domain/backtest/run-file/write.js';
import { countRetainedBytes, joinBytes } from '#base/memory.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { canPage, limitMemory, findMemoryLimit } from '#kernels/memory/paged-memory.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createZeroPanel } from '#market/panels/panels.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { createMarket } from '../../workers/bits-market.js';
import { createPlainDecider } from './test-deciders.js';

const createFolder = openTemporaryFolders();

const document = IndexDocument.parse({
  id: 'X',
  name: 'X',
  calendar: 'XNYS',
  base_date: '2022-02-01',
  rebalance: { frequency: 'monthly' },
  pipeline: { weighting: { type: 'EqualWeight' }, treatment: { dividends: 'price' } },
});

/** Returns the stored files of a run. The memory limit decides how the panel of the market is stored. */
function createFiles(): readonly [columns: Uint8Array, prices: Uint8Array] {
  const result = createMarket(120, 500);
  const close = createZeroPanel(120 * 500);
  close.set(result.fields.get('CLOSE')!);
  const run = runBacktest({
    market: { ...result, fields: new Map([['CLOSE', close]]) },
    calendars: openCalendars(),
    createDecider: createPlainDecider,
    report: () => {},
    plan: {
      runId: 'X',
      name: 'X',
      indexId: 'X',
      documents: { X: document },
      request: { benchmark: null, start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: 10 },
    },
  });
  const { columns, prices } = createRunFiles(run, { contentHash: 'bits', apartBytesMin: 0 });
  return [columns, joinBytes(prices!)];
}

test('a run on paged panels has the bits of one in memory', async ({ skip }) => {
  const usualLimit = findMemoryLimit();
  const inMemory = createFiles();
  try {
    limitMemory({ panelBytes: 100_000, folder: await createFolder() });
    if (!canPage()) skip('memory is paged on Linux with the optional package koffi');
    const pagedFiles = createFiles();
    expect([countRetainedBytes(1000), countRetainedBytes(3_200_000)]).toEqual([1000, 100_000]);
    expect(readFileSync('/proc/self/maps', 'utf8')).toContain(findMemoryLimit().folder);
    expect(pagedFiles.map((bytes, i) => Buffer.compare(bytes, inMemory[i]!))).toEqual([0, 0]);
  } finally {
    limitMemory(usualLimit);
  }
});
