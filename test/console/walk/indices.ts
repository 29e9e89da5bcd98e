import { expect, test } from 'vitest';
import type {
  IndexDocument,
  LimitsView,
  RebalancePack,
  RunsDifference,
  ScenariosView,
  StoredRuns,
  WeightsView,
} from '#clients/typescript/divisor.js';
import { downloadFile, pollEventually, follow, openPart, findLongestName, type Desk } from '../desk.js';
import { picture } from '../picture.js';
import { typeFormulas } from './formulas.js';
import { waitForPreview } from './first-preview.js';
import { reloadWithTerms } from './run-terms.js';
import { combineUniverses } from './universes.js';

/** Tests an index that is designed, edited by two users, run, and examined. */
export function describeIndices(desk: () => Desk): void {
  test('an index is designed in forms: findings at their field, weights next to them, saved by a click', async () => {
    const { complaints, page, service } = desk();
    await page.getByRole('link', { name: 'New index' }).first().click();
    await page.getByLabel('Id *', { exact: true }).fill('CORE index');
    await page.getByText('it is "CORE index"').first().waitFor();
    await pollEventually(() => page.getByLabel('Id *', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Id *', { exact: true }).fill('CORE');
    // The form shows a field of the schedule only if the other values make it relevant.
    const schedule = page.getByRole('region', { name: 'Rebalance' });
    await schedule.getByLabel('Frequency').selectOption('custom');
    await schedule.getByLabel('Dates').waitFor();
    expect(await schedule.getByLabel('Months').count()).toBe(0);
    await schedule.getByLabel('Frequency').selectOption('quarterly');
    await schedule.getByLabel('Months').waitFor();
    await pollEventually(() => schedule.getByLabel('Day', { exact: true }).inputValue()).toBe('third_friday');
    await page.getByLabel('Kind').selectOption('watchlist');
    await page.getByText('Universe, Watchlist is required').first().waitFor();
    await page.getByRole('link', { name: 'New watchlist' }).waitFor();
    await combineUniverses(page);
    await page.getByLabel('Add a rule').selectOption('TopN');
    await page.getByText('The parameter count is required.').first().waitFor();
    await page.getByLabel('Count *').fill('30');
    await typeFormulas(page);
    await page.getByLabel('Add a rule').selectOption('HistoryFilter');
    const funnel = page.getByLabel('Preview').getByRole('button', { name: /^History filter/ });
    await funnel.waitFor();
    await page.getByRole('button', { name: 'Move history-filter up' }).click();
    await page.getByRole('button', { name: /^Best by a field 30/ }).waitFor();
    // A nested condition is edited in nested fields.
    await page.getByLabel('Add a rule').selectOption('ExpressionFilter');
    await page.getByLabel('Datapoint *').fill('CLOSE');
    await page.getByRole('textbox', { name: 'Value *' }).fill('text');
    await page.getByText('must be a number for ge').first().waitFor();
    await page.getByRole('textbox', { name: 'Value *' }).fill('0.01');
    await page.getByLabel('Condition *').selectOption('all');
    await page.getByRole('button', { name: 'Add a condition' }).click();
    const second = page.getByRole('group', { name: 'Condition 2' });
    await second.getByLabel('Datapoint *').fill('SECTOR');
    await second.getByLabel('Is *').selectOption('in');
    await second.getByLabel('Value *').fill('Energy, Utilities');
    await page.getByRole('button', { name: /^Expression filter/ }).waitFor();
    await page.getByRole('button', { name: 'Remove expression-filter' }).click();
    const earlierPreview = page.getByRole('region', { name: 'From the last valid definition' });
    await page.getByLabel('Kind').selectOption('watchlist');
    await earlierPreview.getByLabel('Figures of the preview').waitFor();
    await page.getByLabel('Kind').selectOption('all');
    await earlierPreview.waitFor({ state: 'detached' });
    await picture(page, 'designer');
    await page.getByRole('radio', { name: 'JSON' }).check();
    const json = page.getByLabel('Definition as JSON');
    const document = JSON.parse(await json.inputValue()) as { pipeline: { selection: { type: string }[] } };
    expect(document.pipeline.selection.map(({ type }) => type)).toEqual(['HistoryFilter', 'TopN']);
    await json.fill(JSON.stringify({ ...document, name: 'Core' }));
    await pollEventually(() => page.getByLabel('Name *').inputValue()).toBe('Core');
    await page.getByRole('button', { name: 'Save the index' }).click();
    await waitForPreview(page);
    const storedIndex = await service.ask<{ name: string }>('GET', '/indices/CORE');
    expect([storedIndex.status, storedIndex.body.name]).toEqual([200, 'Core']);
    expect(complaints).toEqual([]);
  });

  test('the second of two editors of an index is shown the change that the first has saved', async () => {
    const { complaints, page, service } = desk();
    const other = await desk().newPage();
    await follow(page, '/console/indices/CORE/edit');
    await page.getByLabel('Base value').fill('500');
    // The address contains the draft, so that the user can send it to a colleague.
    await pollEventually(() => new URL(page.url()).searchParams.has('draft')).toBe(true);
    await other.goto(page.url());
    await pollEventually(() => other.getByLabel('Base value').inputValue()).toBe('500');
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByRole('heading', { name: 'Not run yet' }).waitFor();
    await page.getByLabel('Name *').fill('Mine');
    await page.getByLabel('Base value').fill('600');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Someone else saved a version').waitFor();
    // Merges the original and both changed versions. A change that only one editor made is kept. If both changed the
    // same field, the user must choose.
    await page.getByRole('row', { name: /^Name Core Yours Mine Theirs Core you$/ }).waitFor();
    await page.getByRole('row', { name: /^Base value 1000 Yours 600 Theirs 500 both$/ }).waitFor();
    expect(await page.getByRole('button', { name: 'Save the selection' }).isDisabled()).toBe(true);
    await page.getByRole('radio', { name: 'Base value Theirs 500' }).press('Space');
    await page.getByRole('button', { name: 'Save the selection' }).click();
    await page.getByRole('heading', { name: 'Not run yet' }).waitFor();
    const answer = await service.ask('GET', '/indices/CORE');
    expect(answer.body).toMatchObject({ base_value: 500, name: 'Mine' });
    expect((await service.ask('PUT', '/indices/CORE', { ...(answer.body as object), name: 'Core' })).status).toBe(200);
    await other.close();
    expect(complaints).toEqual([]);
  });

  test('the reason of a failed run is shown at the index until a later one succeeds', async () => {
    const { complaints, page, service } = desk();
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    const pipeline = {
      selection: [{ id: 'expensive', type: 'PriceFilter', params: { minimum: 1e9 } }],
      weighting: { type: 'EqualWeight' },
    };
    expect((await service.ask('PUT', '/indices/NOBODY', { ...core, id: 'NOBODY', pipeline })).status).toBe(200);
    await follow(page, '/');
    const error = { code: 'QUEUE_FULL', message: 'Queue full: 120 jobs waiting (limit 100).', detail: null };
    await page.route('**/analytics/NOBODY/backtest', (route) => route.fulfill({ status: 503, json: { error } }), {
      times: 1,
    });
    await page.getByRole('button', { name: 'Run NOBODY' }).click();
    await page.getByRole('alert').filter({ hasText: error.message }).waitFor();
    await page.getByRole('row', { name: /NOBODY.*never run refused/ }).waitFor();
    await page.getByRole('button', { name: 'Run NOBODY' }).click();
    await page.getByRole('row', { name: /NOBODY.*run failed/ }).click();
    const failure = page.getByRole('alert').filter({ hasText: 'The last run failed' });
    // A finding links to its rule in the designer.
    await failure.getByRole('link', { name: /^Edit the rule/ }).click();
    await page.getByRole('heading', { name: 'Edit NOBODY' }).waitFor();
    await pollEventually(() => page.evaluate('document.activeElement.id')).toBe('rule-0');
    await page.goBack();
    await service.ask('PUT', '/indices/NOBODY', { ...core, id: 'NOBODY' });
    await failure.getByRole('button', { name: 'Run again' }).click();
    await page.getByLabel(/^Figures from/).waitFor();
    await pollEventually(() => failure.count()).toBe(0);
    await service.ask('DELETE', '/indices/NOBODY');
    await follow(page, '/');
    await pollEventually(() => page.getByRole('grid', { name: 'indices' }).getAttribute('aria-rowcount')).toBe('2');
    expect(complaints).toEqual([]);
  });

  test('an index is run by a click, and each of its pages shows the API responses', async () => {
    const { complaints, page, service } = desk();
    await follow(page, '/');
    await page.getByRole('button', { name: 'Run CORE' }).click();
    await page.getByText('up to date').waitFor();
    await page.getByRole('row', { name: /CORE/ }).click();
    await page.getByRole('application', { name: /Level of CORE/ }).waitFor();
    const { body } = await service.ask<{ metrics: { total_return: number } }>('GET', '/analytics/CORE/overview');
    const shownReturn = `${(100 * body.metrics.total_return).toFixed(2)}%`;
    await pollEventually(() => page.getByLabel(/^Figures from/).textContent()).toContain(shownReturn);
    await picture(page, 'index');
    for (const [part, isThere] of [
      ['Constituents', 'Effective'],
      ['Weights', 'Concentration and turnover'],
      ['Attribution', 'Average exposure'],
      ['Risk', 'Volatility, 6 months'],
      ['Limits', 'Breaches'],
      ['Scenarios', '% drawdown, '],
      ['Rebalances', 'Turnover'],
      ['Actions', 'Ex-date'],
      ['Publication', 'Nothing is published yet'],
      ['Versions', 'Reason'],
      ['Runs', 'A comparison is available after the second run'],
      ['Methodology', 'Definition'],
    ] as const) {
      await openPart(page, part);
      await page.getByText(isThere).first().waitFor();
    }
    await page.getByRole('link', { name: 'Rebalances', exact: true }).click();
    const rebalances = page.getByRole('grid', { name: 'rebalances of CORE' });
    await rebalances.getByRole('columnheader', { name: 'Turnover' }).waitFor();
    await rebalances.getByRole('row').nth(1).click();
    await page.getByRole('heading', { name: 'Before and after' }).waitFor();
    const path = new URL(page.url()).pathname.replace('/console/indices/CORE', '');
    const rebalance = await service.ask<{ constituents: number }>('GET', `/analytics/CORE${path}`);
    await pollEventually(() => page.getByLabel('Figures of the rebalance').textContent()).toContain(
      `Constituents${rebalance.body.constituents}`,
    );
    await page.getByRole('button', { name: /^Universe/ }).waitFor();
    // The run was computed without costs.
    expect(await page.getByLabel('Figures of the rebalance').textContent()).toContain('Costnot modelled');
    await pollEventually(() => page.getByRole('columnheader', { name: 'Traded USD' }).count()).toBe(1);
    await picture(page, 'rebalance');
    const [, , date] = path.split('/');
    const orders = { aum: 1_000_000, accounts: [], as_of: date };
    const pack = await service.ask<RebalancePack>('POST', '/indices/CORE/rebalance-pack', orders);
    await page.getByText('Orders of accounts').click();
    const { trades, turnover } = pack.body.accounts[0]!;
    await page
      .getByLabel('Figures of AUM')
      .getByText(`${(100 * turnover).toFixed(2)}%`)
      .waitFor();
    await pollEventually(() => page.getByRole('grid', { name: 'orders of AUM' }).getAttribute('aria-rowcount')).toBe(
      String(trades.length + 1),
    );
    const csv = await downloadFile(page, () => page.getByRole('button', { name: 'Orders as CSV' }).click());
    expect(csv.toString().trim().split('\n')).toHaveLength(trades.length + 1);
    expect(complaints).toEqual([]);
  });

  test('a run uses the costs and the benchmark of its form, and the next run uses them again', async () => {
    const { complaints, page, service } = desk();
    const benchmarkId = await findLongestName(service);
    await page.goto(`${service.url()}/console/indices/CORE`);
    await page.getByText('No transaction cost').click();
    await page.getByLabel('Transaction cost').fill('5000');
    const runButton = page.getByRole('button', { name: /^ ?Run/ });
    await pollEventually(() => runButton.count()).toBe(1); // changed terms have one button
    await runButton.click();
    await pollEventually(() => page.getByLabel('Transaction cost').getAttribute('aria-invalid')).toBe('true');
    // The button refers to the field until the user changes the terms.
    const refusalAlert = page.getByRole('alert').filter({ hasText: 'See the marked field.' });
    await page.locator('.run-settings').filter({ has: refusalAlert }).waitFor();
    await page.getByLabel('Transaction cost').fill('25');
    await refusalAlert.waitFor({ state: 'detached' });
    await page.getByLabel('Benchmark').fill(`identifier:${benchmarkId}`);
    await reloadWithTerms(page);
    await runButton.click();
    const takenTerms = page.getByText(`Benchmark ${benchmarkId} · Transaction cost 25 bp`);
    await page.getByTitle(`Benchmark ${benchmarkId}, total return`, { exact: true }).waitFor();
    await pollEventually(() => new URL(page.url()).searchParams.has('run')).toBe(false);
    await pollEventually(() => page.getByText('Next run:').count()).toBe(0);
    // The definition has changed. The address of the new run contains no terms.
    const { body: document } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/CORE', { ...document, base_value: 700 });
    await page.goto(
      `${service.url()}/console/indices/CORE?run=${encodeURIComponent(JSON.stringify({ transaction_cost_bps: 5000 }))}`,
    );
    const staleText = /This run is out of date.*Base value from [\d,]+ points to 700 points. Compare versions/;
    await page.getByRole('status').filter({ hasText: staleText }).waitFor();
    await page.getByRole('button', { name: 'Run with these terms' }).click();
    await page.locator('.run-settings').filter({ has: refusalAlert }).waitFor();
    await follow(page, '/console/indices/CORE');
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByText('This run is out of date').waitFor({ state: 'detached' });
    await takenTerms.waitFor();
    const { body: runs } = await service.ask<StoredRuns>('GET', '/analytics/CORE/runs?limit=2');
    const terms = { transaction_cost_bps: 25, benchmark: { kind: 'identifier', id: benchmarkId } };
    expect(runs.runs.map(({ request }) => request)).toMatchObject([terms, terms]);
    await service.ask('PUT', '/indices/CORE', document);
    expect(complaints).toEqual([]);
  });

  test('the difference between two runs is explained, and the index is shown as of the earlier run', async () => {
    const { complaints, page, service } = desk();
    const { body: runs } = await service.ask<StoredRuns>('GET', '/analytics/CORE/runs?limit=3');
    const [newest, , first] = runs.runs;
    await follow(page, `/console/indices/CORE?tab=runs&run_from=${first!.run_id}&run_to=${newest!.run_id}`);
    await page.getByRole('application', { name: 'Portfolios of two runs of CORE' }).waitFor();
    await page.getByRole('application', { name: 'Later run divided by the earlier run' }).waitFor();
    await page.getByRole('button', { name: 'Find the causes' }).click();
    const causes = page.getByRole('table', { name: 'Effect of each cause on the total return' });
    await causes.waitFor();
    const { body: job } = await service.ask<{ result: RunsDifference }>('GET', '/jobs/diff:CORE');
    const { effects, total_return: total } = job.result;
    const { total_return: costs } = effects!.find(({ cause }) => cause === 'request')!;
    expect([costs < 0, effects!.reduce((sum, effect) => sum + effect.total_return, 0)]).toEqual([true, total]);
    await causes.getByRole('row', { name: `Terms of the run −${Math.abs(100 * costs).toFixed(4)}%` }).waitFor();
    await page.getByRole('region', { name: 'Changes of the terms' }).getByText('Transaction cost').waitFor();
    // The newest run is in the first row below the titles. The selected run is two rows lower.
    await page
      .getByRole('grid', { name: 'runs of CORE' })
      .getByRole('row')
      .nth(3)
      .getByRole('gridcell')
      .nth(1) // the cell next to the checkbox
      .click();
    await page.getByText('is shown, not the newest').waitFor();
    // The requested report covers only the selected run.
    await page.getByRole('link', { name: 'Report', exact: true }).click();
    await page.getByText('not the newest').waitFor();
    const error = { code: 'QUEUE_FULL', message: 'Queue full: 120 jobs waiting (limit 100).', detail: null };
    await page.route('**/reports/render', (route) => route.fulfill({ status: 503, json: { error } }), { times: 1 });
    const [rendered] = await Promise.all([
      page.waitForRequest('**/reports/render'),
      page.getByRole('button', { name: 'Render', exact: true }).click(),
    ]);
    expect(rendered.postDataJSON()).toMatchObject({ index_id: 'CORE', run_ids: { CORE: first!.run_id } });
    await page.getByRole('alert').filter({ hasText: error.message }).waitFor();
    // The page also shows why the selected run held a security.
    const { body: heldWeights } = await service.ask<WeightsView>('GET', '/analytics/CORE/weights');
    const { identifier } = heldWeights.weights[0]!;
    const explainRequest = page.waitForRequest((one) => one.url().includes(`/explain/`));
    await follow(page, `/console/indices/CORE?tab=constituents&run_id=${first!.run_id}&name=${identifier}`);
    expect(new URL((await explainRequest).url()).searchParams.get('run_id')).toBe(first!.run_id);
    await page
      .getByRole('complementary', { name: `${identifier} in CORE` })
      .getByText('Weight decided')
      .waitFor();
    await follow(page, `/console/indices/CORE?run_id=${first!.run_id}`);
    await page
      .getByLabel(/^Figures from/)
      .getByText(`+${(100 * first!.metrics!.total_return!).toFixed(2)}%`)
      .waitFor();
    await page.getByRole('link', { name: 'Show the newest' }).click();
    await pollEventually(() => new URL(page.url()).searchParams.has('run_id')).toBe(false);
    expect(complaints).toEqual([]);
  });

  test('limits of a run are watched, and scenarios of a past window and a shock are computed', async () => {
    const { complaints, page, service } = desk();
    await follow(page, '/console/indices/CORE?tab=limits');
    const { body } = await service.ask<LimitsView>('GET', '/analytics/CORE/limits');
    const figures = page.getByLabel('Figures of the limits');
    await figures.getByText(`of ${body.sessions.toLocaleString('en-GB')} sessions`, { exact: true }).waitFor();
    const openCount = new Set(body.breaches.flatMap(({ row, end }) => (end === null ? [row] : []))).size;
    expect(await figures.textContent()).toContain(openCount === 0 ? 'within all limits' : `State${openCount} limit`);
    expect(await figures.textContent()).toContain(`Breached${body.breached_sessions.toLocaleString('en-GB')}`);
    await follow(page, '/console/indices/CORE?tab=risk&from=2020-01-02&to=2020-06-30');
    await page.getByLabel('Risk from 2020-01-02 to 2020-06-30').getByText('Value at risk 95%').waitFor();
    await page.getByRole('link', { name: 'Scenarios' }).click();
    await page.getByText('The range 2020-01-02 to 2020-06-30 does not apply here').waitFor();
    // On a generated market, the drawdowns of the index replace the historical crises.
    await page
      .getByRole('row', { name: /^\d+\.\d% drawdown, \d{4}-\d\d / })
      .first()
      .waitFor();
    expect(await page.getByRole('row', { name: /^Pandemic 2020 / }).count()).toBe(0);
    await page.getByRole('button', { name: 'Remove all' }).click();
    await page.getByRole('button', { name: 'Window' }).click();
    await page.getByLabel('Start *').fill('2020-02-20');
    await page.getByLabel('End *').fill('2020-03-23');
    await page.getByRole('button', { name: 'Shock' }).click();
    // An incomplete shock is ignored instead of refused.
    await page.getByText('An empty shock is ignored').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('button', { name: 'Add to Shocks' }).click();
    await page.getByLabel('Shocks: name 1').fill('SECTOR:Energy');
    await page.getByLabel('Shocks: SECTOR:Energy').fill('-0.2');
    const scenarios = [
      { name: 'Window 1', window: { start: '2020-02-20', end: '2020-03-23' } },
      { name: 'Shock 2', shocks: { 'SECTOR:Energy': -0.2 } },
    ];
    const view = await service.ask<ScenariosView>('POST', '/analytics/CORE/scenarios', { scenarios });
    for (const { name, return: earned } of view.body.scenarios) {
      if (earned === null) throw new Error(`${name} has no return`);
      const text = `${earned < 0 ? '\u2212' : '+'}${Math.abs(100 * earned).toFixed(2)}%`;
      await page.getByRole('row', { name: new RegExp(`^${name} ${text.replace('+', '\\+')}`) }).waitFor();
    }
    // The shocks are part of the address.
    await page.reload();
    await page.getByRole('row', { name: /^Shock 2 / }).waitFor();
    expect(complaints).toEqual([]);
  });
}
