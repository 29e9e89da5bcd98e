import type { Page } from 'playwright-core';
import { pollEventually } from '../desk.js';

/** Types expressions into a field, which explains them and shows their errors. */
export async function typeFormulas(page: Page): Promise<void> {
  const field = page.getByLabel('Field', { exact: true });
  await field.fill('zcore(CLOSE)');
  await page.getByText('Did you mean zscore?').first().waitFor();
  await field.fill('1 + zsc');
  await page.getByRole('button', { name: 'zscore(' }).click();
  await pollEventually(() => field.inputValue()).toBe('1 + zscore(');
  await field.fill('rank(CLOSE, by=SECTOR) * 2');
  await page.getByText(/^number · /).waitFor();
  await field.fill('');
}
