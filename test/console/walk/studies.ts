import { expect, test } from 'vitest';
import type {
  CompareView,
  OptimisationRunResult,
  RiskModelView,
  SweepView,
  WeightsView,
} from '#clients/typescript/divisor.js';
import { pollEventually, findLongestName, type Desk } from '../desk.js';
import { picture } from '../picture.js';

/** Tests optimisation, comparison, and sweeps. */
export function describeStudies(desk: () => Desk): void {
  test('conflicting rows are shown with their resolution, and a click applies it; then an index is derived', async () => {
    const { complaints, page, service } = desk();
    await page.getByRole('link', { name: 'Optimise' }).first().click();
    await page.getByLabel('Begin with').selectOption({ label: 'no constraints' });
    await page.getByLabel('Add a constraint').selectOption('PositionBounds');
    await page.getByLabel('Upper').fill('0.01');
    await page.getByText('Position bounds and full investment contradict each other.').waitFor();
    await page.getByText('in conflict', { exact: true }).waitFor();
    // A bound is shown with its unit.
    await page.getByText(/upper from 1% to [\d.]+%/).waitFor();
    await picture(page, 'optimise');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByLabel('Figures of the solution').waitFor();
    await pollEventually(async () => Number.parseFloat(await page.getByLabel('Upper').inputValue())).toBeGreaterThan(1);
    // Maximum utility requires expected returns: the field reports this, and choosing a model of the catalogue fixes
    // it.
    await page.getByRole('combobox', { name: 'Objective' }).selectOption('max_utility');
    await page.getByRole('listitem').filter({ hasText: 'is required by the objective max_utility' }).first().waitFor();
    // The previous solution remains visible meanwhile.
    const earlierSolution = page.getByRole('region', { name: 'The last solution' });
    await earlierSolution.getByLabel('Figures of the solution').waitFor();
    await page.getByRole('combobox', { name: 'Expected returns' }).selectOption('capm');
    await earlierSolution.waitFor({ state: 'detached' });
    // Unsaved rows and terms are part of the address.
    await page.reload();
    await page.getByRole('button', { name: 'Save as an index', disabled: false }).click();
    const form = page.getByRole('dialog', { name: 'Save as an index' });
    await form.getByLabel('Id *').fill('CORE OPT');
    await form.getByRole('button', { name: 'Save' }).click();
    await pollEventually(() => form.getByLabel('Id *').getAttribute('aria-invalid')).toBe('true');
    await form.getByLabel('Id *').fill('CORE-OPT');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Run CORE-OPT' }).click();
    await page.getByLabel(/^Figures from/).waitFor();
    const { body: derived } = await service.ask<{ derivation: object }>('GET', '/indices/CORE-OPT');
    expect(derived.derivation).toMatchObject({
      objective: { type: 'max_utility' },
      expected_returns: { type: 'capm' },
      constraints: [{ type: 'PositionBounds' }],
    });
    await page.getByRole('link', { name: 'Edit' }).click();
    await pollEventually(() => page.getByRole('combobox', { name: 'Objective' }).inputValue()).toBe('max_utility');
    await page.getByLabel('Figures of the preview').getByText('Forecast tracking error', { exact: true }).waitFor();
    await page.getByRole('heading', { name: 'Largest differences from CORE' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('a complete run is explained by the frontier and the cost of each bound, in the measure of its sentences', async () => {
    const { complaints, page, service } = desk();
    await page.getByRole('navigation').getByRole('link', { name: 'Optimise' }).first().click();
    await page.getByLabel('Begin with').selectOption({ label: 'no constraints' });
    await page.getByLabel('Add a constraint').selectOption('PositionBounds');
    // A fraction is shown as a percentage.
    await page.getByLabel('Upper').fill('0.05');
    await page.getByLabel('Upper').blur();
    await pollEventually(() => page.getByLabel('Upper').inputValue()).toBe('5%');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('heading', { name: 'Efficient frontier' }).waitFor();
    const run = new URL(page.url()).pathname.split('/').at(-1);
    const { body } = await service.ask<OptimisationRunResult>('GET', `/optimise/runs/${run}`);
    await pollEventually(() => page.getByLabel('Figures of the optimisation').textContent()).toContain(
      `${(100 * body.tracking_error).toFixed(2)}%`,
    );
    const root = Math.sqrt(body.objective_value);
    const formatChange = (objective: number | null) =>
      (1e4 * (Math.sqrt(objective!) - root)).toFixed(2).replace('-', '\u2212');
    const [relaxed] = body.sensitivities!;
    const [cost] = body.constraint_costs!;
    const side = body.constraints!.find(({ type, side: own }) => type === 'PositionBounds' && own === 'upper')!;
    const bound = body.binding.filter((one) => one!['label']!.startsWith('PositionBounds') && one!['side'] === 'upper');
    expect([side.binding, side.limit, relaxed!.from, bound.length > 1]).toEqual([true, 0.05, 0.05, true]);
    const constraints = page.getByRole('table', { name: 'constraints of the optimisation' });
    const row = constraints.locator('[data-at]').filter({ hasText: 'Position bounds, upper' });
    const findCell = (column: string) => row.locator(`[data-column=${column}]`).textContent();
    await pollEventually(async () => Promise.all(['label', 'limit', 'value', 'headroom'].map(findCell))).toEqual([
      'Position bounds, upper',
      '5.00%',
      '5.00%',
      `${bound.length} binding`,
    ]);
    expect(await findCell('cost')).toBe(formatChange(cost!.objective_without).replace('\u2212', ''));
    expect(await findCell('effect')).toBe(formatChange(body.objective_value + relaxed!.effect!));
    expect(await constraints.getByRole('columnheader', { name: 'Cost, bp' }).count()).toBe(1);
    await page.getByText('No model of expected returns was selected').waitFor();
    await page.locator('.frontier svg').getByText('Tangency').waitFor();
    const runFigures = page.getByLabel('This run', { exact: true });
    const expected = `${(100 * body.frontier!.portfolio!.expected_return).toFixed(2)}%`;
    await runFigures.getByText(expected, { exact: true }).waitFor();
    await row.click();
    const details = page.getByLabel(/^Details of Position bounds, upper/);
    for (const { sentence } of [relaxed!, cost!])
      expect(await details.textContent()).toContain(sentence.split(']').at(-1)!);
    // A selected point replaces the figures of the solution, and the main button saves it as an index.
    await page.getByRole('button', { name: /^Point 3:/ }).press('Enter');
    await page.getByRole('heading', { name: /^Point 3 of \d+ of the frontier$/ }).waitFor();
    await picture(page, 'frontier');
    await page.getByRole('img', { name: /^Point 3 of \d+ on the frontier$/ }).waitFor();
    await page.getByText(`solution ${(100 * body.tracking_error).toFixed(2)}%`, { exact: true }).waitFor();
    expect(await page.getByLabel('Figures of the optimisation').count()).toBe(0);
    await page.getByRole('link', { name: 'Save point 3 as an index' }).click();
    const form = page.getByRole('dialog', { name: 'Save as an index' });
    await form.getByLabel('Id *').waitFor();
    await form.press('Escape');
    await form.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  test('a risk model is estimated, inspected, and used by its id', async () => {
    const { complaints, page, service } = desk();
    await page.getByRole('link', { name: 'Optimise' }).first().click();
    await page.getByRole('link', { name: 'Risk models' }).click();
    await page.getByRole('button', { name: 'Estimate a model' }).click();
    await page.getByLabel('Id *').fill('daily');
    // A form shows only the settings of the chosen estimator.
    await page.getByLabel('Estimator').selectOption('gerber');
    await page.getByLabel('Threshold').waitFor();
    await page.getByLabel('Estimator').selectOption('shrinkage');
    await page.getByLabel('Threshold').waitFor({ state: 'detached' });
    await page.getByLabel('Constituents of index').fill('CORE');
    await page.getByRole('button', { name: 'Estimate', exact: true }).click();
    const figures = page.getByLabel('Figures of the model');
    await figures.waitFor();
    const { body: model } = await service.ask<RiskModelView>('GET', '/risk-models/daily');
    await pollEventually(() => figures.textContent()).toContain(
      `Mean correlation${model.diagnostics.average_correlation.toFixed(2)}`,
    );
    const [first] = Object.entries(model.volatilities).toSorted(([, a], [, b]) => b - a)[0]!;
    await page.getByRole('grid', { name: 'volatilities of the model' }).getByRole('row').nth(1).click();
    await page.getByRole('heading', { name: `Correlations with ${first}` }).waitFor();
    await page.getByRole('img', { name: /^Correlations of \d+ securities/ }).waitFor();
    await page.getByRole('link', { name: 'Optimise with it' }).click();
    await page.getByText('Costs and risk model').click();
    await pollEventually(() => page.getByLabel('Risk model', { exact: true }).inputValue()).toBe('daily');
    // The model uses returns up to the last date of the data, which is later than the solved rebalance.
    await page.getByRole('button', { name: /^Estimate up to / }).click();
    await pollEventually(() => page.getByLabel('Risk model', { exact: true }).inputValue()).toMatch(/^daily-\d{4}-/);
    await page.getByLabel('Figures of the solution').waitFor();
    await page.getByRole('link', { name: 'The index' }).click();
    await page.getByRole('link', { name: 'Risk', exact: true }).click();
    const contributions = page.getByRole('region', { name: 'Contributions to volatility' });
    await contributions.getByRole('combobox').selectOption('daily');
    const { body: heldWeights } = await service.ask<WeightsView>('GET', '/analytics/CORE/weights?risk_model=daily');
    await contributions.getByText(`Forecast volatility ${(100 * heldWeights.risk!.volatility).toFixed(2)}%`).waitFor();
    await contributions.getByText('Estimated from model daily,').waitFor();
    expect(complaints).toEqual([]);
  });

  test('a risk model from a file is imported, and errors are shown at their position', async () => {
    const { complaints, page, service } = desk();
    const { body: exported } = await service.ask<{ readonly models: readonly object[] }>(
      'GET',
      '/risk-models/daily/export',
    );
    const createTextFile = (name: string, text: string) => ({
      name,
      mimeType: 'text/plain',
      buffer: Buffer.from(text),
    });
    await page.getByRole('link', { name: 'Optimise' }).first().click();
    await page.getByRole('link', { name: 'Risk models' }).click();
    await page.getByRole('button', { name: 'Import a model' }).click();
    await page.getByLabel('Id of the import *').fill('vendor');
    const files = page.getByRole('form', { name: 'Import a model' }).locator('input[type=file]');
    await files.setInputFiles(createTextFile('broken.csv', 'date,identifier,AAA\n2024-01-31,AAA,x\n'));
    await page.getByText('The cell is x; a finite number is required.').waitFor();
    await files.setInputFiles(createTextFile('model.json', JSON.stringify(exported)));
    await page.getByRole('heading', { name: 'vendor', level: 1 }).waitFor();
    const figures = page.getByLabel('Figures of the model');
    await figures.waitFor();
    await pollEventually(() => figures.textContent()).toContain('Dates1');
    expect((await service.ask('GET', '/risk-models/vendor/export')).body).toEqual(exported);
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([]);
  });

  test('runs are compared on their common dates, and variants swept over a parameter', async () => {
    const { complaints, page, service } = desk();
    await page.getByRole('link', { name: 'Compare' }).click();
    const figures = page.getByRole('table', { name: 'figures of the runs compared' });
    await figures.getByRole('row', { name: /^CORE-OPT/ }).waitFor();
    const benchmarkId = await findLongestName(service);
    await page.getByLabel('Benchmark').fill(benchmarkId);
    const query = `ids=CORE,CORE-OPT&benchmark=${benchmarkId}`;
    const { body: compared } = await service.ask<CompareView>('GET', `/analytics/compare?${query}`);
    const { volatility } = compared.entries.at(-1)!;
    await figures
      .getByRole('row', { name: new RegExp(`^${benchmarkId} benchmark .*${(100 * volatility).toFixed(2)}%`) })
      .waitFor();
    await page.getByRole('link', { name: 'Sweeps' }).click();
    await page.getByRole('link', { name: 'New sweep' }).click();
    await page.getByText('10 groups, 2 tested at a time (45 splits), 1 session purged').waitFor();
    await page.getByRole('button', { name: /^Cap of weights: \d+%$/ }).click();
    await page.getByRole('textbox', { name: 'Cap of weights' }).fill('5%, 0.1, 1');
    // A sweep starts with the parameters of the newest run. Values are read in the unit of their parameter.
    await page.getByText('Read as 5%, 10%, 100%.').waitFor();
    const summary = page.getByRole('complementary', { name: 'This sweep' });
    await summary.getByText(/^\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d · 25 bp · total return$/).waitFor();
    // The run was measured, so the time of the sweep is estimated.
    await summary.getByText('Estimated time').waitFor();
    await page.getByRole('button', { name: 'Run 3 variants' }).click();
    await page.getByRole('heading', { name: 'Ranking' }).waitFor();
    await page.getByText('Splits with a loss').waitFor();
    // The ranking shows the only parameter, so there is no map.
    expect(await page.getByRole('region', { name: 'Sharpe ratio by parameters' }).count()).toBe(0);
    // The costs of the run and of the sweep are the same.
    await page.getByText('CORE, same terms').first().waitFor();
    await picture(page, 'sweep');
    const id = new URL(page.url()).pathname.split('/').at(-1);
    const { body } = await service.ask<{ request: object; result: Pick<SweepView, 'rows'> }>(
      'GET',
      `/jobs/sweep:${id}`,
    );
    expect(body.request).toMatchObject({
      request: { transaction_cost_bps: 25 },
      grid: { '/document/pipeline/weighting/cap': [0.05, 0.1, 1] },
      // The choice is tested unless this is turned off.
      folds: { method: 'combinatorial' },
    });
    await page.getByText(/ · Transaction cost 25 bp$/).waitFor();
    const [best] = body.result.rows;
    const cap = 100 * Number(Object.values(best!.patch)[0]);
    const sharpeText = best!.metrics!.sharpe_ratio!.toFixed(3).replace('-', '\u2212');
    await page.getByRole('row', { name: new RegExp(`^1 ${cap}% ${sharpeText} `) }).waitFor();
    expect(complaints).toEqual([]);
  });
}
