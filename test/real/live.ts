import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API } from '#contract/api.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import type { Route } from '#contract/route.js';
import { createLog, start, stop } from '#cli/commands/serve.js';
import { readSettings } from '#cli/settings/settings.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { createConformity } from '../http/conformity.js';

export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/**
 * A whole service in this process on a new home. The service publishes an OpenAPI document, and every response is
 * checked against it.
 */
export interface LiveService {
  readonly url: string;
  readonly folder: string;
  readonly document: OpenApiDocument;
  ask<T = unknown>(method: string, path: string, body?: unknown): Promise<Answer<T>>;
  /** Returns the JSON value of a response that must be successful. */
  ok<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  /** Submits a job and waits until it ends. */
  job<T = unknown>(path: string, body?: unknown): Promise<JobStatus & { readonly result: T }>;
  close(): Promise<void>;
}

export async function openLiveService(words: readonly string[] = []): Promise<LiveService> {
  const folder = await mkdtemp(join(tmpdir(), 'divisor-live-'));
  const { settings } = readSettings(
    [
      '--home',
      join(folder, 'home'),
      '--port',
      '0',
      '--data-wait-ms',
      '60000',
      '--drain-ms',
      '0',
      '--workers',
      '1',
      '--warm-up',
      'off',
      '--data-roots',
      folder,
      ...words,
    ],
    {},
  );
  const server = await start(settings, createLog('error'));
  const { url } = server.server;
  // The document is fetched. It would take half a second to generate it again.
  const document = (await (await fetch(new URL('/openapi.json', url))).json()) as OpenApiDocument;
  const findViolations = createConformity(document);

  async function ask<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    // A test computes for longer than the service, in the same process, keeps an idle connection.
    const headers = { connection: 'close', ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const response = await fetch(new URL(path, url), {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const type = response.headers.get('content-type');
    const parsedBody = (type?.includes('json') === true && text !== '' ? JSON.parse(text) : text) as T;
    const operation = findOperation(method, path);
    if (operation !== undefined) {
      const violations = findViolations(operation, {
        status: response.status,
        type: text === '' ? null : type,
        body: parsedBody,
      });
      if (violations.length > 0)
        throw new Error(`${method} ${path} breaks its own document:\n${violations.slice(0, 5).join('\n')}`);
    }
    return { status: response.status, headers: response.headers, body: parsedBody };
  }

  async function requireBody<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await ask<T>(method, path, body);
    if (answer.status >= 300)
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 2000)}`);
    return answer.body;
  }

  return {
    url,
    folder,
    document,
    ask,
    ok: requireBody,
    async job<T>(path: string, body?: unknown) {
      let job = await requireBody<JobStatus>('POST', path, body ?? {});
      while (job.status === 'pending' || job.status === 'running')
        job = await requireBody<JobStatus>('GET', `/jobs/${job.job_id}?wait=30`);
      return job as JobStatus & { readonly result: T };
    },
    async close() {
      await stop({ ...server, drainMs: 0 });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const OPERATIONS = Object.entries(API as Record<string, Route>).map(([id, route]) => ({
  id,
  method: route.method,
  words: route.path.split('/').filter((word) => !word.startsWith('{')).length,
  pattern: new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Returns the operation of a request. A literal segment of a path takes precedence over a parameter. */
function findOperation(method: string, path: string): string | undefined {
  const [bare = ''] = path.split('?');
  return OPERATIONS.filter((operation) => operation.method === method && operation.pattern.test(bare)).toSorted(
    (a, b) => b.words - a.words,
  )[0]?.id;
}
