import { inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Page } from 'playwright-core';
import { tryBrowser } from './browser.js';
import { pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/** Width of the text on an A4 page with the margins of the console, in pixels. */
const PAPER_WIDTH = 688;

const LIST_COLUMNS = `[...new Set(
  [...document.querySelector('.table').querySelectorAll('[data-at] :is([data-column], [data-below])')]
    .map((cell) => cell.dataset.column ?? cell.dataset.below))]`;

/** Script that returns the texts of the first table that are truncated or beyond the paper. */
const LIST_CUT_TEXTS = `[...document.querySelector('.table').querySelectorAll('.table-rows :is(.table-cell, .table-below > *)')]
  .filter((cell) => {
    const isClipped = getComputedStyle(cell).overflow !== 'visible' && cell.scrollWidth > cell.clientWidth + 1;
    const { bottom } = cell.closest('.table-row').getBoundingClientRect();
    const content = document.createRange();
    content.selectNodeContents(cell);
    const box = content.getBoundingClientRect();
    return isClipped || box.right > ${PAPER_WIDTH} || box.bottom > bottom + 1;
  })
  .map((cell) => cell.textContent)`;

/** Opens the print view of a page, in the width of the paper. */
async function startPrinting(page: Page): Promise<void> {
  await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: PAPER_WIDTH, height: 980 });
}

/** Returns the colours of areas in a PDF, as the operators of its page streams write them, with two decimals. */
function listFillColours(pdf: Buffer): ReadonlySet<string> {
  const colours = new Set<string>();
  const text = pdf.toString('latin1');
  for (const { index } of text.matchAll(/stream\r?\n/g)) {
    const start = index + (text[index + 6] === '\r' ? 8 : 7);
    let content: string;
    try {
      content = inflateSync(pdf.subarray(start)).toString('latin1');
    } catch {
      continue; // the stream is an image or a font without compression
    }
    for (const [, r, g, b] of content.matchAll(/(\S+) (\S+) (\S+) rg\b/g))
      colours.add([r, g, b].map((part) => Number(part).toFixed(2)).join(' '));
  }
  return colours;
}

describe.skipIf('why' in browserFailure)('a printed page', () => {
  let desk: Desk;
  beforeAll(async () => {
    if ('browser' in browserFailure) desk = await openStockedDesk(browserFailure.browser);
  });
  afterAll(() => desk?.close());

  test('has every column of a table, and no text is cut', async () => {
    const page = await desk.newPage();
    for (const [address, label] of [
      ['/', 'indices'],
      ['/console/indices/CORE?tab=constituents', 'constituents of CORE'],
    ] as const) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(desk.service.url() + address);
      const table = page.getByRole('grid', { name: label, exact: true });
      await table.locator('[data-at="0"]').waitFor();
      await pollEventually(() => page.locator('main .skeleton').count()).toBe(0); // no value is still missing
      // A second line of the rows is one more cell for screen readers.
      const secondLines = await table.locator('[data-at="0"] > .table-below').count();
      const columns = Number(await table.getAttribute('aria-colcount')) - secondLines;
      await startPrinting(page);
      const printedColumns = await page.evaluate<readonly string[]>(LIST_COLUMNS);
      expect({ label, columns: printedColumns.length }).toEqual({ label, columns });
      expect(await page.evaluate(LIST_CUT_TEXTS)).toEqual([]);
      await page.emulateMedia({ media: 'screen' });
    }
    await page.close();
  });

  test('has the colours of bars', async () => {
    const page = await desk.newPage();
    await page.goto(`${desk.service.url()}/console/indices/CORE?tab=risk`);
    await page.locator('.bar').first().waitFor();
    const colour = await page.evaluate<string>(`getComputedStyle(document.querySelector('.bar')).backgroundColor`);
    const parts = colour.match(/\d+/g)!.slice(0, 3);
    const operator = parts.map((part) => (Number(part) / 255).toFixed(2)).join(' ');
    expect([...listFillColours(await page.pdf({ format: 'A4' }))]).toContain(operator);
    await page.close();
  });
});
