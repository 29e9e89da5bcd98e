import type { CDPSession, Page } from 'playwright-core';
import { openBrowser } from '../../test/console/browser.js';
import { spread } from '../percentiles.js';
import { finished, settled, startService, type RunningService } from '../http/service.js';

/**
 * What who opens the console waits for, in Chromium: a cold load of the home page until its indices are there, the bytes of its
 * assets, a chart of 20 years of daily levels drawn and panned, a table of 3,000 names scrolled.
 * Limits: 1 s, 120 KB brotli, 50 ms, 60 frames a second (16.7 ms of the main thread a frame).
 */
const LOADS = 7;
const MOVES = 120;
const NAMES = 3000;
/** After which a page asks for nothing more, and its charts are drawn for the last time. */
const SETTLED_MS = 1000;

const service = await startService();
const browser = await openBrowser();
try {
  await prepare(service);
  await settled(service);
  await measureLoads();
  await measureChart();
  await measureTable();
} finally {
  await browser.close();
  await service.stop();
}

async function send(method: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(service.url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
}

/** Twenty years of a hundred names, three indices on them, and their runs. */
async function prepare(running: RunningService): Promise<void> {
  const market = { store_id: 'market', seed: 7, assets: 100, start: '2005-01-03', end: '2024-12-31' };
  await send('POST', '/data/synthetic', market);
  await finished(running, 'generate:market');
  for (const id of ['ALL', 'LARGE', 'SMALL']) {
    const selection = id === 'ALL' ? [] : [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 50 } }];
    const pipeline = { selection, weighting: { type: 'EqualWeight' } };
    await send('PUT', `/indices/${id}`, { id, name: id, calendar: 'XNYS', base_date: '2005-01-31', pipeline });
    await send('POST', `/analytics/${id}/backtest`, {});
    await finished(running, `backtest:${id}`);
  }
}

/** Marks the moment at which something is on the page. */
async function marking(page: Page, selector: string): Promise<void> {
  await page.addInitScript(`new MutationObserver((_, observer) => {
    if (!document.querySelector(${JSON.stringify(selector)})) return;
    performance.mark('usable');
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });`);
}

async function usableAt(page: Page): Promise<number> {
  return page.evaluate<number>(`performance.getEntriesByName('usable')[0].startTime`);
}

async function measureLoads(): Promise<void> {
  const times: number[] = [];
  const assets = new Set<string>();
  for (let k = 0; k < LOADS; k++) {
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    page.on('request', (request) => {
      if (/\/console\/assets\/|\/$/.test(request.url())) assets.add(request.url());
    });
    await marking(page, '[role=row] a[href="/console/indices/LARGE"]');
    await page.goto(service.url);
    await page.getByRole('row', { name: /^LARGE/ }).waitFor();
    times.push(await usableAt(page));
    await context.close();
  }
  const sizes = await Promise.all([...assets].map(brotliBytes));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`first load      ${assets.size} files, ${(bytes / 1000).toFixed(1)} KB in brotli (limit 120 KB)`);
  console.log(`cold to usable  ${spread(times)}   (limit 1000 ms)`);
}

/** Bytes of an asset as a browser gets it over a connection that is encrypted. */
async function brotliBytes(url: string): Promise<number> {
  const response = await fetch(url, { headers: { accept: 'text/html, */*', 'accept-encoding': 'br' } });
  await response.arrayBuffer();
  return Number(response.headers.get('content-length'));
}

async function measureChart(): Promise<void> {
  const drawn: number[] = [];
  const page = await browser.newPage({ locale: 'en-GB', viewport: { width: 1280, height: 820 } });
  for (let k = 0; k < LOADS; k++) {
    await page.goto(`${service.url}/console/indices/LARGE?with=ALL,SMALL`);
    await page.getByRole('application', { name: /Level of LARGE/ }).waitFor();
    await page
      .getByText(/^SMALL/)
      .first()
      .waitFor();
    drawn.push(
      await page.evaluate<number>(`Math.max(...performance.getEntriesByName('chart').map(({ duration }) => duration))`),
    );
  }
  console.log(`chart drawn     ${spread(drawn)}   4 lines x 5,000 dates, the slowest of the page (limit 50 ms)`);
  await page.goto(`${service.url}/console/indices/LARGE?from=2010-01-04&to=2015-12-31`);
  const over = page.locator('.u-over').first();
  await over.waitFor();
  await page.waitForTimeout(SETTLED_MS);
  const box = (await over.boundingBox())!; // It is on the page.
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await report('panned', page, async (k) => {
    await page.mouse.move(box.x + box.width / 2 + 200 * Math.sin(k / 12), box.y + box.height / 2);
  });
  await page.mouse.up();
  await page.close();
}

async function measureTable(): Promise<void> {
  const identifiers = Array.from({ length: NAMES }, (_, n) => `N${String(n).padStart(4, '0')}`);
  const days = ['2024-01-02', '2024-01-03', '2024-01-04'];
  const data = days.flatMap((day, t) => identifiers.map((name, n) => [name, day, 10 + (n % 50) + 0.01 * t]));
  const market = { index: data.map((_, i) => i), columns: ['identifier', 'date', 'CLOSE'], data };
  await send('POST', '/data/import', { store_id: 'crowd', name: 'Crowd', activate: true, tables: { market } });
  const crowd = { id: 'CROWD', name: 'Crowd', calendar: 'XNYS', base_date: days[0] };
  await send('PUT', '/indices/CROWD', { ...crowd, pipeline: { weighting: { type: 'EqualWeight' } } });
  await send('POST', '/analytics/CROWD/backtest', {});
  await finished(service, 'backtest:CROWD');
  const page = await browser.newPage({ locale: 'en-GB', viewport: { width: 1280, height: 820 } });
  await page.goto(`${service.url}/console/indices/CROWD?tab=constituents`);
  const grid = page.getByRole('grid', { name: 'constituents of CROWD' });
  await grid.getByRole('row').nth(2).waitFor();
  await page.waitForTimeout(SETTLED_MS);
  await report(`scrolled ${NAMES}`, page, async (k) => {
    await grid.evaluate((element, top) => {
      (element as unknown as { scrollTop: number }).scrollTop = top;
    }, k * 160);
  });
  console.log(`                ${await grid.getByRole('row').count()} rows on the page`);
  await page.close();
}

/** Does something at each frame, and tells what a frame took of the main thread, and how far apart they came. */
async function report(what: string, page: Page, move: (k: number) => Promise<void>): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await page.evaluate(`(() => {
    window.frames60 = [];
    let before = performance.now();
    const tick = (now) => { window.frames60.push(now - before); before = now; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
  })()`);
  const before = await taskSeconds(session);
  const frame = 'new Promise((resolve) => requestAnimationFrame(() => resolve()))';
  for (let k = 0; k < MOVES; k++) {
    await move(k);
    await page.evaluate(frame);
  }
  const busy = (1000 * ((await taskSeconds(session)) - before)) / MOVES;
  const apart = await page.evaluate<number[]>(`window.frames60.slice(2)`);
  console.log(
    `${what.padEnd(15)} ${busy.toFixed(2)} ms of the main thread a frame (limit 16.7); frames apart ${spread(apart)}`,
  );
}

async function taskSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
}
