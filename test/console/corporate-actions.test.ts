import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ActionsView, DeskAction, DeskActions } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { pollEventually, follow, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';
import { listNameViolations } from './violations.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/** Tests the corporate actions of a data store and of an index. Each test starts from an address. */
describe.skipIf('why' in browserFailure)('corporate actions', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('a corporate action is compared with other sources side by side, and a decision is recorded with their values', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<DeskActions>('GET', '/actions?from=2020-01-01&limit=1');
    const [action] = body.actions;
    const id = action!.action_id;
    await follow(page, `/console/actions?from=2020-01-01&action=${id}`);
    await page.getByText('Values of other sources', { exact: true }).click();
    expect(await listNameViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add to Other sources' }).click();
    await page.getByLabel('Source *').fill('Notice of the issuer');
    await page.getByLabel('Value').fill(String(2 * action!.value));
    await page.getByRole('button', { name: 'Confirm', exact: true }).click();
    const comparedSources = page.getByRole('region', { name: 'Sources compared' });
    await comparedSources.getByRole('row', { name: /^Notice of the issuer .* differs –$/ }).waitFor();
    const { body: decided } = await service.ask<DeskAction>('GET', `/actions/${id}`);
    expect(decided.decisions[0]?.sources).toMatchObject([{ name: 'Notice of the issuer', value: 2 * action!.value }]);
    await page.keyboard.press('Escape');
  });

  test('corporate actions are listed from ten days before the last session, otherwise those of the last year', async () => {
    const { page, service } = desk;
    const { body: usual } = await service.ask<DeskActions>('GET', '/actions');
    expect(usual.actions).toEqual([]); // the market ends in the past
    await follow(page, '/console/actions');
    await page.getByText('those of the last year are shown, the latest first').waitFor();
    const head = page.getByRole('grid', { name: 'corporate actions' }).getByRole('row').first();
    await pollEventually(() => head.textContent()).toMatch(/Ex-date.*Security/); // A year of days has no use.
    expect(await head.textContent()).not.toContain('When');
  });

  test('the desk opens with the actions that concern an index, by ex-date, and its filters have counts', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<DeskActions>('GET', '/actions?from=2025-01-01&indices=true&limit=1000');
    const all = body.actions.length;
    const held = body.actions.filter(({ indices }) => indices!.length > 0);
    expect([held.length > 0, held.length < all]).toEqual([true, true]);
    await follow(page, '/console/actions?from=2025-01-01');
    const grid = page.getByRole('grid', { name: 'corporate actions' });
    await pollEventually(() => grid.getAttribute('aria-rowcount')).toBe(String(held.length + 1));
    const open = held.filter(({ state }) => state === 'new' || state === 'amended').length;
    await page.getByText(`${open} actions to confirm, ${open} past the ex-date`).waitFor(); // the market ends in the past
    // The decision is visible before an action is selected.
    const confirm = page.getByRole('button', { name: 'Confirm selected' });
    expect(await confirm.isDisabled()).toBe(true);
    await grid.getByRole('checkbox').nth(1).check();
    await page.getByRole('button', { name: 'Confirm 1', exact: true }).waitFor();
    await grid.getByRole('checkbox').nth(1).uncheck();
    expect(await page.getByRole('radio', { name: `In an index ${held.length}`, exact: true }).isChecked()).toBe(true);
    const date = grid.getByRole('columnheader', { name: 'Ex-date' });
    await pollEventually(() => date.getAttribute('aria-sort')).toBe('descending');
    await date.getByText('↓').waitFor();
    await pollEventually(() => grid.getByRole('row').nth(1).textContent()).toContain(
      held
        .map((row) => row.ex_date)
        .toSorted()
        .at(-1),
    );
    await page.getByRole('radio', { name: `All ${all}`, exact: true }).check();
    await pollEventually(() => grid.getAttribute('aria-rowcount')).toBe(String(all + 1));
    await page
      .getByRole('radio', { name: `Confirmed ${body.actions.filter(({ state }) => state === 'confirmed').length}` })
      .waitFor();
  });

  test('a list of corporate actions shows the indices that each action affects, in alphabetical order', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<DeskActions>('GET', '/actions?from=2022-01-01&to=2022-12-31&indices=true');
    const { identifier, ex_date: date, indices } = body.actions.find((action) => action.indices!.length === 2)!;
    const weights = new Map(indices!.map(({ index_id: id, weight }) => [id, `${(100 * weight).toFixed(2)}%`]));
    await follow(page, `/console/actions?from=2022-01-01&actions.q=${identifier}`);
    const row = page.getByRole('grid', { name: 'corporate actions' }).getByRole('row').filter({ hasText: date });
    await row.getByText(`BROAD ${weights.get('BROAD')}, CORE ${weights.get('CORE')}`).waitFor();
  });

  test('a dividend of an index has its index points, and its row has no divisor', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<ActionsView>('GET', '/indices/CORE/actions?from=2025-01-01&to=2025-12-31');
    const dividends = body.actions.filter(({ type }) => type === 'DIVIDEND');
    const { ex_date: date, identifier, dividend_points: points } = dividends.at(-1)!;
    await follow(page, '/console/indices/CORE?tab=actions&kind=dividends&from=2025-01-01&to=2025-12-31');
    const grid = page.getByRole('grid', { name: 'corporate actions of CORE' });
    await grid
      .getByRole('row', { name: new RegExp(`^${date} ${identifier} .* a share ${points!.toFixed(4)} `) })
      .waitFor();
    expect(await grid.getByRole('columnheader', { name: 'Divisor' }).count()).toBe(0);
    await grid.getByRole('columnheader', { name: 'Weight before', exact: true }).waitFor();
    await page.getByRole('radio', { name: `Dividends ${dividends.length}`, exact: true }).waitFor();
    await page.getByText('ordinary dividends by ex-date, no withholding tax').waitFor();
  });
});
