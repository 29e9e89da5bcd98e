import { existsSync, statSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { IndexDocument, WhatIfResponse } from '#clients/typescript/divisor.js';
import { pollEventually, follow, waitForCalm, type Desk } from '../desk.js';
import { IS_SOAK } from '../../soak.js';
import { picture } from '../picture.js';
import { AXE, listViolations } from '../violations.js';
import { MARKS, markDrawn } from './new-styles.js';
import { followTabs } from './tab-key.js';

/** Rules whose outcome depends on colours and widths. Every other rule has the same outcome in every theme. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
const OF_WIDTHS = ['button-name', 'link-name', 'target-size', 'scrollable-region-focusable', ...OF_COLOURS];

const NARROW = { width: 390, height: 844 };
const WIDE_SIZE = { width: 1280, height: 820 };

/** Tabs of an index, except the first tab and tabs that need more parameters in the address. */
const TABS = [
  'constituents',
  'weights',
  'attribution',
  'risk',
  'limits',
  'rebalances',
  'actions',
  'methodology',
  'publication',
  'runs',
];

async function readAddresses({ service }: Desk): Promise<readonly string[]> {
  const findJob = async (kind: string) =>
    (
      await service.ask<{ jobs: { job_id: string }[] }>('GET', `/jobs?kind=${kind}&status=succeeded`)
    ).body.jobs[0]!.job_id.split(':')[1];
  const [optimise, sweep, render] = [await findJob('optimise'), await findJob('sweep'), await findJob('render')];
  const { body } = await service.ask<{ rebalances: { date: string }[] }>('GET', '/analytics/CORE/rebalances');
  const { body: found } = await service.ask<{ identifiers: { identifier: string }[] }>('GET', '/data/identifiers');
  const { body: stores } = await service.ask<{ active: string }>('GET', '/data/stores');
  const index = '/console/indices/CORE';
  const storeAddress = `/console/data/stores/${stores.active}`;
  return [
    '/',
    `${index}?run=%7B%22transaction_cost_bps%22%3A25%7D`,
    ...TABS.map((tab) => `${index}?tab=${tab}`),
    `${index}?tab=scenarios&scenarios=${encodeURIComponent('[{"name":"Energy","shocks":{"SECTOR:Energy":-0.2}}]')}`,
    `${index}/rebalances/${body.rebalances.at(-1)!.date}`,
    `${index}/edit`,
    `${index}-OPT`,
    `${index}-OPT/edit`,
    `${index}?tab=versions&version=1`,
    '/console/indices/templates',
    '/console/dashboard',
    '/console/calendar',
    '/console/calendar/closures/XNYS',
    '/console/schedules',
    '/console/schedules/new',
    '/console/actions',
    '/console/approvals',
    '/console/governance',
    '/console/governance/clients/new',
    '/console/governance/audit',
    '/console/governance/statements/CORE',
    '/console/batches',
    '/console/risk-models',
    '/console/risk-models/daily',
    '/console/compare?benchmark=CORE',
    '/console/optimise',
    `/console/optimise/runs/${optimise}`,
    ...['', '/new', `/${sweep}`].map((rest) => `/console/sweeps${rest}`),
    '/console/data',
    '/console/data/import',
    '/console/data/connect',
    '/console/data/sql',
    '/console/data/sql?q=SELECT+index_id%2C+date%2C+level+FROM+levels+LIMIT+5',
    ...['', 'doubts', 'coverage', 'names'].map((tab) => `${storeAddress}?tab=${tab}`),
    '/console/names',
    `/console/names/${found.identifiers[0]!.identifier}`,
    '/console/reports',
    '/console/reports/templates/DESK',
    `/console/strategies/new?index=CORE`,
    '/console/watchlists',
    '/console/watchlists/desk',
    '/console/plugins',
    '/console/plugins/doubled',
    `/console/reports?render=${render}`,
    `/console/jobs?job=sweep:${sweep}`,
    '/console/health',
    '/console/nowhere',
    '/console/indices/NONE',
  ];
}

/** Opens an address as a link does. Waits until all requests have been answered. */
async function visit(page: Page, address: string): Promise<void> {
  await follow(page, address);
  await waitForCalm(page);
}

/**
 * Selectors of elements that are similar to others, such as the later rows of a table. Only the first ones are checked.
 */
const REPEATED_ELEMENTS = [
  '[role=row]:nth-child(n + 6)',
  'tbody > tr:nth-child(n + 6)',
  '.methodology > li:nth-child(n + 6)',
];

/** Selectors of the frame around every page, which is checked once per theme and width. */
const FRAME_ELEMENTS = ['.rail', '.top-bar'];

type ThemeName = 'light' | 'dark';

/** Position of a view in the order of a page's views. */
interface ViewPosition {
  readonly isFirst: boolean;
  /** True if axe-core checks the view: every view in the soak, otherwise only the initial view of a page. */
  readonly isChecked: boolean;
}

interface CheckOptions {
  readonly rules?: readonly string[];
  /** Name of a theme and a width. Contrast is checked only for elements that have new colours in this view. */
  readonly view?: string;
  readonly isFirst: boolean;
}

/** Returns the findings of axe-core, one per line, for the given rules or all rules. */
async function readViolations(page: Page, { rules, view, isFirst }: CheckOptions): Promise<readonly string[]> {
  const excludedSelectors = isFirst ? REPEATED_ELEMENTS : [...REPEATED_ELEMENTS, ...FRAME_ELEMENTS];
  if (view !== undefined && !IS_SOAK) await markDrawn(page, view, excludedSelectors);
  return listViolations(page, { ...(rules !== undefined && { rules }), excludedSelectors });
}

/** Returns the errors of tab navigation on a visible page, one per line. */
async function listTabProblems(page: Page, isFirst: boolean): Promise<readonly string[]> {
  const problems = await followTabs(page, isFirst);
  if (problems.length === 0) return problems;
  // If the page was rendered again in the meantime, it has new elements. The next attempt finds their errors.
  await waitForCalm(page);
  return followTabs(page, isFirst);
}

/** Script that finds charts without a table for screen readers. */
const FIND_UNLABELLED_CHARTS = `[...document.querySelectorAll('[role=application]')]
  .filter((chart) => !chart.closest('.chart')?.querySelector('table caption'))
  .map((chart) => 'no table of ' + chart.getAttribute('aria-label'))`;

/** Maximum compressed bytes of the assets that the browser loads before it shows the first page. */
const FIRST_LOAD_MAX = 130_000;

/**
 * Returns the bytes of assets as transferred. They are compressed with brotli, except files that are already
 * compressed.
 */
function sumBytes(paths: readonly string[]): number {
  const files = paths.filter((path) => path.startsWith('/console/assets/')).map((path) => `dist${path}`);
  expect(files.length).toBeGreaterThan(0);
  return ['dist/console/index.html', ...files]
    .map((file) => statSync(existsSync(`${file}.br`) ? `${file}.br` : file).size)
    .reduce((sum, size) => sum + size, 0);
}

/** Types a few letters into the search and opens its first result. @param expectedText expected text of this result */
async function open(page: Page, typedText: string, expectedText: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Page, document, security or action' }).waitFor();
  await page.keyboard.type(typedText);
  await page.getByRole('option', { name: expectedText, selected: true }).waitFor();
  await page.keyboard.press('Enter');
}

/** Opens the first page. Waits until its parts are shown. */
async function showFirstPage(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByRole('row', { name: /^CORE / }).waitFor();
  await page.getByRole('region', { name: 'Coming up' }).waitFor();
}

/** Script that drops the requests of a page that has been shown for some seconds, so that a slow machine does not count them. */
const DROP_LATER_REQUESTS = `globalThis.setTimeout = ((wait) => (run, ms, ...rest) => (ms >= 3000 ? 0 : wait(run, ms, ...rest)))(setTimeout)`;

/** Returns the paths that the browser requests before it shows the first page. */
async function measureFirstLoad({ newPage, service }: Desk): Promise<readonly string[]> {
  const requests = new Set<string>();
  const page = await newPage();
  await page.addInitScript(DROP_LATER_REQUESTS);
  page.on('request', (request) => requests.add(new URL(request.url()).pathname));
  await showFirstPage(page, service.url());
  await page.close();
  return [...requests];
}

/** Tests requirements that apply to every page. */
export function describePages(desk: () => Desk): void {
  /** Elements that tab navigation did not reach, by page. They are collected while all pages are visited once. */
  let skippedElements: Record<string, readonly string[]> | undefined;

  const inViews = IS_SOAK ? 'in light and dark, wide and narrow' : 'wide in light or narrow in dark, by turns';
  test(`every page meets WCAG 2.2 AA ${inViews}, and fits a telephone`, async () => {
    const { page, complaints, service } = desk();
    await page.goto(service.url());
    await page.evaluate(IS_SOAK ? AXE : `${AXE};${MARKS}`);
    // The parts of a dashboard are other pages in frames. They would be tested a second time.
    await page.evaluate(`localStorage.setItem('divisor.dashboard', '[]')`);
    const result: Record<string, readonly string[]> = {};
    const unreachedElements: Record<string, readonly string[]> = {};
    const note = (where: string, lines: readonly string[]) => {
      if (lines.length > 0) result[where] = lines;
    };
    /** Checks every rule, every chart, and tab navigation on a wide, light page. */
    async function checkWideLight(address: string, { isFirst, isChecked }: ViewPosition): Promise<void> {
      if (isChecked) note(`${address} light`, await readViolations(page, { view: 'wide light', isFirst }));
      note(`${address} charts`, await page.evaluate<readonly string[]>(FIND_UNLABELLED_CHARTS));
      if (IS_SOAK) await checkOtherShade(address, { shade: 'dark', rules: OF_COLOURS, isFirst });
      const problems = await listTabProblems(page, isFirst);
      if (problems.length > 0) unreachedElements[address] = problems;
    }
    /**
     * Checks the rules that depend on colours and widths. Checks the other rules as well if the wide page was not
     * checked.
     */
    async function checkNarrowDark(address: string, { isFirst, isChecked }: ViewPosition): Promise<void> {
      await page.evaluate('scrollTo(0, 0)'); // the bar at the top covers elements that are scrolled below it
      const look = { ...(IS_SOAK && { rules: OF_WIDTHS }), view: 'narrow dark', isFirst };
      if (isChecked) note(`${address} dark narrow`, await readViolations(page, look));
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      if (width > NARROW.width) note(`${address} overflow`, [`${width} pixels wide`]);
      if (IS_SOAK) await checkOtherShade(address, { shade: 'light', rules: OF_WIDTHS, isFirst });
    }
    /** Opens the page at the same width in the other theme. */
    async function checkOtherShade(
      address: string,
      { shade, ...looked }: CheckOptions & { readonly shade: ThemeName },
    ): Promise<void> {
      await page.emulateMedia({ colorScheme: shade });
      await waitForCalm(page);
      note(`${address} ${shade}`, await readViolations(page, looked));
      await page.emulateMedia({ colorScheme: shade === 'dark' ? 'light' : 'dark' });
      await waitForCalm(page);
    }
    const views = [
      { size: WIDE_SIZE, shade: 'light', look: checkWideLight },
      { size: NARROW, shade: 'dark', look: checkNarrowDark },
    ] as const;
    const allAddresses = await readAddresses(desk());
    for (const [k, address] of allAddresses.entries()) {
      await visit(page, address);
      // The first view of a page equals the last view of the previous page.
      const [first, second] = k % 2 === 0 ? views : views.toReversed();
      await first!.look(address, { isFirst: k < 2, isChecked: true });
      await page.setViewportSize(second!.size);
      await page.emulateMedia({ colorScheme: second!.shade });
      await waitForCalm(page);
      await second!.look(address, { isFirst: k === 0, isChecked: IS_SOAK });
    }
    await page.setViewportSize(WIDE_SIZE);
    await page.emulateMedia({ colorScheme: 'light' });
    skippedElements = unreachedElements;
    expect(result).toEqual({});
    expect(complaints).toEqual([]);
  });

  test('the tab key reaches every control of every page, each with a focus ring', () => {
    expect(skippedElements).toEqual({});
  });

  test('the first page loads few bytes', async () => {
    expect(sumBytes(await measureFirstLoad(desk()))).toBeLessThanOrEqual(FIRST_LOAD_MAX);
  });

  test('pages, rows, marks of charts and order of rules are reached by keys alone', async () => {
    const { page, service } = desk();
    await showFirstPage(page, service.url());
    await picture(page, 'home');
    for (const key of ['Tab', 'Tab', 'Enter']) await page.keyboard.press(key);
    await pollEventually(() => page.evaluate(`document.activeElement.getAttribute('role')`)).toBe('row');
    await open(page, 'jobs', 'Jobs page');
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await open(page, 'watchlist desk', 'desk Desk watchlist');
    await page.getByRole('heading', { name: 'desk' }).waitFor();
    await open(page, 'CORE Core', 'CORE Core index');
    const chart = page.getByRole('application', { name: /Level of CORE/ });
    await page.getByLabel(/^Figures from/).waitFor();
    await chart.focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Shift+PageUp');
    await page.keyboard.press('Enter');
    await pollEventually(() => new URL(page.url()).searchParams.has('from')).toBe(true);
    await page.keyboard.press('Escape');
    await pollEventually(() => new URL(page.url()).searchParams.has('from')).toBe(false);
    await visit(page, '/console/indices/CORE?tab=constituents');
    await page.locator('[role=row][tabindex="0"]').focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    const panel = page.getByRole('complementary', { name: /./ }).last();
    await panel.waitFor();
    await pollEventually(() => page.evaluate('document.activeElement.tagName')).toBe('ASIDE');
    await page.keyboard.press('Escape');
    await pollEventually(() => page.evaluate(`document.activeElement.getAttribute('role')`)).toBe('row');
    await visit(page, '/console/indices/CORE/edit');
    const listRuleOrder = () => page.locator('#main .row > header strong').allTextContents();
    await pollEventually(async () => (await listRuleOrder()).length).toBeGreaterThan(1);
    const before = await listRuleOrder();
    await page.locator('#rule-0').focus();
    await page.keyboard.press('Alt+ArrowDown');
    await pollEventually(async () => (await listRuleOrder())[1]?.slice(3)).toBe(before[0]!.slice(3));
    const { body: stored } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    const { selection, weighting, treatment } = stored.pipeline!;
    const pipeline = { selection: selection.toReversed(), treatment, weighting: { ...weighting, cap: 0.05 } };
    const changedIndex = { ...stored, pipeline };
    const { body: change } = await service.ask<WhatIfResponse>('POST', '/indices/whatif', {
      index_id: 'CORE',
      changed: changedIndex,
    });
    expect(change.turnover).toBeGreaterThan(0);
    await page.getByRole('combobox', { name: /^Cap\b/ }).fill('0.05');
    await page.getByRole('radio', { name: 'Change' }).press('Space');
    await page
      .getByLabel('Effect of the change')
      .getByText(`${(100 * change.turnover).toFixed(2)}%`, { exact: true })
      .waitFor();
    await page.getByRole('button', { name: 'Save', disabled: false }).press('Enter');
    await page.getByText('Change the whole history instead').press('Enter');
    await page.getByRole('button', { name: 'Change the whole history' }).press('Enter');
    await page.getByRole('button', { name: 'Run again' }).press('Enter');
    await page.getByText('This run is out of date').waitFor({ state: 'detached' });
    const { body: run } = await service.ask<{ stale: object | null }>('GET', '/analytics/CORE/overview');
    expect(run.stale).toBeNull();
  });
}
