import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { runService, type RunningService } from '../services/running-service.js';
import { openBrowser } from './browser.js';

/** A service, and a browser that looks at it. */
export interface Desk {
  readonly service: RunningService;
  readonly browser: Browser;
  /** The page that the walk goes through. */
  readonly page: Page;
  /** What the browser complained of: errors of scripts, and everything its policy stopped. */
  readonly complaints: readonly string[];
  /** Another page, which complains into the same list. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

/** @param flags of the service */
export async function openDesk(flags: readonly string[] = []): Promise<Desk> {
  const [service, browser] = await Promise.all([runService(flags), openBrowser()]);
  const complaints: string[] = [];
  async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 820 }, locale: 'en-GB', ...options });
    page.setDefaultTimeout(10_000);
    page.on('pageerror', (failure) => complaints.push(String(failure)));
    page.on('console', (message) => {
      // A refusal of the service is told in the page, and by the browser too.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        complaints.push(message.text());
    });
    return page;
  }
  return {
    service,
    browser,
    page: await newPage(),
    complaints,
    newPage,
    async close() {
      await browser.close();
      await service.close();
    },
  };
}
