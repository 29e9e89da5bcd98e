import { expect, test } from 'vitest';
import type { LevelsView } from '#clients/typescript/divisor.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { downloadFile, pollEventually, follow, type Desk } from '../desk.js';

/** Tests reports, jobs, health, and the loss of the connection to a service. */
export function describeOperations(desk: () => Desk): void {
  test('a factsheet is rendered by a click, shown, and downloaded as a file', async () => {
    const { page, complaints } = desk();
    await follow(page, '/console/indices/CORE');
    await page.getByRole('link', { name: 'Report', exact: true }).click();
    await page.getByRole('button', { name: 'Render', exact: true }).click();
    const download = page.getByRole('link', { name: 'Download', exact: true });
    await download.waitFor();
    const pdf = await downloadFile(page, () => download.click());
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    // A browser without a PDF viewer shows the pages as pictures.
    await page.locator('main canvas[data-drawn=true]').first().waitFor();
    await page.locator('a[href^="blob:"]', { hasText: /^Open$/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('a table is downloaded in the chosen format', async () => {
    const { page, service } = desk();
    await follow(page, '/console/indices/CORE?tab=rebalances');
    await page.getByLabel('Export rebalances').click();
    const csv = await downloadFile(page, () => page.getByRole('link', { name: 'CSV' }).first().click());
    const lines = csv.toString().trim().split('\n');
    const { body } = await service.ask<{ rebalances: { date: string }[] }>('GET', '/analytics/CORE/rebalances');
    expect([lines[0]!.startsWith('date,'), lines.length - 1]).toEqual([true, body.rebalances.length]);
    // Spreadsheets paste cells that are separated by tabs. The page copies either the whole export, or the selected
    // rows with their header.
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByLabel('Export rebalances').click();
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByText('Copied the rebalances.').waitFor();
    const pastedLines = (await page.evaluate<string>('navigator.clipboard.readText()')).split('\n');
    expect(pastedLines.map((line) => line.split('\t').length)).toEqual(lines.map(() => lines[0]!.split(',').length));
    expect(pastedLines[1]!.split('\t').slice(0, 2)).toEqual(lines[1]!.split(',').slice(0, 2));
    const copiedText = (
      await page.evaluate<string>(`(() => {
      const table = document.querySelector('[role=grid]');
      const cells = (at) => table.querySelectorAll('[data-at="' + at + '"] > .table-cell');
      getSelection().setBaseAndExtent(cells(2)[1].firstChild, 0, cells(1)[0].firstChild, 0);
      const event = new ClipboardEvent('copy', { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
      table.dispatchEvent(event);
      getSelection().removeAllRanges();
      return event.clipboardData.getData('text/plain');
    })()`)
    ).split('\n');
    const [head, ...rows] = copiedText.map((line) => line.split('\t'));
    const dates = body.rebalances.map(({ date }) => date).toReversed();
    expect([head![0], rows.map(([date]) => date)]).toEqual(['In effect', dates.slice(1, 3)]);
    expect(rows.map(({ length }) => length)).toEqual([head!.length, head!.length]);
  });

  test('a chart is downloaded as a picture, and its values as rows', async () => {
    const { page, service, complaints } = desk();
    await follow(page, '/console/indices/CORE');
    // The chart moves until the figures above it have loaded.
    await page.getByLabel(/^Figures from/).waitFor();
    const menu = page.getByLabel('Save, copy or pin: Level of CORE');
    await menu.click();
    await page.getByRole('button', { name: 'Copy values' }).click();
    await page.getByText(/^Copied [\d,]+ rows\.$/).waitFor();
    // Copying closes the menu and moves the focus back to its button.
    await pollEventually(() => menu.evaluate((summary) => summary.matches(':focus'))).toBe(true);
    const { levels } = (await service.ask<LevelsView>('GET', '/analytics/CORE/levels')).body;
    const rows = (await page.evaluate<string>('navigator.clipboard.readText()'))
      .split('\n')
      .map((row) => row.split('\t'));
    expect(rows.slice(1).map(([date]) => date)).toEqual(levels.index);
    // Lines start at 100, so a copied value is a percentage of the first level.
    expect(Number(rows.at(-1)![1])).toBeCloseTo((100 * levels.data.at(-1)!) / levels.data[0]!, 9);
    await menu.click();
    const svg = await downloadFile(page, () => page.getByRole('button', { name: 'SVG picture' }).click());
    const svgText = svg.toString();
    expect(svgText).toContain('<title>Level of CORE</title>');
    const points = [...svgText.matchAll(/ d="M([^"]*)" fill="none"/g)].map(([, path]) => path!.split('L').length);
    expect(points).toContain(levels.index.length);
    await menu.click();
    const png = await downloadFile(page, () => page.getByRole('button', { name: 'PNG picture' }).click());
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    const readPngSize = (offset: number) => png.readUInt32BE(offset);
    const canvas = (await page
      .getByRole('application', { name: /^Level of CORE/ })
      .locator('canvas')
      .boundingBox())!;
    expect([readPngSize(16) > canvas.width, readPngSize(20) > canvas.height]).toEqual([true, true]);
    expect(complaints).toEqual([]);
  });

  test('indices drawn together are in the chosen return variant', async () => {
    const { page, complaints } = desk();
    const answers = ['CORE', 'CORE-OPT'].map((id) => page.waitForResponse(`**/analytics/${id}/levels?variant=price`));
    await follow(page, '/console/indices/CORE?with=CORE-OPT&variant=price');
    const report = await Promise.all(
      answers.map(async (answer) => ((await (await answer).json()) as LevelsView).variant),
    );
    expect(report).toEqual(['price', 'price']);
    // The report has the portfolio and the benchmark of the run.
    await page.getByText('Portfolio after costs, total return').locator('visible=true').first().waitFor();
    expect(complaints).toEqual([]);
  });

  test('a panel without an answer repeats its request', async () => {
    const { page } = desk();
    const error = { code: 'STORE_NOT_READY', message: 'The data store is being read; retry.', detail: null };
    const refusal = { status: 503, headers: { 'retry-after': '0' }, json: { error } };
    await page.route('**/analytics/CORE/rolling?window=63', (route) => route.fulfill(refusal), { times: 1 });
    const answer = page.waitForResponse((got) => got.url().endsWith('rolling?window=63') && got.ok());
    await follow(page, '/console/indices/CORE?tab=risk&window=63');
    await answer;
    await page.getByText(error.message).waitFor({ state: 'detached' });
  });

  test('a job is cancelled by a click, and remains cancelled', async () => {
    const { page, service, complaints } = desk();
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    const request = { store_id: 'large', assets: 1000, start: '2006-01-03', activate: false };
    expect((await service.ask('POST', '/data/synthetic', request)).status).toBe(202);
    await page.getByRole('button', { name: /^Cancel Generation/ }).click();
    await page.getByRole('row', { name: /large .*cancelled/ }).click();
    await page.getByRole('complementary', { name: 'Generation large' }).getByText('The job was cancelled.').waitFor();
    const { body } = await service.ask<JobStatus>('GET', '/jobs/generate:large');
    expect(body.status).toBe('cancelled');
    await page.keyboard.press('Escape');
    // A job is named after its result, not after the index that it reads.
    await follow(page, '/console/jobs?job=risk:daily');
    await page.getByRole('complementary', { name: 'Risk model daily' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('State').selectOption('cancelled');
    await pollEventually(() => page.getByRole('grid', { name: 'jobs' }).getAttribute('aria-rowcount')).toBe('2');
    expect(complaints).toEqual([]);
  });

  test('health shows every check, and stores the outcomes of checks of runs', async () => {
    const { page, complaints } = desk();
    await page.getByRole('link', { name: 'Health' }).click();
    // The table groups jobs by the days of the service. Large sizes are in GiB.
    await page.getByRole('grid', { name: 'jobs by day' }).getByRole('row').nth(1).waitFor();
    expect(await page.getByRole('list', { name: 'Checks' }).textContent()).not.toMatch(/\d{5} MiB/);
    await page
      .getByRole('table', { name: 'readiness of the service' })
      .getByRole('row', { name: / ok –$/ })
      .first()
      .waitFor();
    const warnings = page.getByRole('list', { name: 'Checks' }).getByText('warning', { exact: true });
    const readDots = async () => [
      await page.locator('.bar-store .dot').getAttribute('class'),
      (await warnings.count()) > 0 ? 'dot warning' : 'dot good',
    ];
    await pollEventually(async () => new Set(await readDots()).size).toBe(1);
    await page.getByRole('button', { name: /^Check all/ }).click();
    await page.getByRole('row', { name: /^CORE [^-].*all \d+ identities hold/ }).waitFor();
    await page.getByRole('row', { name: /^CORE-OPT .*all \d+ identities hold/ }).waitFor();
    await page.reload();
    await page.getByRole('row', { name: /^CORE-OPT .*all \d+ identities hold/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('an outage of the service is shown above the page, which continues when the service is back', async () => {
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
    await page
      .getByRole('button', { name: 'Run CORE-OPT' })
      .or(page.getByText('store behind').first())
      .first()
      .waitFor();
  });
}
