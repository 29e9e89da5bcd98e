import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Page } from 'playwright-core';
import type { BatchView, JobStatus, RiskModelCollection } from '#clients/typescript/divisor.js';
import { openBatches, type BatchWorld } from '../services/personal/batch-world.js';
import { tryBrowser } from './browser.js';
import { downloadFile, pollEventually, slowDown, WAIT_MS } from './desk.js';
import { listNameViolations } from './violations.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('the page of a batch', () => {
  let world: BatchWorld;
  let page: Page;

  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    world = await openBatches();
    const [account, tightAccount] = world.createAccounts(2);
    const exclusions = world.common.identifiers.slice(0, 20);
    await world.batch('clients', [
      account,
      { ...tightAccount, tracking_error_limit: 0.0001, exclusions },
      { account_id: 'bad', cash: -1 },
    ]);
    page = await browserFailure.browser.newPage({ viewport: { width: 1280, height: 820 }, reducedMotion: 'reduce' });
    page.setDefaultTimeout(WAIT_MS);
    await slowDown(page);
  });
  afterAll(async () => {
    if ('browser' in browserFailure) await browserFailure.browser.close();
    await world?.service.close();
  });

  test('shows figures, conflicts by row, refusals, and the trades of an account by lot', async () => {
    await page.goto(`${world.service.url()}/console/batches`);
    await page.getByRole('row', { name: /^clients CORE 2 of 3 unsolved/ }).waitFor();
    await page.getByRole('table', { name: 'Accounts by outcome' }).getByText('Refused').waitFor();
    await page.getByText('clients').first().click();
    const conflicts = page.getByRole('region', { name: 'Conflicts' });
    await conflicts.getByText('Tracking error limit').waitFor();
    expect(await listNameViolations(page)).toEqual([]);
    // One solved account has no distribution.
    expect(await page.getByRole('table', { name: 'Tracking error by percentile' }).count()).toBe(0);
    await page.getByText('Cash is -1', { exact: false }).first().waitFor();
    const { by_status: counted } = (await world.service.ask<JobStatus>('GET', '/jobs/batch:clients')).body
      .result as BatchView;
    await page.getByText('Export', { exact: true }).first().click();
    const file = await downloadFile(page, () => page.getByRole('button', { name: 'Accounts (CSV)' }).click());
    const accounts = Object.values(counted).reduce((sum, one) => sum + one, 0);
    expect(file.toString().trim().split(/\r?\n/)).toHaveLength(1 + accounts);
    await page.getByText('A0', { exact: true }).first().click();
    const panel = page.getByRole('complementary', { name: 'Account A0' });
    await panel.getByText('One more basis point saves').waitFor();
    const [result] = await world.readResults('clients');
    const sale = result!.trades.find(({ side }) => side === 'sell')!;
    await panel.getByText(sale.acquired!).first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('infeasible', { exact: true }).first().click();
    const refusedAccount = page.getByRole('complementary', { name: 'Account A1' });
    await refusedAccount.getByText('No trades satisfy all limits of this account.').waitFor();
    await refusedAccount.getByText(/^Exclusions: .* has to stay/).waitFor();
    expect(await refusedAccount.getByRole('row').count()).toBe(0);
  });

  test('submits a table of accounts with defaults, after its findings, and shows the lots of an account', async () => {
    const [a, b] = world.common.identifiers as [string, string];
    const formatTable = (column: string) =>
      [
        `account_id,identifier,shares,cost,acquired,cash,${column}`,
        `C1,${a},20,30,2023-05-01,5000,`,
        `C1,${b},10,30,2023-05-01,,`,
        `C2,${a},15,30,2023-05-01,5000,${b}`,
      ].join('\n');
    const choose = (text: string) =>
      page
        .getByLabel('File of accounts')
        .setInputFiles({ name: 'accounts.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await page.goto(`${world.service.url()}/console/batches`);
    await page.getByText('New batch').click();
    await choose(formatTable('exclude'));
    await page.getByText('2 accounts').waitFor();
    await page.getByLabel('Parent index').selectOption('CORE');
    await page.getByLabel('Risk model').selectOption('factors');
    await page.getByText('Defaults of the accounts').click();
    await page.getByLabel('Short rate').fill('0.4');
    await page.getByLabel('Id of the batch').fill('from-console');
    await page.getByRole('button', { name: 'Start the batch' }).click();
    await page.getByRole('listitem').filter({ hasText: 'unknown column exclude.' }).first().waitFor();
    await choose(formatTable('exclusions'));
    await page.getByRole('button', { name: 'Start the batch' }).click();
    await page.waitForURL('**/console/batches/from-console');
    await page.getByText('C2', { exact: true }).first().click();
    const panel = page.getByRole('complementary', { name: 'Account C2' });
    await panel.getByText('Cash after trading').waitFor();
    const lots = panel.getByRole('table', { name: 'lots' });
    const results = await world.readResults('from-console');
    expect(results.map(({ status }) => status)).toEqual(['optimal', 'optimal']);
    await lots.getByText(a).first().waitFor();
    expect(await lots.getByText(b, { exact: true }).count()).toBe(0);
    const path = '/optimise/batches/from-console/common';
    const { body } = await world.service.ask<{ terms: { defaults: unknown } }>('GET', path);
    expect(body.terms.defaults).toEqual({ tax: { short_rate: 0.4 } });
  });

  test('states what a batch lacks until it can start', async () => {
    const { service } = world;
    const request = { index_id: 'EVEN', estimator: 'shrinkage' };
    const { body: job } = await service.ask<JobStatus>('POST', '/risk-models/shrunk/estimate', request);
    expect((await service.waitForJob(job.job_id)).error).toBeNull();
    await page.goto(`${service.url()}/console/batches?batch=${encodeURIComponent('{"parent":"CORE"}')}`);
    const file = page.getByRole('group', { name: /^Accounts file.*required$/ });
    await file.getByRole('button', { name: 'Choose a file' }).waitFor();
    const button = page.getByRole('button', { name: 'Start the batch' });
    expect(await button.isDisabled()).toBe(true);
    const reason = page.locator(`#${await button.getAttribute('aria-describedby')}`);
    await pollEventually(() => reason.textContent()).toBe('Choose an accounts file and a risk model.');
    // A batch needs factors, so other models are not choices.
    const models = page.getByLabel('Risk model');
    await pollEventually(() => models.getByRole('option').allTextContents()).toEqual(['choose', 'factors']);
    await models.selectOption('factors');
    await reason.getByText('Choose an accounts file.', { exact: true }).waitFor();
    await page
      .getByLabel('File of accounts')
      .setInputFiles({ name: 'accounts.csv', mimeType: 'text/csv', buffer: Buffer.from('account_id,cash\nC1,5000') });
    await reason.getByText('has a button that cancels it').waitFor();
    await pollEventually(() => button.isDisabled()).toBe(false);
    expect(await page.getByRole('checkbox', { name: 'Whole shares only' }).isChecked()).toBe(false);
    await page.getByText('Limits trades to whole shares.', { exact: true }).waitFor();
    const [shares, asOf] = [page.getByRole('checkbox', { name: 'Whole shares only' }), page.getByLabel('As of')];
    // The last field is in the second row at this width.
    expect((await shares.boundingBox())!.y).toBeGreaterThan((await asOf.boundingBox())!.y);
    const heading = await page.getByRole('heading', { name: 'New batch' }).boundingBox();
    const form = await file.boundingBox();
    expect(form!.y - heading!.y - heading!.height).toBeLessThan(16);
  });

  test('without a factor model, the form of a batch leads to its estimation', async () => {
    const models = '**/risk-models';
    await page.route(models, (route) => route.fulfill({ json: { risk_models: [] } }));
    await page.goto(`${world.service.url()}/console/batches?batch=${encodeURIComponent('{"parent":"CORE"}')}`);
    const notice = page.getByRole('status').filter({ hasText: 'No factor model is stored for CORE.' });
    await notice.waitFor();
    const file = page.getByRole('group', { name: /^Accounts file/ });
    expect((await notice.boundingBox())!.y).toBeLessThan((await file.boundingBox())!.y);
    await page.getByText('Choose an accounts file; estimate a factor model.', { exact: true }).waitFor();
    await page.getByText('Default: a generated id.', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Estimate a factor model' }).click();
    const dialog = page.getByRole('dialog', { name: 'Estimate a model' });
    await pollEventually(() => dialog.getByLabel('Estimator').inputValue()).toBe('statistical');
    await pollEventually(() => dialog.getByLabel('Constituents of index').inputValue()).toBe('CORE');
    await page.unroute(models);
  });

  test('stored models without factors are counted, and the columns of the file are those of the template', async () => {
    const { service } = world;
    type Models = RiskModelCollection;
    const { body } = await service.ask<Models>('GET', '/risk-models');
    const without = body.risk_models.map((model) => ({ ...model, factors: null }));
    await page.route('**/risk-models', (route) => route.fulfill({ json: { risk_models: without } }));
    await page.goto(`${service.url()}/console/batches?batch=%7B%7D`);
    await page.getByText(/^(1 risk model is stored, but it has|2 risk models are stored, but none has) /).waitFor();
    await page.getByText('Columns of the file').click();
    await page.getByText('Tax rate of short-term gains.', { exact: true }).first().waitFor();
    await page.getByText('Net gains realised this year before these trades, in money. Short-term.').waitFor();
    const columns = page.locator('details', { hasText: 'Columns of the file' }).locator('dt');
    const template = await (await fetch(`${service.url()}/optimise/batches/template`)).text();
    await pollEventually(() => columns.allTextContents()).toEqual(template.split('\r\n')[0]!.split(','));
    const meanings = page.locator('details', { hasText: 'Columns of the file' }).locator('dd');
    expect((await meanings.allTextContents()).filter((meaning) => meaning === '')).toEqual([]);
    await page.unroute('**/risk-models');
  });

  test('a failed batch states its cause', async () => {
    await world.service.waitForJob(await world.start('plain', world.createAccounts(1), { risk_model: 'shrunk' }));
    await page.goto(`${world.service.url()}/console/batches/plain`);
    await page.getByText('The risk model shrunk has no factors.', { exact: false }).waitFor();
  });
});
