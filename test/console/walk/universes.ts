import type { Page } from 'playwright-core';
import { pollEventually } from '../desk.js';

/** Changes the universe to a combination of universes. The first of them is the previous universe. */
export async function combineUniverses(page: Page): Promise<void> {
  await page.getByLabel('Kind').selectOption('all');
  await page.getByLabel('Kind').selectOption('difference');
  const excludedUniverse = page.getByRole('group', { name: 'Universe 2' });
  await excludedUniverse.getByLabel('Kind').selectOption('list');
  await excludedUniverse.getByLabel('Names').fill('NOBODY');
  const parts = '"of":[{"kind":"all"},{"kind":"list","identifiers":["NOBODY"]}]';
  await pollEventually(() => new URL(page.url()).searchParams.get('draft')).toContain(parts);
  await page.getByLabel('Kind').first().selectOption('all');
  await excludedUniverse.waitFor({ state: 'detached' });
}
