import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Page } from 'playwright-core';
import type { Schedule, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { createIndexStates, describeDay } from '#console/pages/schedules/day-states.js';
import {
  readDay,
  FAMILY,
  createFamilyOn,
  createFiles,
  performDay,
  putSchedule,
  SESSIONS,
} from '../services/daily-plans/family.js';
import { runService, type RunningService } from '../services/running-service.js';
import { tryBrowser } from './browser.js';
import { pollEventually, slowDown, WAIT_MS } from './desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();
const [first, second] = SESSIONS.slice(9) as [string, string];

describe('states of indices', () => {
  const createHeldIndex = (index: string, code: string) => ({
    index_id: index,
    step: 'checks',
    reason: 'no price',
    since: first,
    code,
  });
  const createDayStates = (change: object) =>
    ({ state: 'done', reason: null, held: [], step: null, ...change }) as unknown as ScheduleDaySummary;
  const formatStates = (change: object) =>
    createIndexStates(createDayStates(change), ['A', 'B']).map(({ index, state }) => `${index} ${state}`);

  test('are blocked with the reason, waiting before the steps are complete, and complete afterwards', () => {
    expect(formatStates({})).toEqual(['A done', 'B done']);
    const blockedDay = { state: 'blocked', step: 'checks', held: [createHeldIndex('B', 'CHECK_FAILED')] };
    expect(formatStates(blockedDay)).toEqual(['B blocked', 'A done']);
    expect(describeDay(createDayStates(blockedDay))).toEqual({ text: 'blocked', kind: 'bad' });
    expect(formatStates({ state: 'waiting', step: 'run' })).toEqual(['A waiting', 'B waiting']);
    expect(formatStates({ state: 'waiting', step: 'deliver' })).toEqual(['A done', 'B done']);
  });

  test('are blocked since an earlier day, while this day waits for its prices', () => {
    const lateDay = {
      date: second,
      state: 'waiting',
      step: 'refresh',
      reason: 'The store ends on the session before.',
    };
    const states = createIndexStates(createDayStates({ ...lateDay, held: [createHeldIndex('B', 'CHECK_FAILED')] }), [
      'A',
      'B',
    ]);
    expect(states.map(({ index, state, reason }) => [index, state, reason])).toEqual([
      ['B', 'blocked', `Since ${first}: no price`],
      ['A', 'waiting', lateDay.reason],
    ]);
    expect(describeDay(createDayStates({ ...lateDay, held: [createHeldIndex('B', 'CHECK_FAILED')] })).text).toBe(
      'held back',
    );
  });

  test('are not blocked if they wait for an approval', () => {
    const day = { state: 'blocked', step: 'publish', held: [createHeldIndex('B', 'APPROVAL_REQUIRED')] };
    expect(formatStates(day)).toEqual(['B awaited', 'A done']);
    for (const state of ['blocked', 'waiting'])
      expect(describeDay(createDayStates({ ...day, state }))).toEqual({ text: 'awaits approval', kind: 'warning' });
    const bothHeld = { ...day, held: [...day.held, createHeldIndex('A', 'CHECK_FAILED')] };
    expect(formatStates(bothHeld)).toEqual(['A blocked', 'B awaited']);
    expect(describeDay(createDayStates(bothHeld)).text).toBe('blocked');
    // The approval of an earlier day is missing. The current day waits for prices.
    const earlyDay = { ...day, state: 'waiting', step: 'refresh', reason: 'The store ends on the session before.' };
    expect(describeDay(createDayStates(earlyDay)).text).toBe('waiting');
    expect(describeDay(createDayStates({ ...day, reason: 'B: no price' })).text).toBe('awaits approval');
  });
});

describe.skipIf('why' in browserFailure)('the page of schedules', () => {
  let service: RunningService;
  let page: Page;

  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    service = await runService();
    const folder = await createFamilyOn(service, 10);
    const deliveryFolder = join(service.root, 'home', 'delivery', 'acme');
    const targets = [{ name: 'house', type: 'folder', url: `file://${deliveryFolder}` }];
    await service.ask('PUT', '/clients/ACME', { name: 'Acme', entitlements: [{ indices: ['CORE'] }], targets });
    const steps = [
      { type: 'refresh' },
      { type: 'run' },
      { type: 'checks' },
      { type: 'publish' },
      { type: 'export', files: [{ table: 'closing' }] },
      { type: 'deliver' },
    ];
    await putSchedule(service, { enabled: false, steps });
    expect((await performDay(service, first)).state).toBe('done');
    await folder.write(createFiles(second, (price, security) => (security === 'AA' ? price * 10 : price)));
    await rename(deliveryFolder, `${deliveryFolder}-away`);
    await writeFile(deliveryFolder, '');
    expect((await performDay(service, second)).state).toBe('blocked');
    page = await browserFailure.browser.newPage({ viewport: { width: 1280, height: 820 }, reducedMotion: 'reduce' });
    page.setDefaultTimeout(WAIT_MS);
    await slowDown(page);
  });
  afterAll(async () => {
    if ('browser' in browserFailure) await browserFailure.browser.close();
    await service?.close();
  });

  test('lists schedules with their latest days and counts of open ones', async () => {
    await page.goto(`${service.url()}/console/schedules`);
    const row = page.getByRole('row', { name: /^Close \d/ });
    await row.getByText(second).waitFor();
    await row.getByText('blocked', { exact: true }).waitFor();
    const figures = page.getByLabel('Days of all schedules');
    await pollEventually(() => figures.textContent()).toContain('Blocked days1needs a decision');
    await pollEventually(() => figures.textContent()).toContain('Schedules1none is enabled');
    await row.click();
    await page.waitForURL('**/console/schedules/close');
  });

  test('lists days with their states, and opens a day with its indices, steps, deliveries and log', async () => {
    await page.goto(`${service.url()}/console/schedules/close`);
    await page.getByText(second).first().waitFor();
    await page
      .getByText(/^\d\d:\d\d America\/New_York/)
      .first()
      .waitFor();
    await page.getByText('blocked', { exact: true }).first().waitFor();
    await page.getByRole('row', { name: new RegExp(`^${first} .* days after due`) }).waitFor(); // it was performed by hand
    await page.getByText(first).first().click();
    const panel = page.getByRole('complementary', { name: `Close, ${first}` });
    for (const id of FAMILY) await panel.getByText(id, { exact: true }).first().waitFor();
    await panel
      .getByText(`CORE_${first.replaceAll('-', '')}_closing.csv`, { exact: true })
      .first()
      .waitFor();
    await panel.getByText('Delivered.').first().waitFor();
  });

  test('the history has the state of each index on each session', async () => {
    const history = page.getByRole('region', { name: 'History of indices by session' });
    await history.getByRole('row', { name: 'CORE done blocked' }).waitFor();
    expect(await history.getByRole('row').count()).toBe(1 + FAMILY.length);
    await history.getByRole('link', { name: second }).click();
    await page.getByRole('complementary', { name: `Close, ${second}` }).waitFor();
  });

  test('lists the open days of a schedule with the whole reasons and a link to the decision', async () => {
    await page.goto(`${service.url()}/console/schedules/close`);
    const openItem = page.getByRole('list', { name: 'Open days' }).getByRole('listitem').filter({ hasText: second });
    for (const index of (await readDay(service, second)).held) await openItem.getByText(index.reason).first().waitFor();
    await openItem.getByRole('link', { name: 'Decide' }).click();
    await page.getByRole('complementary', { name: `Close, ${second}` }).waitFor();
  });

  test('shows the indices that a day blocks, and the reason', async () => {
    await page.goto(`${service.url()}/console/schedules/close?day=${second}`);
    const panel = page.getByRole('complementary', { name: `Close, ${second}` });
    await panel.getByText('blocked', { exact: true }).first().waitFor();
    await panel.getByText('Check', { exact: true }).first().waitFor();
    await panel.getByText('Nothing was delivered').waitFor();
    await panel.getByText(/; a begun day continues while its schedule is disabled$/).waitFor();
    const findings = panel.getByRole('group', { name: 'Findings of Unexplained moves' });
    const accept = findings.getByRole('button', { name: /^Accept \d findings for every index$/ });
    expect(await accept.isDisabled()).toBe(true); // the reason is still empty
    await panel.getByLabel('Reason').fill('The price of the exchange');
    await accept.click();
    await panel.getByText('Accepted', { exact: true }).waitFor();
    await pollEventually(async () => (await readDay(service, second)).waivers.map(({ check }) => check)).toEqual([
      'moves',
    ]);
  });

  test('a schedule is created in a form, with its errors at their fields, and edited', async () => {
    await page.goto(`${service.url()}/console/schedules`);
    await page.getByRole('link', { name: 'New schedule' }).click();
    const save = page.getByRole('button', { name: 'Save', exact: true });
    expect(await save.isDisabled()).toBe(true); // the id, the name and the indices are still empty
    await page.getByRole('group', { name: 'Indices' }).getByRole('button', { name: 'CORE', exact: true }).click();
    await page.getByLabel('Id *').fill('evening');
    await page.getByText('Once enabled, up to 20 missed sessions since its first session run first.').waitFor(); // the default of the schema
    await page.getByLabel('Name *').fill('Evening');
    await page.getByLabel('Begins at *').fill('quarter past six');
    await page.getByText('Error policy', { exact: true }).click();
    const policy = page.getByRole('group', { name: 'Error policy' });
    await policy.getByLabel('Materiality *').fill('5');
    await policy.getByLabel('Correction window *').fill('10');
    await page.getByRole('group', { name: 'Checks' }).getByText('Checks', { exact: true }).click();
    await page.getByLabel('Add a check').selectOption('Unexplained moves');
    await page.getByLabel('Limit', { exact: true }).fill('0.3');
    await page.getByLabel('Add a step').selectOption('export');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('must be a time of day, HH:MM, such as 18:30').first().waitFor();
    const readFocusedText = () => page.evaluate('document.activeElement.innerText');
    await pollEventually(readFocusedText).toContain('must be a time of day'); // the focus moved here from the button, which is now disabled
    // The reason contains the label of the field and links to the field.
    await page.getByText('Begins at must be a time of day').first().waitFor();
    await page.getByRole('button', { name: 'Go to Begins at' }).click();
    await page.locator(':focus').and(page.getByLabel('Begins at *')).waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('18:15');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.waitForURL('**/console/schedules/evening');
    await page.getByText('Run → Check → Publish → Write files').waitFor();
    const readSchedule = async () => (await service.ask<Schedule>('GET', '/schedules/evening')).body;
    expect(await readSchedule()).toMatchObject({ name: 'Evening', at: '18:15', enabled: false, calendar: 'XNYS' });
    const errors = { materiality_bps: 5, correction_window: 10 };
    expect((await readSchedule()).steps.find(({ type }) => type === 'publish')).toMatchObject({ errors });
    const checks = [{ check: 'moves', severity: 'block', limit: 0.3 }];
    expect((await readSchedule()).steps.find(({ type }) => type === 'checks')).toMatchObject({ checks });
    expect((await readSchedule()).steps.at(-1)).toMatchObject({ type: 'export', files: [{ table: 'closing' }] });
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('button', { name: 'Move step 4 up' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await pollEventually(async () => (await readSchedule()).steps.map(({ type }) => type)).toEqual([
      'run',
      'checks',
      'export',
      'publish',
    ]);
  });
});
