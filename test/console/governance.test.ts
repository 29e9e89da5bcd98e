import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Page } from 'playwright-core';
import type { Client, DocumentVersion, IndexDocument, Judgements, Procedure } from '#clients/typescript/divisor.js';
import {
  FAMILY,
  readDay,
  createFamilyOn,
  createFiles,
  performDay,
  putSchedule,
  SESSIONS,
} from '../services/daily-plans/family.js';
import type { RunningService } from '../services/running-service.js';
import { tryBrowser } from './browser.js';
import { downloadFile, pollEventually, follow, openDesk, WAIT_MS, type Desk } from './desk.js';
import { listNameViolations } from './violations.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();
const [first, second, third] = SESSIONS.slice(9) as [string, string, string];

/** Tests registers of the administrator, and changes of an index with published closes. */
describe.skipIf('why' in browserFailure)('pages of governance', () => {
  let desk: Desk;
  let service: RunningService;
  let page: Page;

  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openDesk(browserFailure.browser);
    ({ service, page } = desk);
    const folder = await createFamilyOn(service, 10);
    const steps = [
      { type: 'refresh' },
      { type: 'run' },
      { type: 'checks' },
      { type: 'publish', errors: { materiality_bps: 0.01, correction_window: 10 } },
    ];
    await putSchedule(service, { enabled: false, steps });
    expect((await performDay(service, first)).state).toBe('done');
    await folder.write(createFiles(second, (price, security) => (security === 'AA' ? price * 10 : price)));
    expect((await performDay(service, second)).state).toBe('blocked');
    await page.goto(service.url());
  });
  afterAll(() => desk?.close());

  test('findings are accepted only for the chosen index, and the register of judgements states the reason', async () => {
    await follow(page, `/console/schedules/close?day=${second}`);
    const panel = page.getByRole('complementary', { name: `Close, ${second}` });
    await panel.getByText('3 of 3 indices held back', { exact: true }).waitFor(); // the step has covered every index
    const findings = panel.getByRole('group', { name: 'Findings of Unexplained moves' });
    await panel.getByLabel('Reason').fill('The price of the exchange');
    const cells = panel.getByRole('row', { name: /^AA / }).first().getByRole('cell');
    await pollEventually(() => cells.count()).toBe(5); // security, weight, both closes and the move
    expect(await cells.last().textContent()).toMatch(/%$/);
    await findings.getByRole('button', { name: 'Accept 1 finding for EVEN' }).click();
    await panel.getByText('Unexplained moves (EVEN)').waitFor();
    await pollEventually(async () => (await readDay(service, second)).held.map(({ index_id: id }) => id)).toEqual([
      'CORE',
      'CORE-FEE',
    ]);
    await panel.getByRole('link', { name: 'Judgements of the day' }).click();
    const row = page.getByRole('row', { name: /accepted findings close .* EVEN/ });
    await row.click();
    const entry = page.getByRole('complementary', { name: /^Judgement \d of the schedule close$/ });
    await entry.getByText('The price of the exchange').waitFor();
    const { body } = await service.ask<Judgements>('GET', '/schedules/close/judgements');
    expect(body.judgements[0]).toMatchObject({ action: 'waive', index_id: 'EVEN', check: 'moves' });
  });

  test('the register of judgements has the sessions of a backfill, and the indices of each decision', async () => {
    await putSchedule(service, { name: 'Rerun', enabled: false, indices: ['CORE', 'EVEN'] }, 'rerun');
    await follow(page, '/console/governance/judgements');
    const range = { start: SESSIONS[8], end: first };
    expect((await service.ask('POST', '/schedules/rerun/backfill', range)).status).toBe(200);
    await page.reload();
    const table = page.getByRole('grid', { name: 'judgements' });
    const sessions = `${SESSIONS[8]} to ${first} (2 sessions)`;
    const cells = table.getByRole('row').filter({ hasText: sessions }).getByRole('gridcell');
    await pollEventually(() => cells.allTextContents()).toEqual(expect.arrayContaining(['backfilled', 'CORE, EVEN']));
    const phone = await desk.newPage({ viewport: { width: 390, height: 844 } });
    await phone.goto(`${service.url()}/console/governance/judgements`);
    const waivedOnPhone = phone.getByRole('row').filter({ hasText: 'accepted findings' });
    await waivedOnPhone.getByText('The price of the exchange').first().waitFor();
    await phone.getByRole('row').filter({ hasText: sessions }).filter({ hasText: 'rerun' }).waitFor();
    await phone.close();
    const waived = table.getByRole('row').filter({ hasText: 'accepted findings' }).getByRole('gridcell');
    await pollEventually(() => waived.allTextContents()).toEqual(expect.arrayContaining([second, 'EVEN']));
  });

  test('the overview of schedules lists each index with its state on the latest day', async () => {
    await follow(page, '/console/schedules');
    const history = page.getByRole('region', { name: 'Indices of Close by session' });
    await history.getByRole('row', { name: 'CORE done blocked' }).waitFor();
    await history.getByRole('row', { name: 'EVEN done done' }).waitFor();
    const openDays = page.getByRole('list', { name: 'Open days' });
    await openDays.getByText('CORE-FEE', { exact: true }).waitFor();
    expect(await listNameViolations(page)).toEqual([]);
    await openDays.getByRole('link', { name: 'Decide' }).click();
    await page.getByRole('complementary', { name: `Close, ${second}` }).waitFor();
  });

  test('a change of a published index first asks for a date, and becomes an amendment', async () => {
    await follow(page, '/console/indices/CORE/edit');
    await page
      .getByRole('region', { name: 'Rebalance', exact: true })
      .getByLabel('Frequency')
      .selectOption('quarterly');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Amend CORE from a date' });
    await dialog.getByRole('row', { name: 'Rebalance, Frequency monthly quarterly' }).waitFor();
    await dialog.getByText('Change the whole history instead').click();
    await dialog.getByText('10 published closes would have to be restated.', { exact: false }).waitFor();
    const amendButton = dialog.getByRole('button', { name: /^Amend from/ });
    expect(await amendButton.isDisabled()).toBe(true); // the date is still empty
    await dialog.getByLabel('Effective from *').fill(first);
    await dialog.getByText('reviews up to it change published closes', { exact: false }).waitFor();
    await dialog.getByLabel('Effective from *').fill(third);
    await dialog.getByLabel('Reason').fill('Fewer reviews');
    await dialog.getByRole('button', { name: `Amend from ${third}` }).click();
    await page.waitForURL('**/console/indices/CORE');
    const { body } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    expect(body.rebalance?.frequency).toBe('monthly');
    expect(body.amendments).toEqual([
      { effective_from: third, reason: 'Fewer reviews', changes: { rebalance: { frequency: 'quarterly' } } },
    ]);
  });

  test('a change that cannot be dated lists its fields, and a title is saved at once', async () => {
    await follow(page, '/console/indices/EVEN/edit');
    await page.getByLabel('Base value').fill('500');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Amend EVEN from a date' });
    await dialog.getByText('Some fields cannot change from a date.').waitFor();
    expect(await dialog.getByRole('button', { name: /^Amend from/ }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByLabel('Name *').fill('Evenly weighted');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.waitForURL('**/console/indices/EVEN');
    const { body } = await service.ask<IndexDocument>('GET', '/indices/EVEN');
    expect([body.name, body.base_value, body.amendments]).toEqual(['Evenly weighted', 100, undefined]);
  });

  test('a draft of an overlay is separate from the draft of another new index', async () => {
    await follow(page, '/console/indices/new?beneath=CORE');
    await page.getByLabel('Name *').fill('Another fee');
    await page.getByRole('button', { name: 'Discard changes' }).waitFor();
    await follow(page, '/console/jobs');
    await follow(page, '/console/indices/new');
    await page.getByRole('region', { name: 'Selection' }).waitFor();
    expect(await page.getByRole('region', { name: 'Overlay' }).count()).toBe(0);
  });

  test('a restated close is in the register of errors, and the latest level is that of the last session', async () => {
    const [restated] = SESSIONS.slice(4);
    const override = { identifier: 'AA', date: restated, price: 40, reason: 'Notice of the exchange' };
    expect((await service.ask('POST', '/data/stores/vendor/overrides', override)).status).toBe(200);
    await service.waitForJob('refresh:vendor');
    await service.ask('POST', '/analytics/EVEN/backtest', {});
    await service.waitForJob('backtest:EVEN');
    const request = { restate: true, reason: 'The price was wrong' };
    expect((await service.ask('POST', '/analytics/EVEN/publish', request)).status).toBe(200);
    await follow(page, '/console/governance/errors');
    // The published logs state the latest run and the policy of the schedule.
    const log = page.getByRole('region', { name: 'Published closes' }).getByRole('row', { name: /^EVEN / });
    await log.getByText('0.01 bp', { exact: true }).waitFor();
    await page.getByRole('row', { name: /EVEN restated/ }).click();
    const entry = page.getByRole('complementary', { name: 'Error 1 of EVEN' });
    await entry.getByText('The price was wrong', { exact: false }).first().waitFor();
    await entry.getByText(new RegExp(`% on ${restated}$`)).waitFor();
    await follow(page, '/console/indices/EVEN?tab=publication');
    const figures = page.getByLabel('Figures of the published log');
    await figures.getByText(`price return, ${second}`).waitFor();
  });

  test('a client is written in a form with its entitlements and targets', async () => {
    await follow(page, '/console/governance/clients');
    await page.getByRole('link', { name: 'New client' }).click();
    await page.getByLabel('Id *').fill('ACME');
    await page.getByLabel('Name *').fill('Acme');
    await page.getByText('The client receives nothing yet.').waitFor();
    const targets = page.getByRole('group', { name: 'Targets' });
    await targets.getByText('Without a target, the client receives no file.').waitFor();
    await page.getByRole('button', { name: 'Add to Entitlements' }).click();
    const entitlement = page.getByRole('group', { name: 'Entitlements, row 1' });
    await entitlement.getByRole('button', { name: 'CORE', exact: true }).click();
    await entitlement.getByRole('button', { name: 'closing', exact: true }).click();
    // Rows of both lists are added by buttons.
    expect(await page.getByRole('group', { name: 'Entitlements', exact: true }).getByRole('combobox').count()).toBe(0);
    expect(await targets.getByRole('combobox').count()).toBe(0);
    const adds = targets.getByRole('group', { name: 'Add a target' }).getByRole('button');
    expect(await adds.allTextContents()).toEqual([
      ' Add folder',
      ' Add bucket',
      ' Add sftp',
      ' Add callback',
      ' Add mail',
    ]);
    await adds.getByText('Add folder').click();
    const target = page.getByRole('listitem').filter({ hasText: 'folder' });
    await pollEventually(() => page.getByText('Without a target, the client receives no file.').count()).toBe(0);
    await target.getByLabel('Name *').fill('house');
    await target.getByLabel('Address *').fill('house');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('must be an address that begins with file://').first().waitFor();
    const url = `file://${join(service.root, 'home', 'delivery', 'acme')}`;
    await target.getByLabel('Address *').fill(url);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.waitForURL('**/console/governance/clients/ACME');
    const { body } = await service.ask<Client>('GET', '/clients/ACME');
    expect(body.entitlements).toMatchObject([{ indices: ['CORE'], tables: ['closing'] }]);
    expect(body.targets).toMatchObject([{ name: 'house', type: 'folder', url }]);
    await page.getByText('This client has received no file.').waitFor();
  });

  test('a procedure is in the statement of its index, which is saved as a file', async () => {
    await follow(page, '/console/governance/procedures/new');
    await page.getByLabel('Id *').fill('END');
    await page.getByLabel('Name *').fill('End of the family');
    await page
      .getByLabel('Text *')
      .fill('1. **Six** months\n2. <b>no markup</b>\n\nAn index ends six months after its notice.');
    const preview = page.getByRole('region', { name: 'Preview' });
    await preview.locator('ol strong').getByText('Six').waitFor();
    await preview.getByText('<b>no markup</b>').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.waitForURL('**/console/governance/procedures/END');
    expect((await service.ask<Procedure>('GET', '/procedures/END')).body).toMatchObject({ kind: 'cessation' });
    // The version in force is below the title.
    const versions = (
      await service.ask<{ readonly versions: readonly DocumentVersion[] }>('GET', '/procedures/END/versions')
    ).body.versions;
    const version = page.getByText(`by ${versions[0]!.author}`, { exact: false });
    await version.getByText('no review date').waitFor();
    const statements = version.getByRole('link');
    const listStatements = async () => (await statements.allTextContents()).toSorted();
    await pollEventually(listStatements).toEqual([...FAMILY].toSorted()); // each index is published
    await pollEventually(() => version.textContent()).toMatch(
      /^Version 1, created \d{4}-\d\d-\d\d \d\d:\d\d .* in the statements of /,
    );
    await page.getByLabel('Indices').getByRole('button', { name: 'EVEN', exact: true }).click();
    await page.getByLabel('Review by').fill('2020-01-31');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await version.getByText('review was due on 2020-01-31').waitFor();
    await pollEventually(() => version.textContent()).toMatch(
      /^Version 2, .* in the statement of EVEN \(1 of 3 published indices\)/,
    );
    await follow(page, '/console/indices/EVEN?tab=methodology');
    await page.getByRole('link', { name: 'Benchmark statement' }).click();
    await page.getByRole('link', { name: 'End of the family' }).waitFor();
    await pollEventually(() => page.getByLabel('Figures of the statement').textContent()).toMatch(
      /Restated closes.*Procedures11 of 9 kinds/,
    );
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('button', { name: 'Discretion' }).click();
    const discretion = page.getByRole('region', { name: 'Discretion' });
    await discretion.getByText('The price of the exchange').first().waitFor();
    const file = await downloadFile(page, () => page.getByRole('button', { name: 'Download as Markdown' }).click());
    expect(file.toString()).toContain('An index ends six months after its notice.');
  });

  test('the extract of the audit log has the entries of the range', async () => {
    await follow(page, '/console/governance');
    await page
      .getByRole('list', { name: 'Registers' })
      .getByRole('link', { name: /^Clients 1 / })
      .waitFor();
    const today = new Date().toISOString().slice(0, 10);
    await follow(page, `/console/governance/audit?from=${today}`);
    const clientRow = page.getByRole('row', { name: /created client ACME/ });
    await clientRow.waitFor();
    const address = await clientRow.getByRole('link', { name: 'ACME' }).getAttribute('href');
    expect(address).toBe('/console/governance/clients/ACME');
    const file = await downloadFile(page, () => page.getByRole('button', { name: 'Download the extract' }).click());
    const lines = file.toString().trim().split('\n');
    expect(lines.some((line) => line.includes('"kind":"client"') && line.includes('"ACME"'))).toBe(true);
    await follow(page, '/console/governance/audit?from=2020-01-01&to=2020-01-31');
    await page.getByRole('heading', { name: 'No entry in this range' }).waitFor();

    await follow(page, `/console/governance/audit?from=${today}`);
    await page.getByText(/verified the hashes of \d+ entries/).waitFor();
    await page.route(
      ({ pathname }) => pathname === '/audit',
      async (route) => {
        const response = await route.fetch();
        const log = (await response.json()) as { entries: { seq: number; author: string }[] };
        log.entries[1]!.author = 'somebody else';
        await route.fulfill({ response, json: log });
      },
    );
    await page.reload();
    await page.getByText(/broken entry \d+: its hash does not match its content/).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    expect(desk.complaints).toEqual([]);
  });
});
