import type { Page } from 'playwright-core';
import { pollEventually } from '../desk.js';

/**
 * Reloads the page of an index with a changed transaction cost, which is part of the address. Opens another tab, on
 * which the form of the terms is closed and its summary states the next run, and returns.
 */
export async function reloadWithTerms(page: Page): Promise<void> {
  await page.reload();
  await pollEventually(() => page.getByLabel('Transaction cost').inputValue()).toBe('25');
  await page.getByRole('link', { name: 'Constituents', exact: true }).click();
  await page.getByText(/^Next run: .*Transaction cost 25 bp/).waitFor();
  await pollEventually(() => page.getByLabel('Transaction cost').isVisible()).toBe(false);
  await page.getByRole('link', { name: 'Performance', exact: true }).click();
}
