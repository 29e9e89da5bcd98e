import { expect, test } from 'vitest';
import { pollEventually, follow, type Desk } from '../desk.js';

/** Tests a published methodology that is opened from the gallery. */
export function describeTemplates(desk: () => Desk): void {
  test('a template shows its level or the data that the store lacks, and becomes an index with its underlying indices', async () => {
    const { complaints, page, service } = desk();
    await follow(page, '/');
    await page.getByRole('link', { name: 'Templates' }).click();
    const createCard = (name: string) =>
      page.getByRole('listitem').filter({ has: page.getByRole('heading', { name }) });
    const calm = createCard('Low volatility, 100 securities');
    await calm.getByRole('img', { name: /^Level of Low volatility/ }).waitFor();
    // The page describes the meaning of missing data. The list of column names is collapsed.
    const card = createCard('Best rated half of each sector');
    await card.getByText('Data that the store lacks').waitFor();
    expect(await card.getByText('ESG_RATING').isVisible()).toBe(false);
    await card.getByText('Details').click();
    await card.getByText('ESG_RATING').waitFor();
    await page.getByLabel('Kind of template').selectOption('overlay');
    await calm.waitFor({ state: 'detached' });
    await page.getByLabel('Kind of template').selectOption('factor');
    await page.getByLabel('Search templates').fill('volatility S&P low');
    await card.waitFor({ state: 'detached' });
    await calm.getByRole('link', { name: 'Use' }).click();
    await page.getByText('This index requires LOW-VOLATILITY-PARENT.').waitFor();
    expect(await page.getByText('error', { exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Store LOW-VOLATILITY-PARENT' }).click();
    await page.getByText('This index requires').waitFor({ state: 'detached' });
    // The pressed button has disappeared, so the focus moves to the heading.
    await pollEventually(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
    await page.getByRole('button', { name: 'Save the index' }).click();
    await page.getByRole('heading', { name: 'Not run yet' }).waitFor();
    const storedIndices = await Promise.all(
      ['', '-PARENT'].map((end) => service.ask('GET', `/indices/LOW-VOLATILITY${end}`)),
    );
    expect(storedIndices.map(({ status }) => status)).toEqual([200, 200]);
    expect(complaints).toEqual([]);
  });
}
