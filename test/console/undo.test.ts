import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { tryBrowser } from './browser.js';
import { pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('the form of an index', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
  });
  afterAll(() => desk?.close());

  test('changes of two fields in quick succession are undone one by one', async () => {
    const { page, service } = desk;
    await page.goto(`${service.url()}/console/indices/CORE/edit`);
    await pollEventually(() => page.getByLabel('Name *').inputValue()).toBe('Core'); // the definition has been read
    const splits = page.getByLabel('Splits', { exact: true });
    const delisting = page.getByLabel('Delisting', { exact: true });
    const [splitsBefore, delistingBefore] = [await splits.inputValue(), await delisting.inputValue()];
    const ids = await Promise.all([splits, delisting].map((field) => field.getAttribute('id')));
    await page.evaluate(`(async () => {
      for (const [id, value] of [['${ids[0]}', 'ignore'], ['${ids[1]}', 'zero']]) {
        const field = document.getElementById(id);
        field.value = value;
        field.dispatchEvent(new Event('change', { bubbles: true }));
        await new Promise(requestAnimationFrame);
      }
    })()`);
    await pollEventually(() => delisting.inputValue()).toBe('zero');
    await page.keyboard.press('Control+z');
    await pollEventually(() => delisting.inputValue()).toBe(delistingBefore);
    expect(await splits.inputValue()).toBe('ignore');
    await page.keyboard.press('Control+z');
    await pollEventually(() => splits.inputValue()).toBe(splitsBefore);
  });

  test('the button of the section in view is marked', async () => {
    const { page, service } = desk;
    await page.goto(`${service.url()}/console/indices/CORE/edit`);
    const sections = page.getByRole('navigation', { name: 'Sections of the definition' });
    const marked = sections.locator('[aria-current]');
    await pollEventually(() => marked.textContent()).toBe('Universe');
    await sections.getByRole('button', { name: 'Weighting' }).click();
    await pollEventually(() => marked.textContent()).toBe('Weighting');
  });
});
