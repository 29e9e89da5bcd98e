import { tmpdir } from 'node:os';
import { afterEach, expect, test } from 'vitest';
import { describePanels } from '#cli/compose/core.js';
import { canPage, limitMemory } from '#kernels/memory/paged-memory.js';
import type { ServedMarket } from '#market/serve/served-markets.js';

const restorers: (() => void)[] = [];
afterEach(() => restorers.splice(0).forEach((take) => take()));

/** 1,024 dates x 512 securities x 3 columns x 8 bytes: 12 MiB. */
const servedStore = {
  market: {
    datasetId: 'eod',
    dates: new Int32Array(1024),
    identifiers: Array.from({ length: 512 }, (_, i) => `N${i}`),
    fields: new Map(['OPEN', 'CLOSE', 'VOLUME'].map((name) => [name, new Float64Array(0)])),
  },
} as unknown as ServedMarket;

function limitMemoryTo(megabytes: number): void {
  restorers.push(limitMemory({ panelBytes: megabytes * 2 ** 20, folder: tmpdir() }));
}

test('health reports the size of the panels of the served store, and that they are in memory', () => {
  limitMemoryTo(12);
  expect(describePanels(servedStore)).toBe(
    'The data of eod (12 MiB) is in memory; the limit is 12 MiB (--panel-memory-mb).',
  );
  expect(describePanels(undefined)).toBeUndefined();
});

test('a store larger than the panel memory is reported as paged, where memory can be paged', (context) => {
  limitMemoryTo(11);
  if (!canPage()) {
    console.log('not tested: memory cannot be paged here');
    context.skip();
  }
  expect(describePanels(servedStore)).toBe(
    'The data of eod (12 MiB) is paged on the disk of the home, because it exceeds the limit of 11 MiB (--panel-memory-mb).',
  );
});
