import { expect, test } from 'vitest';
import type { LevelsView } from '#clients/typescript/divisor.js';
import type { JobStatus } from '#jobs/status.js';
import { downloaded, eventually, follow, type Desk } from '../desk.js';

/** Reports, jobs, health, and a service that goes away. */
export function describeOperations(desk: () => Desk): void {
  test('a factsheet is rendered by a click, shown, and taken away as a file', async () => {
    const { page, complaints } = desk();
    await follow(page, '/console/indices/CORE');
    await page.getByRole('link', { name: 'Report', exact: true }).click();
    await page.getByRole('button', { name: 'Render' }).click();
    const download = page.getByRole('link', { name: 'Download' });
    await download.waitFor();
    const pdf = await downloaded(page, () => download.click());
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    // A browser without a viewer of PDF: a sentence stands in its place.
    await page.getByText('This browser cannot display PDF files in a page.').waitFor();
    expect(await page.getByRole('link', { name: 'Save the report' }).getAttribute('href')).toMatch(/^blob:/);
    expect(complaints).toEqual([]);
  });

  test('a table is taken away in the format that was chosen', async () => {
    const { page, service } = desk();
    await follow(page, '/console/indices/CORE?tab=rebalances');
    await page.getByLabel('Export rebalances').click();
    const csv = await downloaded(page, () => page.getByRole('link', { name: 'CSV' }).first().click());
    const lines = csv.toString().trim().split('\n');
    const { body } = await service.ask<{ rebalances: unknown[] }>('GET', '/analytics/CORE/rebalances');
    expect([lines[0]!.startsWith('date,'), lines.length - 1]).toEqual([true, body.rebalances.length]);
  });

  test('indices drawn beside each other are in the return that was chosen', async () => {
    const { page, complaints } = desk();
    const answers = ['CORE', 'CORE-OPT'].map((id) => page.waitForResponse(`**/analytics/${id}/levels?variant=price`));
    await follow(page, '/console/indices/CORE?with=CORE-OPT&variant=price');
    const told = await Promise.all(
      answers.map(async (answer) => ((await (await answer).json()) as LevelsView).variant),
    );
    expect(told).toEqual(['price', 'price']);
    // Portfolio and benchmark are those of the run.
    await page.getByText('Portfolio after costs, total return').first().waitFor();
    expect(complaints).toEqual([]);
  });

  test('a panel that the service could not answer yet asks again by itself', async () => {
    const { page } = desk();
    const error = { code: 'STORE_NOT_READY', message: 'The data store is being read; retry.', detail: null };
    const refusal = { status: 503, headers: { 'retry-after': '0' }, json: { error } };
    await page.route('**/analytics/CORE/rolling?window=63', (route) => route.fulfill(refusal), { times: 1 });
    const answer = page.waitForResponse((got) => got.url().endsWith('rolling?window=63') && got.ok());
    await follow(page, '/console/indices/CORE?tab=risk&window=63');
    await answer;
    await page.getByText(error.message).waitFor({ state: 'detached' });
  });

  test('a job is cancelled by a click, and stays so', async () => {
    const { page, service, complaints } = desk();
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    const request = { store_id: 'large', assets: 1000, start: '2006-01-03', activate: false };
    expect((await service.ask('POST', '/data/synthetic', request)).status).toBe(202);
    await page.getByRole('button', { name: 'Cancel generate:large' }).click();
    await page.getByRole('row', { name: /large .*cancelled/ }).click();
    await page.getByRole('complementary', { name: 'Market large' }).getByText('The job was cancelled.').waitFor();
    const { body } = await service.ask<JobStatus>('GET', '/jobs/generate:large');
    expect(body.status).toBe('cancelled');
    await page.keyboard.press('Escape');
    // A job is named by what it makes, not by the index that it reads.
    await follow(page, '/console/jobs?job=risk:daily');
    await page.getByRole('complementary', { name: 'Risk model daily' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('State').selectOption('cancelled');
    await eventually(() => page.getByRole('grid', { name: 'jobs' }).getAttribute('aria-rowcount')).toBe('2');
    expect(complaints).toEqual([]);
  });

  test('health shows every check, and computes again whether each run adds up', async () => {
    const { page, complaints } = desk();
    await page.getByRole('link', { name: 'Health' }).click();
    await page.getByRole('button', { name: /^Check all/ }).click();
    await page.getByRole('row', { name: /^CORE [^-].*all \d+ identities hold/ }).waitFor();
    await page.getByRole('row', { name: /^CORE-OPT .*all \d+ identities hold/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('a service that goes away is told of above the page, which goes on when it is back', async () => {
    const { page, service } = desk();
    await page.getByRole('link', { name: 'Indices', exact: true }).click();
    await page.getByRole('row', { name: /^CORE / }).waitFor();
    await service.restart(async () => {
      await page.getByText('The service is not reachable.').waitFor();
      expect(await page.getByRole('row', { name: /^CORE / }).count()).toBe(1);
    });
    await page.getByText('The service was restarted').waitFor();
    await page.getByText('The service is not reachable.').waitFor({ state: 'detached' });
    await page.getByText('no data served').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Run CORE-OPT' }).or(page.getByText('up to date').first()).first().waitFor();
  });
}
