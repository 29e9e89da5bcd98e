import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type {
  GroupAttributionRow,
  GroupAttributionView,
  JobStatus,
  RiskDecomposition,
  RiskModelCollection,
  RiskModelView,
  TotalRiskDecomposition,
  WeightsView,
} from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

const SPRING = { name: 'Spring', window: { start: '2020-02-20', end: '2020-03-23' } };
const SUMMER = { name: 'Summer', window: { start: '2020-06-01', end: '2020-08-31' } };

const createAddress = (id: string, scenarios: readonly object[], beside = 'BROAD') =>
  `/console/indices/${id}?tab=scenarios&beside=${beside}&scenarios=${encodeURIComponent(JSON.stringify(scenarios))}`;

describe.skipIf('why' in browserFailure)('scenarios and risk of an index', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('an optimisation begins with a bound that fits the index, and flags a bound that fixes every weight', async () => {
    const { page } = desk;
    await follow(page, '/console/optimise?index=CORE');
    const upper = page.getByLabel('Upper', { exact: false });
    await pollEventually(() => upper.inputValue()).toBe('8%');
    await page
      .getByLabel('Begin with')
      .getByRole('option', { name: /soft limit of 8% per security/ })
      .waitFor({
        state: 'attached',
      });
    const solution = page.getByRole('complementary', { name: 'Live solution' });
    const table = solution.getByLabel('difference to the index weights');
    // The tooltip of a title is its description for screen readers.
    await table.getByTitle('Sorts by size, without the sign', { exact: false }).waitFor();
    await solution.getByText(/^to the index weights of .*, largest first$/).waitFor();
    // The names of companies have room; the bounds are also stated above the table.
    const securities = table.getByRole('columnheader', { name: 'Security' });
    await pollEventually(async () => (await securities.boundingBox())?.width).toBeGreaterThan(170);
    await pollEventually(() => table.locator('.table-below').count()).toBe(0);
    await upper.fill('0.05');
    await upper.blur();
    await page.getByText('20 securities × 5.00% = 100.00%: every weight is fixed at 5.00%.').waitFor();
  });

  test('the volatility of equal weights by each risk model has its difference to the first model', async () => {
    const { page, service } = desk;
    for (const estimator of ['shrinkage', 'newey_west']) {
      const request = { index_id: 'CORE', estimator };
      const { body: job } = await service.ask<JobStatus>('POST', `/risk-models/${estimator}/estimate`, request);
      await service.waitForJob(job.job_id);
    }
    const { body: stored } = await service.ask<RiskModelCollection>('GET', '/risk-models');
    const volatilities: number[] = [];
    for (const { model_id: id } of stored.risk_models) {
      const { body: model } = await service.ask<RiskModelView>('GET', `/risk-models/${id}`);
      const variance = model.covariance.data.flat().reduce<number>((sum, value) => sum + Number(value), 0);
      volatilities.push(Math.sqrt(variance) / model.asset_ids.length);
    }
    const difference = volatilities[1]! - volatilities[0]!;
    const sign = difference < 0 ? '\u2212' : '+';
    await follow(page, '/console/risk-models');
    const table = page.getByRole('table', { name: 'Volatility of an equally weighted portfolio by model' });
    const listCells = (column: string) => table.locator(`[data-at] [data-column=${column}]`).allTextContents();
    await pollEventually(() => listCells('model')).toEqual(stored.risk_models.map(({ model_id: id }) => id));
    expect(await listCells('volatility')).toEqual(volatilities.map((value) => `${(100 * value).toFixed(2)}%`));
    const text = Math.abs(100 * difference).toFixed(2);
    expect(text).not.toBe('0.00');
    expect(await listCells('difference')).toEqual(['\u2013', `${sign}${text} pp`]);
    await table.getByRole('columnheader', { name: 'Difference' }).waitFor();
  });

  test('a scenario with an error has no return, and the other scenarios keep theirs', async () => {
    const { complaints, page } = desk;
    await follow(page, createAddress('CORE', [SPRING, SUMMER]));
    const table = page.getByRole('grid', { name: 'scenarios', exact: true });
    const main = page.getByRole('main');
    const expectOthers = async () => {
      await table.getByRole('row', { name: /^Spring .\d+\.\d\d% / }).waitFor();
      await table.getByRole('row', { name: /^Summer .\d+\.\d\d% / }).waitFor();
      const text = await main.textContent();
      expect(text).not.toContain('in the body');
      expect(text).not.toMatch(/Scenarios, \d/);
      expect(text).not.toContain('scenarios[2] ');
    };
    await table.getByRole('row', { name: /^Spring .\d/ }).waitFor();
    await page.getByRole('button', { name: 'Window', exact: true }).click();
    await table.getByRole('row', { name: /^Window 3 .\d/ }).waitFor();
    await page.getByLabel('Start *').fill('2020-12-24');
    await page.getByLabel('End *').fill('2020-11-24');
    const reason = 'End is 2020-11-24, before start 2020-12-24.';
    await page.getByRole('alert').getByText(`Window 3: ${reason}`).waitFor();
    await page.getByRole('alert').getByText('1 error in the scenarios.').waitFor();
    await page.locator('.field-findings').getByText(reason, { exact: true }).waitFor();
    await table.getByRole('row', { name: `Window 3 – ${reason}` }).waitFor();
    await expectOthers();
    await page.getByLabel('Start *').fill('abc');
    await page.getByRole('alert').getByText('Window 3: Start must be a real day').waitFor();
    await expectOthers();
    await page.getByLabel('Start *').fill('2020-10-01');
    await table.getByRole('row', { name: /^Window 3 .\d+\.\d\d% / }).waitFor();
    await page.getByLabel('Name *').fill('Spring');
    await table.getByRole('row', { name: 'Spring – Name is Spring, the same name as another scenario.' }).waitFor();
    await expectOthers();
    await page.getByLabel('Name *').fill('');
    await table.getByRole('row', { name: /^Scenario 3 – Name (?:is required|has 0 characters)/ }).waitFor();
    await expectOthers();
    expect(complaints).toEqual([]);
  });

  test('two unknown shocks are both reported, and the window next to them keeps its return', async () => {
    const { page } = desk;
    const shocks = ['NONE-A', 'NONE-B'].map((name) => ({ name, shocks: { [name]: -0.2 } }));
    await follow(page, createAddress('CORE', [shocks[0]!, SPRING, shocks[1]!]));
    await page.getByRole('alert').getByText('2 errors in the scenarios.').waitFor();
    const table = page.getByRole('grid', { name: 'scenarios', exact: true });
    await table.getByRole('row', { name: /^NONE-A – NONE-A is not a holding/ }).waitFor();
    await table.getByRole('row', { name: /^NONE-B – NONE-B is not a holding/ }).waitFor();
    await table.getByRole('row', { name: /^Spring .\d+\.\d\d% / }).waitFor();
  });

  test('a scenario lists only the securities with an effect and counts the others', async () => {
    const { page } = desk;
    await follow(page, createAddress('CORE', [{ name: 'Energy', shocks: { 'SECTOR:Energy': -0.2 } }]));
    const names = page.getByRole('grid', { name: 'names in Energy' });
    await names.getByRole('row').nth(1).waitFor();
    const affected = Number(await names.getAttribute('aria-rowcount')) - 1;
    const sentence = page.getByText(/^Without an effect: \d+ securit(?:y|ies)$/);
    const others = Number(/\d+/.exec((await sentence.textContent())!)![0]);
    expect(affected).toBeGreaterThan(0);
    const contributions = await names.locator('[role=row]').allTextContents();
    expect(contributions.filter((text) => text.includes('0.00 pp'))).toEqual([]);
    expect(others).toBeGreaterThan(0);
  });

  test('an index whose data store was deleted leaves the other indices of the matrix their returns', async () => {
    const { page, service } = desk;
    const store = { store_id: 'spare', name: 'Spare', seed: 7, assets: 20, start: '2018-01-01', activate: false };
    await service.ask('POST', '/data/synthetic', store);
    await service.waitForJob('generate:spare');
    const { body: core } = await service.ask('GET', '/indices/CORE');
    const spare = { ...core, id: 'SPARE', name: 'Spare', base_date: '2019-01-02', store_id: 'spare' };
    await service.ask('PUT', '/indices/SPARE', spare);
    await service.ask('POST', '/analytics/SPARE/backtest', {});
    await service.waitForJob('backtest:SPARE');
    expect((await service.ask('DELETE', '/data/stores/spare')).status).toBe(204);
    await follow(page, createAddress('CORE', [SPRING], 'BROAD,SPARE'));
    const matrix = page.getByRole('table', { name: 'returns of indices by scenarios' });
    await matrix.getByRole('row', { name: /^Spring .\d+\.\d\d% .\d+\.\d\d% –$/ }).waitFor();
    await page.getByText(/^SPARE has no returns\. The run of SPARE .* cannot be read/).waitFor();
    // The page of the index itself does not offer to serve the store, which is not registered.
    await follow(page, createAddress('SPARE', [SPRING]));
    await page.getByText('These figures read the data store spare, on which the run was made.').first().waitFor();
    expect(await page.getByRole('button', { name: 'Serve spare' }).count()).toBe(0);
  });

  test('the bars of the active risk state what 100% is', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<RiskDecomposition>(
      'GET',
      '/analytics/CORE/factor-risk?benchmark=BROAD&model=market_sector',
    );
    const share = `${(100 * body.factor_share).toFixed(2)}%`;
    await follow(page, '/console/indices/CORE?tab=risk');
    // The shares of the factors add up to the share of all factors; the rest is specific.
    const bars = page.getByRole('table', { name: 'Contribution of each factor to the active risk' });
    const specific = `${(100 * (1 - body.factor_share)).toFixed(1)}%`;
    await bars.getByRole('row', { name: new RegExp(`^Specific .* pp ${specific}$`) }).waitFor();
    const cells = await bars.locator('tbody tr:not(.bar-total) td:nth-of-type(3)').allTextContents();
    const shares = cells.map((text) => Number.parseFloat(text.replace('\u2212', '-')));
    expect(shares.reduce((sum, one) => sum + one, 0)).toBeCloseTo(100, 0);
    // The largest factor is first; the specific risk is last.
    expect(shares.slice(0, -1)).toEqual(shares.slice(0, -1).toSorted((a, b) => b - a));
    await page
      .getByText(
        `Forecast of the factor model. Estimated from ${body.observations!.toLocaleString('en-GB')} daily returns`,
      )
      .last()
      .waitFor();
    const figures = page.getByLabel('Active risk against BROAD', { exact: true });
    await pollEventually(() => figures.textContent()).toContain(`By factors${share}of the active variance`);
    await bars.getByRole('row', { name: `Total +${(100 * body.tracking_error).toFixed(2)} pp 100.0%` }).waitFor();
    await page.getByRole('radio', { name: 'Total', exact: true }).check();
    await page.getByRole('heading', { name: 'Total risk by factor' }).waitFor();
    await page.getByLabel('Total risk', { exact: true }).getByText('of the variance, beyond the factors').waitFor();
  });

  test('contributions to volatility state share and weight, and the sum of the others has no bar', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<WeightsView>('GET', '/analytics/BROAD/weights?risk=true');
    const { weights, risk } = body;
    const covered = weights
      .filter(({ risk_contribution: part }) => part !== null)
      .toSorted((a, b) => b.risk_contribution! - a.risk_contribution!);
    const [largest] = covered;
    await follow(page, '/console/indices/BROAD?tab=risk');
    await page
      .getByLabel(/^Risk from/)
      .getByText('CVaR 95%')
      .waitFor();
    const bars = page.getByRole('table', { name: 'Contributions to volatility' });
    const formatPart = (value: number) => `${(100 * value).toFixed(2)}%`;
    const cells = [largest!.risk_contribution! / risk!.volatility, largest!.weight].map(formatPart).join(' ');
    const row = bars.getByRole('row', { name: new RegExp(`^${largest!.identifier} .* pp ${cells}$`) });
    await row.waitFor();
    const others = bars.getByRole('row', { name: /^\d+ others / });
    expect([await others.count(), await others.locator('.bar').count()]).toEqual([1, 0]);
    // The largest contribution sets the scale, although the others contribute more together.
    const ground = (await row.locator('.bar-ground').boundingBox())!; // the row is visible
    const bar = (await row.locator('.bar').boundingBox())!; // the row is visible
    expect(bar.x + bar.width).toBeCloseTo(ground.x + ground.width, 0);
    await page
      .getByText(
        `Estimated from ${risk!.observations!.toLocaleString('en-GB')} daily returns, ${risk!.window_start} to ${risk!.window_end}`,
      )
      .first()
      .waitFor();
    // Without a reference, the total risk is split by factor. The contributions add up to the forecast volatility.
    const { body: split } = await service.ask<TotalRiskDecomposition>('GET', '/analytics/BROAD/total-risk');
    const factors = page.getByRole('region', { name: 'Total risk by factor' });
    await factors.getByRole('row', { name: `Total +${(100 * split.volatility).toFixed(2)} pp 100.0%` }).waitFor();
    const points = await factors.locator('tbody tr:not(.bar-total) td:nth-of-type(2)').allTextContents();
    expect(points).toHaveLength(split.factors.length + 1);
    const pointsSum = points.reduce((total, text) => total + Number.parseFloat(text.replace('\u2212', '-')), 0);
    expect(pointsSum).toBeCloseTo(100 * split.volatility, 1);
    expect(await factors.getByRole('radio', { name: 'Active' }).count()).toBe(0);
    // One selector serves all sections.
    await page.getByLabel('Relative to').selectOption('CORE');
    await page.getByRole('heading', { name: 'Active risk against CORE by factor' }).waitFor();
  });

  test('the steps of an attribution state the weights of the sectors, which have a table only with a benchmark', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<GroupAttributionView>('GET', '/analytics/BROAD/attribution/groups?by=SECTOR');
    const [{ group, average_weight: weight }] = body.groups as [GroupAttributionRow];
    await follow(page, '/console/indices/BROAD?tab=attribution');
    const steps = page.getByRole('table', { name: 'Contributions, step by step' });
    await steps.getByRole('row', { name: new RegExp(`^${group} .* pp ${(100 * weight).toFixed(2)}%$`) }).waitFor();
    await page.getByText('Attributed: the total return, the run has no transaction cost.').waitFor();
    const bySector = page.getByRole('heading', { name: 'By sector' });
    expect(await bySector.count()).toBe(0);
    await page.getByLabel('Against').selectOption('CORE');
    await bySector.waitFor();
    // The table states weights, returns and effects of both sides, as published attributions do.
    const { body: against } = await service.ask<GroupAttributionView>(
      'GET',
      '/analytics/BROAD/attribution/groups?by=SECTOR&benchmark=CORE',
    );
    const sector = against.groups.find((row) => row.total_return !== null && row.benchmark_return !== null)!;
    const formatSigned = (value: number) => `${value < 0 ? '−' : '+'}${Math.abs(100 * value).toFixed(2)}`;
    const table = page.getByRole('table', { name: 'attribution by sector' });
    const size = page.viewportSize()!; // a desk has a size
    await page.setViewportSize({ width: 1440, height: size.height });
    await table.getByRole('columnheader', { name: 'Total' }).waitFor();
    const titles = await table.getByRole('columnheader').allInnerTexts();
    const cells = table.getByRole('row', { name: sector.group }).getByRole('cell');
    const expectCell = async (title: string, text: string) =>
      expect([title, await cells.nth(titles.findIndex((found) => found.includes(title))).innerText()]).toEqual([
        title,
        text,
      ]);
    await expectCell('Average weight', `${(100 * sector.average_weight).toFixed(2)}%`);
    await expectCell('Benchmark weight', `${(100 * sector.benchmark_average_weight!).toFixed(2)}%`);
    await expectCell('Return', `${formatSigned(sector.total_return!)}%`);
    await expectCell('Benchmark return', `${formatSigned(sector.benchmark_return!)}%`);
    await expectCell('Total', `${formatSigned(sector.allocation! + sector.selection! + sector.interaction!)} pp`);
    await page.setViewportSize(size);
    // The identities belong to the stored runs.
    await follow(page, '/console/indices/BROAD?tab=runs');
    await page.getByText(/^all \d+ identities hold$/).waitFor();
  });

  test('an invalid value in the address is an error in the address', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE?tab=risk&from=abc&to=2021-01-01');
    await page.getByText('1 error in the address.').first().waitFor();
  });

  test('an index that waits for its first run does not offer to run it', async () => {
    const { page, service } = desk;
    const { body: core } = await service.ask('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/FIRST', { ...core, id: 'FIRST', name: 'First' });
    const { body: job } = await service.ask<JobStatus>('GET', '/jobs/backtest:CORE');
    const pendingJob: JobStatus = {
      ...job,
      job_id: 'backtest:FIRST',
      status: 'pending',
      created_at: new Date().toISOString(),
      started_at: null,
      finished_at: null,
      progress: 0,
      result: null,
    };
    await page.route('**/analytics/FIRST/backtest', (route) => route.fulfill({ status: 202, json: pendingJob }));
    await follow(page, '/console/indices/FIRST');
    await page.getByText('Not run yet').waitFor();
    await page.getByRole('button', { name: 'Run FIRST' }).click();
    await page.getByText('A run is queued').waitFor();
    await pollEventually(() => page.getByText('Not run yet').count()).toBe(0);
    await pollEventually(() => page.getByRole('button', { name: 'Run FIRST' }).count()).toBe(0);
    await page.unrouteAll({ behavior: 'wait' });
  });
});
