import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { start, stop, type Running } from '#cli/serve.js';
import { readSettings } from '#cli/settings.js';
import { keepThreads } from '#jobs/lane-threads.js';
import type { ErrorDetail } from '#domain/refusals/refusal.js';
import type { JobStatus } from '#jobs/status.js';

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly etag: string | null;
}

/** A whole service on a new home, called over HTTP. */
export interface RunningService {
  /** Folder that the service may read data from. */
  readonly root: string;
  /** Address of the service, which changes with a restart. */
  url(): string;
  ask<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>;
  /** Returns the response without parsing it. */
  download(path: string, init?: RequestInit): Promise<Response>;
  /** Returns the error of a response. @throws Error if it is not an error */
  refusal(method: string, path: string, body?: unknown): Promise<ErrorDetail & { readonly status: number }>;
  /** Resolves with the job in its terminal state. */
  finished(jobId: string, headers?: Record<string, string>): Promise<JobStatus>;
  /**
   * Stops the service and starts it again on the same home.
   * @param whileAway runs while the service is stopped
   * @param threads with `new`, the service starts threads, for tests of what they read from disk after a restart; by
   * default it uses the old ones, which have loaded the program
   */
  restart(whileAway?: () => Promise<void>, threads?: 'new' | 'handed on'): Promise<void>;
  /** Resolves when the service serves the store that it served before its restart. */
  resumed(): Promise<void>;
  close(): Promise<void>;
}

/** @param flags settings in addition to those of every test @param environment settings without a flag */
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
      // A front of several machines runs heavy jobs itself only if a number of workers for them is set.
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
  let running: Running = await start(settings, pino({ level: 'silent' }));

  async function ask<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(running.server.url + path, {
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
    url: () => running.server.url,
    ask,
    download: (path, init) => fetch(running.server.url + path, init),
    async refusal(method, path, body) {
      const answer = await ask<{ readonly error?: ErrorDetail }>(method, path, body);
      if (answer.body?.error === undefined)
        throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 500)}`);
      return { status: answer.status, ...answer.body.error };
    },
    async finished(jobId, headers) {
      for (;;) {
        const { body } = await ask<JobStatus>('GET', `/jobs/${jobId}?wait=30`, undefined, headers);
        if (body.status !== 'pending' && body.status !== 'running') return body;
      }
    },
    async restart(whileAway = async () => {}, threads = 'handed on') {
      await stop({ ...running, drainMs: 0 });
      await whileAway();
      if (threads === 'handed on') keepThreads();
      running = await start(settings, pino({ level: 'silent' }));
    },
    resumed: () => running.service.resumed,
    async close() {
      await stop({ ...running, drainMs: 0 });
      await rm(base, { recursive: true, force: true });
    },
  };
}
