import { expect, test } from 'vitest';
import { pollEventually, type Desk } from '../desk.js';

/** Tests the steps from an empty service to a market. */
export function describeFirstMarket(desk: () => Desk): void {
  test('an empty service offers three ways to a market: files are one click away, and one click makes one', async () => {
    const { complaints, page, service } = desk();
    await page.goto(service.url());
    await page.getByRole('heading', { name: 'Add market data' }).waitFor();
    expect(await page.getByRole('article').count()).toBe(3);
    const file = { name: 'eod prices.csv', mimeType: 'text/csv', buffer: Buffer.from('identifier,date,CLOSE\n') };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByLabel('Files to import').getByText(file.name, { exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Generate' }).click();
    // Every setting has an initial value, and an invalid value is reported at its field.
    const dialog = page.getByRole('dialog', { name: 'Generate a market' });
    await dialog.getByLabel('Assets').fill('0');
    await dialog.getByRole('button', { name: 'Generate the market' }).click();
    await pollEventually(() => dialog.getByLabel('Assets').getAttribute('aria-invalid')).toBe('true');
    await dialog.getByLabel('Assets').fill('150');
    await dialog.getByRole('button', { name: 'Generate the market' }).click();
    await page.getByLabel('Served market').getByText('161').waitFor();
    expect(complaints).toEqual([]);
  });
}
