import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { runService, type RunningService } from '../services/running-service.js';

/** Maximum wait for a state on a busy machine. */
export const WAIT_MS = 60_000;

/** Factor by which SLOW_BROWSER slows the scripts of pages, in order to find races between typing and rendering. */
const SLOWDOWN = Number(process.env['SLOW_BROWSER'] ?? 1);

/** Slows the scripts of a page, if SLOW_BROWSER is set. */
export async function slowDown(page: Page): Promise<void> {
  if (!(SLOWDOWN > 1)) return;
  const processor = await page.context().newCDPSession(page);
  await processor.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
}

/** Polls a value until it satisfies the expectation. */
export const pollEventually = <T>(read: () => T) => expect.poll(read, { timeout: WAIT_MS });

/** A service and a browser that shows the pages of its console. */
export interface Desk {
  readonly service: RunningService;
  /** The main page of the test. */
  readonly page: Page;
  /** Errors that the browser reported: script errors, and content blocked by the security policy. */
  readonly complaints: readonly string[];
  /** Opens another page, whose errors are also added to `complaints`. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

/** Options of pages. Animations are off because every frame costs processor time. */
const VIEW = { viewport: { width: 1280, height: 820 }, locale: 'en-GB', reducedMotion: 'reduce' } as const;

/** Script that simulates the browser language of a system without a locale, which is not a valid language tag. */
const ODD_LANGUAGE = `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })`;

/** Script that disables the PDF viewer, in which a full Chromium would open tabs. */
const NO_VIEWER = `Object.defineProperty(Navigator.prototype, 'pdfViewerEnabled', { get: () => false })`;

/** Starts a service, which keeps its address after a restart, and opens a page in the browser. */
export async function openDesk(browser: Browser): Promise<Desk> {
  const flags = ['--port', String(await freePort())];
  const service = await runService(flags);
  const complaints: string[] = [];
  async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.newPage({ ...VIEW, ...options });
    page.setDefaultTimeout(WAIT_MS);
    await slowDown(page);
    await page.addInitScript(NO_VIEWER);
    // Requests to other hosts are blocked.
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (protocol.startsWith('http') && hostname !== '127.0.0.1') complaints.push(`asked ${request.url()}`);
    });
    page.on('pageerror', (failure) => complaints.push(String(failure)));
    page.on('console', (message) => {
      // The browser also reports refusals of the service, which the page shows itself.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        complaints.push(message.text());
    });
    return page;
  }
  const page = await openPage();
  await page.addInitScript(ODD_LANGUAGE);
  return {
    service,
    page,
    complaints,
    newPage: openPage,
    async close() {
      await browser.close();
      await service.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // the server listens on a port
  server.close();
  await once(server, 'close');
  return port;
}

/** Opens a part of a page by its tab, which may be in the menu of tabs that do not fit. */
export async function openPart(page: Page, name: string): Promise<void> {
  const tab = page.getByRole('main').getByRole('link', { name, exact: true });
  const more = page.getByRole('main').getByRole('navigation').getByText('More');
  if (!(await tab.isVisible()) && (await more.isVisible())) await more.click();
  await tab.click();
}

/** Opens a console address without reloading the page, as a link does. */
export const follow = (page: Page, address: string): Promise<void> =>
  page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );

/** Waits until the page has its heading and no request is open. */
export async function waitForCalm(page: Page): Promise<void> {
  await page.evaluate(`new Promise((resolve, reject) => {
    const until = Date.now() + ${WAIT_MS};
    const isThere = () => document.querySelector('main :is(h1, h2)') && !document.querySelector('.wait, [aria-busy=true]');
    const look = (frames) => {
      if (frames === 0) return resolve();
      if (Date.now() > until) return reject(new Error('still waiting: ' + document.querySelector('main').textContent));
      requestAnimationFrame(() => look(isThere() ? frames - 1 : 3));
    };
    look(3);
  })`);
}

/** Returns a security with prices from the first to the last date of the market. */
export async function findLongestName(service: RunningService): Promise<string> {
  const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=200');
  const first = body.identifiers.map(({ start }) => start!).toSorted()[0];
  const last = body.identifiers
    .map(({ end }) => end!)
    .toSorted()
    .at(-1);
  return body.identifiers.find(({ start, end }) => start === first && end === last)!.identifier;
}

export async function downloadFile(page: Page, act: () => Promise<unknown>): Promise<Buffer> {
  const [file] = await Promise.all([page.waitForEvent('download'), act()]);
  return readFile(await file.path());
}
