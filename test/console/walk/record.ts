import { expect, test } from 'vitest';
import type { EventsView, IndexDocument, PublishedLog, VersionList } from '#clients/typescript/divisor.js';
import { downloadFile, pollEventually, follow, openPart, type Desk } from '../desk.js';
import { picture } from '../picture.js';

/** Tests records: published closes, versions of a definition, future dates. */
export function describeRecord(desk: () => Desk): void {
  test('closes are published and verified in the browser; those that differ later are restated with a reason', async () => {
    const { page, service, complaints } = desk();
    const readPublished = async () =>
      (await service.ask<PublishedLog>('GET', '/analytics/CORE/published')).body.entries;
    await follow(page, '/console/indices/CORE?tab=publication');
    // The page shows the published run, because only a current run can be published.
    await page.getByText('the run is out of date').waitFor();
    await service.ask('POST', '/analytics/CORE/backtest', {});
    await service.waitForJob('backtest:CORE');
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    // A published close is permanent.
    await page.getByRole('dialog').getByText('are signed and permanent').waitFor();
    expect(await page.getByRole('grid', { name: 'publications of CORE' }).count()).toBe(0);
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    const log = page.getByRole('grid', { name: 'publications of CORE' });
    await log.waitFor();
    const closes = (await readPublished()).length;
    const closesText = closes.toLocaleString('en-GB');
    // The closes of one publication are one row, which opens their list.
    await log.getByRole('row', { name: new RegExp(`1–${closesText} close ${closesText} `) }).click();
    const grid = page.getByRole('table', { name: 'published closes of CORE' });
    await pollEventually(() => grid.getAttribute('aria-rowcount')).toBe(String(closes + 1));
    await page.getByRole('button', { name: 'Copy the command' }).click();
    await page.getByText('Copied the command.').waitFor();
    const findEntryCount = (count: number) =>
      page.getByText(`${count.toLocaleString('en-GB')} entries: hashes and signatures`);
    await page.getByRole('button', { name: 'Verify here' }).click();
    await findEntryCount(closes).waitFor();
    await picture(page, 'publication');
    // After the last close, the page offers only a comparison.
    await pollEventually(() => page.getByRole('button', { name: 'Publish', exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Compare with the log' }).click();
    await page.getByText('The run equals the published log.').waitFor();
    // A changed definition leads to other closes.
    const { body: document } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    const changedDocument = { ...document, base_value: 2 * document.base_value };
    await service.ask('PUT', '/indices/CORE', changedDocument, { 'x-change-note': 'Twice the base' });
    await service.ask('POST', '/analytics/CORE/backtest', {});
    await service.waitForJob('backtest:CORE');
    await page.getByRole('button', { name: 'Compare with the log' }).click();
    await page.getByText('Nothing was published.').waitFor();
    expect(await readPublished()).toHaveLength(closes);
    await page.getByLabel('Why *').fill('The base was wrong');
    await page.getByRole('button', { name: 'Restate', exact: true }).click();
    // All levels scale with the base value.
    const movedBps = 1e4 * (changedDocument.base_value / (await readPublished())[0]!.total! - 1);
    const sizeText = movedBps.toLocaleString('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    const asking = page.getByRole('dialog');
    await asking.getByText(`${sizeText} bp, `).waitFor();
    expect(await asking.locator('dl').textContent()).toContain(`Closes${closesText}`);
    expect(await readPublished()).toHaveLength(closes);
    await asking.getByRole('button', { name: 'Restate' }).click();
    const restatement = log.getByRole('row', { name: new RegExp(`restatement ${closesText} .*The base was wrong`) });
    await restatement.getByText('+100.00%').waitFor();
    await pollEventually(() => log.getAttribute('aria-rowcount')).toBe('3');
    await restatement.click();
    await page.getByRole('heading', { name: `–${(2 * closes).toLocaleString('en-GB')}` }).waitFor();
    await page.getByRole('button', { name: 'Verify here' }).click();
    await findEntryCount(2 * closes).waitFor();
    expect((await readPublished()).at(-1)).toMatchObject({ kind: 'restatement', reason: 'The base was wrong' });
    expect(complaints).toEqual([]);
  });

  test('a version shows its changes, and is restored only over the version that was viewed', async () => {
    const { page, service, complaints } = desk();
    const { body: before } = await service.ask<VersionList>('GET', '/indices/CORE/versions');
    // The base value of the latest run is twice that of the run before it.
    await follow(page, '/console/indices/CORE?tab=runs');
    await page.getByText('those of the earlier run times 2: ').waitFor();
    // The cause is known, and figures without a difference are not listed.
    await page.getByText('Cause: the base value, 500 → 1,000 points.').waitFor();
    expect(await page.getByRole('button', { name: 'Find the causes' }).count()).toBe(0);
    expect(await page.getByLabel('Figures of the compared runs').count()).toBe(0);
    await openPart(page, 'Versions');
    await page.getByRole('row', { name: /Twice the base/ }).click();
    await page.getByRole('row', { name: /^Base value 500 points 1,000 points$/ }).waitFor();
    await page.getByRole('row', { name: /updated .*Base value.*1,000 points.* Twice the base/ }).waitFor();
    await picture(page, 'versions');
    const earlierVersion = before.versions[1]!.version;
    await page.getByRole('row', { name: new RegExp(`^${earlierVersion} `) }).click();
    // The changes of a restore are shown before it is confirmed.
    const restoring = page.getByRole('region', { name: `Restore version ${earlierVersion}` });
    const now = (await service.ask<IndexDocument>('GET', '/indices/CORE')).body.base_value;
    await restoring
      .getByRole('row', { name: new RegExp(`^Base value ${now.toLocaleString('en-GB')} points 500 points$`) })
      .waitFor();
    await page.getByLabel('Reason', { exact: true }).fill('Back');
    // Another user saves a version meanwhile.
    const { body: document } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/CORE', { ...document, tags: ['theirs'] });
    const restore = page.getByRole('button', { name: `Restore version ${earlierVersion}` });
    await restore.click();
    await page.getByText('Someone saved another version in the meantime').waitFor();
    expect((await service.ask<IndexDocument>('GET', '/indices/CORE')).body.tags).toEqual(['theirs']);
    await restore.click();
    await page.getByRole('row', { name: new RegExp(`restored .*Restored version ${earlierVersion}: Back`) }).waitFor();
    expect((await service.ask<IndexDocument>('GET', '/indices/CORE')).body).toMatchObject({
      base_value: 500,
      tags: [],
    });
    expect(complaints).toEqual([]);
  });

  test('the next events are on the first page, and all of them in a calendar for subscription', async () => {
    const { page, service, complaints } = desk();
    await page.getByRole('link', { name: 'Indices', exact: true }).first().click();
    await page.getByRole('region', { name: 'Coming up' }).getByRole('link', { name: 'Calendar' }).click();
    await page.getByRole('radio', { name: 'List' }).check();
    await page.getByRole('button', { name: 'effective' }).click();
    const { body } = await service.ask<EventsView>('GET', '/events?kinds=effective');
    const table = page.getByRole('table', { name: 'events' });
    await pollEventually(() => table.getAttribute('aria-rowcount')).toBe(String(body.events.length + 1));
    const file = await downloadFile(page, () => page.getByRole('link', { name: 'Download iCalendar' }).click());
    expect(file.toString().match(/^BEGIN:VEVENT/gm)).toHaveLength(body.events.length);
    expect(complaints).toEqual([]);
  });
}
