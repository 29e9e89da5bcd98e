import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { type Running, start, stop } from '#cli/commands/serve.js';
import { readSettings } from '#cli/settings/settings.js';
import { keepThreads } from '#jobs/pool.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';

/** Pause in ms before another request to a store that does not respond. */
const RETRY_MS = 1000;

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly etag: string | null;
}

/** A whole service on a new home. Tests call it over HTTP. */
export interface RunningService {
  /** Folder from which the service may read data. */
  readonly root: string;
  /** Address of the service. It changes with a restart. */
  url(): string;
  ask<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>;
  /** Returns a response without parsing it. */
  download(path: string, init?: RequestInit): Promise<Response>;
  /** Returns the error of a response. @throws Error if the response is not an error */
  refusal(method: string, path: string, body?: unknown): Promise<ErrorDetail & { readonly status: number }>;
  /**
   * Waits until a job has ended, and returns its final state. Asks again while the store does not respond, as the
   * clients do.
   */
  waitForJob(jobId: string, headers?: Record<string, string>): Promise<JobStatus>;
  /**
   * Stops the service and starts it again on the same home.
   * @param whileAway runs while the service is stopped
   * @param threads `new` starts new threads, for tests of data that threads read from disk after a restart. By default
   * the service uses the old threads again, which have already loaded the program.
   */
  restart(whileAway?: () => Promise<void>, threads?: 'new' | 'handed on'): Promise<void>;
  /** Resolves after the service serves the store that it served before its restart. */
  resumed(): Promise<void>;
  close(): Promise<void>;
}

/** @param flags settings in addition to the default settings of the tests @param environment settings without a flag */
export async function runService(
  flags: readonly string[] = [],
  environment: NodeJS.ProcessEnv = {},
): Promise<RunningService> {
  const base = await mkdtemp(join(tmpdir(), 'divisor-service-'));
  const { settings } = readSettings(
    [
      '--home',
      join(base, 'home'),
      '--port',
      '0',
      // In a cluster, the process that answers requests runs heavy jobs itself only if its number of workers is set.
      ...(environment['DIVISOR_ARTIFACTS'] === undefined ? ['--workers', '1'] : []),
      '--data-wait-ms',
      '60000',
      '--drain-ms',
      '0',
      '--warm-up',
      'off',
      '--data-roots',
      base,
      ...flags,
    ],
    environment,
  );
  let server: Running = await start(settings, pino({ level: 'silent' }));

  async function ask<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(server.server.url + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: (text === '' ? null : JSON.parse(text)) as T,
      etag: response.headers.get('etag'),
    };
  }

  return {
    root: base,
    url: () => server.server.url,
    ask,
    download: (path, init) => fetch(server.server.url + path, init),
    async refusal(method, path, body) {
      const answer = await ask<{ readonly error?: ErrorDetail }>(method, path, body);
      if (answer.body?.error === undefined)
        throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 500)}`);
      return { status: answer.status, ...answer.body.error };
    },
    async waitForJob(jobId, headers) {
      for (;;) {
        const { status, body } = await ask<JobStatus>('GET', `/jobs/${jobId}?wait=30`, undefined, headers);
        if (status === 503) {
          await setTimeout(RETRY_MS);
          continue;
        }
        if (status !== 200) throw new Error(`GET /jobs/${jobId} answered ${status}: ${JSON.stringify(body)}`);
        if (body.status !== 'pending' && body.status !== 'running') return body;
      }
    },
    async restart(whileAway = async () => {}, threads = 'handed on') {
      await stop({ ...server, drainMs: 0 });
      await whileAway();
      if (threads === 'handed on') keepThreads();
      server = await start(settings, pino({ level: 'silent' }));
    },
    resumed: () => server.service.resumed,
    async close() {
      await stop({ ...server, drainMs: 0 });
      await rm(base, { recursive: true, force: true });
    },
  };
}
