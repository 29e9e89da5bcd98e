import type { Page } from 'playwright-core';

/** Waits for the preview of an index without a run: its constituents, its largest weights and its level. */
export async function waitForPreview(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Not run yet' }).waitFor();
  await page.getByLabel('Preview of CORE').getByText('Constituents').waitFor();
  await page.getByRole('table', { name: 'Largest weights' }).waitFor();
  await page.getByRole('application', { name: /^Previewed level of CORE/ }).waitFor();
}
