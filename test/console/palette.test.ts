import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { tryBrowser } from './browser.js';
import { pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('the command palette', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
  });
  afterAll(() => desk?.close());

  test('a row separates the id from the name', async () => {
    const { page, service } = desk;
    await page.goto(service.url());
    await page.getByRole('button', { name: 'Go to' }).click();
    await page.getByRole('combobox').fill('market');
    const option = page.getByRole('option', { name: 'market Market store' });
    expect(await option.locator('strong').textContent()).toBe('market');
    const [id, name] = await Promise.all(['strong', '.palette-name'].map((part) => option.locator(part).boundingBox()));
    expect(name!.x - id!.x - id!.width).toBeGreaterThanOrEqual(6);
    await page.getByText('↑ ↓ choose · Enter opens · Esc closes').waitFor();
    await page.getByRole('combobox').fill('run core');
    await page.getByRole('option', { name: 'Run CORE action' }).locator('.badge').waitFor();
    await page.keyboard.press('Escape');
  });

  test('the comparison with a published level is found by what it explains', async () => {
    const { page, service } = desk;
    await page.goto(service.url());
    for (const text of ['explain difference', 'outside level core', 'published']) {
      await page.getByRole('button', { name: 'Go to' }).click();
      await page.getByRole('combobox').fill(text);
      await page.getByRole('option', { name: 'CORE Compare with a published level page' }).waitFor();
      await page.keyboard.press('Escape');
    }
  });

  test('text that is typed before the palette is loaded is searched', async () => {
    const { newPage, service } = desk;
    const page = await newPage();
    let release = () => {};
    const isTyped = new Promise<void>((resolve) => (release = resolve));
    await page.route(/\/assets\/palette-[^/]*\.js/, async (route) => {
      await isTyped;
      await route.continue();
    });
    await page.goto(service.url());
    const button = page.getByRole('button', { name: 'Go to' });
    await button.click();
    await page.keyboard.type('closxx');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('u');
    release();
    await page.getByRole('option', { name: 'Closures of XNYS page', selected: true }).waitFor();
    await page.keyboard.type('res');
    const input = page.getByRole('combobox', { name: 'Page, document, security or action' });
    expect(await input.inputValue()).toBe('closures');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const isFocused = () => button.evaluate((element) => element === element.ownerDocument.activeElement);
    await pollEventually(isFocused).toBe(true);
    await page.close();
  });
});
