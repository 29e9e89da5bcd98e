import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { API } from '#contract/api.js';
import { openApiDocument } from '#contract/openapi.js';
import { createApp, type App } from '#http/app.js';
import { createAuthenticate } from '#http/authentication.js';
import type { Handlers } from '#http/handler.js';
import { changelogHandlers } from '#http/routes/changelog.js';
import { documentationHandlers } from '#http/routes/documentation.js';
import { healthHandlers } from '#http/routes/health.js';
import { createChangelog } from '#services/changelog.js';
import { createHealth, type Check } from '#services/health.js';
import type { Settings } from './settings.js';
import { engineVersion, PACKAGE_ROOT } from './version.js';

/** The service without its socket: what answers requests, and how it stops. */
export interface Service {
  readonly app: App;
  /** Whether requests need a key. */
  hasKeys(): boolean;
  /** Stops taking new work: readiness and new jobs are refused from now on, requests are still answered. */
  drain(): void;
  /** Gives running jobs back to the queue and closes the rooms, outermost first. */
  close(): Promise<void>;
}

export interface Composition {
  readonly settings: Settings;
  readonly log: Logger;
}

/**
 * Builds the rooms inside-out: store, artifacts, calendars, markets, pool and jobs, services, and the application around them.
 * @throws StartRefusal when the home cannot be served
 */
export async function compose({ log }: Composition): Promise<Service> {
  const version = engineVersion();
  const startedAt = new Date();
  let draining = false;

  // Rooms: each registers what health should look at.
  const checks: Check[] = [];

  // Services, one per route family.
  const changelog = createChangelog({ text: readFileSync(new URL('CHANGELOG.md', PACKAGE_ROOT), 'utf8'), version });
  const health = createHealth({
    version,
    startedAt,
    monotonic: () => performance.now(),
    draining: () => draining,
    store: () => ({ active: null, status: null, end: null }),
    jobs: () => ({ pending: 0, running: 0 }),
    checks,
  });

  // Handlers, one spread per route family: a route of the API without one does not compile.
  const handlers: Handlers<typeof API> = {
    ...healthHandlers(health),
    ...changelogHandlers(changelog),
    ...documentationHandlers(() => openApiDocument(API, version)),
  };

  const authenticate = createAuthenticate({ areConfigured: () => false, verify: () => undefined });
  const app = createApp({ api: API, handlers, authenticate, version, log });

  return {
    app,
    hasKeys: () => false,
    drain() {
      draining = true;
      app.drain();
    },
    async close() {},
  };
}
