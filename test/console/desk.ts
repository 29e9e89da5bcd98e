import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { runService, type RunningService } from '../services/running-service.js';

/** Longest wait for a state, on a machine that does other things as well. */
export const WAIT_MS = 60_000;

/** The value once it is what is expected of it. */
export const eventually = <T>(read: () => T) => expect.poll(read, { timeout: WAIT_MS });

/** A service, and a browser that looks at it. */
export interface Desk {
  readonly service: RunningService;
  /** The page that the walk goes through. */
  readonly page: Page;
  /** The complaints of the browser: errors of scripts, and everything its policy blocked. */
  readonly complaints: readonly string[];
  /** Another page, which complains into the same list. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

/** Of a page: what moves by itself is painted at each frame, and nothing is learned from it. */
const VIEW = { viewport: { width: 1280, height: 820 }, locale: 'en-GB', reducedMotion: 'reduce' } as const;

/** The language of browsers whose system has none: no tag. */
const ODD_LANGUAGE = `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })`;

/** A page without a viewer of PDF, in every browser: tabs would get lost in that of a full Chromium. */
const NO_VIEWER = `Object.defineProperty(Navigator.prototype, 'pdfViewerEnabled', { get: () => false })`;

/** A service that comes back to the same address when it is started again, and the browser of all tests. */
export async function openDesk(browser: Browser): Promise<Desk> {
  const flags = ['--port', String(await freePort())];
  const service = await runService(flags);
  const complaints: string[] = [];
  async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.newPage({ ...VIEW, ...options });
    page.setDefaultTimeout(WAIT_MS);
    await page.addInitScript(NO_VIEWER);
    // No request leaves the machine.
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (protocol.startsWith('http') && hostname !== '127.0.0.1') complaints.push(`asked ${request.url()}`);
    });
    page.on('pageerror', (failure) => complaints.push(String(failure)));
    page.on('console', (message) => {
      // A refusal of the service is shown in the page, and by the browser too.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        complaints.push(message.text());
    });
    return page;
  }
  const page = await newPage();
  await page.addInitScript(ODD_LANGUAGE);
  return {
    service,
    page,
    complaints,
    newPage,
    async close() {
      await browser.close();
      await service.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // It listens on a port.
  server.close();
  await once(server, 'close');
  return port;
}

/** Goes to an address of the console as a link does, without loading the page again. */
export const follow = (page: Page, address: string): Promise<void> =>
  page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );

/** A name with bars from the first date of the market to the last. */
export async function wholeName(service: RunningService): Promise<string> {
  const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=200');
  const first = body.identifiers.map(({ start }) => start!).toSorted()[0];
  const last = body.identifiers
    .map(({ end }) => end!)
    .toSorted()
    .at(-1);
  return body.identifiers.find(({ start, end }) => start === first && end === last)!.identifier;
}

/** The file that something done to a page has the browser save. */
export async function downloaded(page: Page, act: () => Promise<unknown>): Promise<Buffer> {
  const [file] = await Promise.all([page.waitForEvent('download'), act()]);
  return readFile(await file.path());
}
