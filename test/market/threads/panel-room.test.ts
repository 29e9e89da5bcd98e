import { expect, test } from 'vitest';
import { canPage, limitMemory, findMemoryLimit, allocatePanels } from '#kernels/memory/paged-memory.js';
import { createPanelBuffer, type PanelBuffer } from '#market/panels/scattering.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();

/** Number of batches. A panel of several batches has separate pages. */
const BATCHES = 9;
const CELLS = 500_000;

/**
 * Orders in which the cells of batches arrive: one batch after the other, again for a batch after other batches, and
 * after the panels have closed the batches themselves.
 */
const ORDERS = [
  ['batch by batch', [0, 1, 2, 3, 4, 5, 6, 7, 8]],
  ['three scans side by side', [0, 3, 6, 0, 3, 6, 1, 4, 7, 1, 4, 7, 2, 5, 8, 2, 5, 8]],
  ['more batches at a time than there is room for', [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]],
  ['cells anywhere behind some batches', [0, 1, 2, null, 0, 1, 2, 3, 4, 5, 6, 7, 8]],
] as const;

test('values written batch by batch are in the panels, in any order', async ({ skip }) => {
  const usualLimit = findMemoryLimit();
  try {
    // half of the budget has room for three batches
    limitMemory({ panelBytes: 60 * 2 ** 20, folder: await createFolder(), keepsNames: true });
    if (!canPage()) skip('memory is paged on Linux with the optional package koffi');
    const panels = [0, 1].map(() => new Float64Array(allocatePanels(BATCHES * CELLS * 8, 2 ** 30)));
    for (const [o, [title, order]] of ORDERS.entries()) {
      const computeValue = (batch: number, field: number): number => 1 + batch + 100 * field + 1000 * o;
      const buffer = createPanelBuffer(panels, CELLS);
      const doneFills = fill(buffer, order, computeValue);
      await buffer.settled();
      expect(
        doneFills.toSorted((a, b) => a - b),
        title,
      ).toEqual(Array.from({ length: BATCHES }, (_, batch) => batch));
      for (const [field, panel] of panels.entries())
        for (let cell = 0; cell < panel.length; cell += 499)
          if (panel[cell] !== computeValue(Math.floor(cell / CELLS), field))
            expect.fail(`${title}: cell ${cell} of panel ${field}`);
    }
  } finally {
    limitMemory(usualLimit);
  }
});

function fill(
  buffer: PanelBuffer,
  order: readonly (number | null)[],
  computeValue: (batch: number, field: number) => number,
): number[] {
  const doneBatches: number[] = [];
  const visits = new Map<number, number>();
  for (const [n, batch] of order.entries()) {
    if (batch === null) {
      buffer.open();
      continue;
    }
    expect([buffer.batchOf(batch * CELLS + CELLS - 1), buffer.firstOf(batch)]).toEqual([batch, batch * CELLS]);
    const visit = visits.get(batch) ?? 0;
    visits.set(batch, visit + 1);
    const all = order.filter((other) => other === batch).length;
    // Each visit fills an equal share of the batch.
    const [from, to] = [visit, visit + 1].map((k) => Math.floor((k * CELLS) / all));
    for (const field of [0, 1]) buffer.cellsOf(batch, field).fill(computeValue(batch, field), from, to);
    if (!order.includes(batch, n + 1)) buffer.close(batch, () => doneBatches.push(batch));
  }
  return doneBatches;
}
