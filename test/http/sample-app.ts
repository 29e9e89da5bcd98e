import { pino } from 'pino';
import { z } from 'zod';
import { defineRoutes, type Scope, SCOPES } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import { Id } from '#domain/base/schema.js';
import { type App, type AppDependencies, createApp } from '#http/app.js';
import type { Handlers } from '#http/handler.js';
import type { CompletedRequest } from '#services/shared/metrics.js';
import { assertPrecondition } from '#services/shared/documents.js';

/** Small table of routes that covers every case of the request pipeline. */
export const sampleRoutes = defineRoutes('t', {
  listThings: {
    method: 'GET',
    path: '/things',
    scope: 'read',
    summary: 's',
    query: z.strictObject({
      limit: z.int().min(1).max(1000).optional(),
      ids: z.array(z.string()).default([]),
      deep: z.boolean().default(false),
      after: z.string().max(64).optional(),
    }),
    success: { status: 200, description: 'd' },
  },
  checkThing: {
    method: 'POST',
    path: '/things/check',
    scope: 'read',
    summary: 's',
    body: { schema: z.unknown(), document: true, report: true },
    success: { status: 200, description: 'd' },
  },
  getThing: {
    method: 'GET',
    path: '/things/{thing_id}',
    scope: 'read',
    summary: 's',
    errors: ['INDEX_NOT_FOUND'],
    params: z.strictObject({ thing_id: Id }),
    success: { status: 200, description: 'd' },
  },
  putThing: {
    method: 'PUT',
    path: '/things/{thing_id}',
    scope: 'write',
    summary: 's',
    errors: ['INDEX_NOT_FOUND', 'INDEX_EXISTS'],
    params: z.strictObject({ thing_id: Id }),
    query: z.strictObject({ note: z.string().optional() }),
    body: {
      schema: z.strictObject({ name: z.string().min(1), weight: z.number().optional(), extra: z.unknown().optional() }),
    },
    success: { status: 200, description: 'd' },
  },
  deleteThing: {
    method: 'DELETE',
    path: '/things/{thing_id}',
    scope: 'write',
    summary: 's',
    errors: ['INDEX_NOT_FOUND'],
    params: z.strictObject({ thing_id: Id }),
    success: { status: 204, description: 'd' },
  },
  runThing: {
    method: 'POST',
    path: '/things/{thing_id}/run',
    scope: 'run',
    summary: 's',
    params: z.strictObject({ thing_id: Id }),
    body: { schema: z.strictObject({ capital: z.number().default(1) }), optional: true },
    success: { status: 202, description: 'd' },
  },
  getBytes: {
    method: 'GET',
    path: '/bytes',
    scope: 'data',
    summary: 's',
    success: {
      status: 200,
      description: 'd',
      schema: z.strictObject({ a: z.number() }),
      media: ['application/vnd.apache.arrow.stream'],
    },
  },
  getStream: {
    method: 'GET',
    path: '/stream',
    scope: 'read',
    summary: 's',
    success: { status: 200, description: 'd' },
  },
  wait: {
    method: 'GET',
    path: '/wait',
    scope: 'read',
    summary: 's',
    success: { status: 200, description: 'd' },
  },
  crash: {
    method: 'GET',
    path: '/crash',
    scope: 'admin',
    summary: 's',
    success: { status: 200, description: 'd' },
  },
  live: {
    method: 'GET',
    path: '/live',
    scope: 'open',
    openQuery: true,
    summary: 's',
    success: { status: 200, description: 'd' },
  },
});

/** The only stored object. */
export const SAMPLE_ITEM = { id: 'one', etag: 'e1', body: { name: 'One' } };

/** Producers of long responses, and their outcomes. */
export interface LongAnswers {
  /** Number of streams that were cancelled because their reader disconnected. */
  cancelled: number;
  /** Completes the requests to /wait that have not been answered yet. */
  release: () => void;
  released: Promise<void>;
  /** Number of requests to /wait whose client disconnected. */
  aborted: number;
  waiting: () => void;
}

const CHUNK = new Uint8Array(65_536);

const sampleHandlers = (long: LongAnswers): Handlers<typeof sampleRoutes> => ({
  listThings: ({ query }) => ({ json: query }),
  checkThing: ({ body }) => ({ json: { seen: Object.keys(body()), big: body()['big'] === Infinity } }),
  getThing({ params }) {
    find(params.thing_id);
    return { json: SAMPLE_ITEM.body, etag: SAMPLE_ITEM.etag };
  },
  async putThing({ params, body, precondition }) {
    find(params.thing_id);
    const document = body();
    const ifMatch = precondition();
    await assertPrecondition(
      { get: async () => ({ id: 'one', body: SAMPLE_ITEM.body, etag: SAMPLE_ITEM.etag, updatedAt: '' }) },
      'index',
      'one',
      ifMatch,
    );
    if (document.name === 'taken') throw new Refusal('INDEX_EXISTS', 'An index is stored under taken.');
    if (document.name === 'away') throw new Refusal('NO_DATA_SOURCE', 'No data store is active.');
    return { json: document };
  },
  deleteThing({ params }) {
    find(params.thing_id);
    return {};
  },
  runThing: async ({ params, body }) => ({ json: { job_id: `backtest:${params.thing_id}`, capital: body().capital } }),
  getBytes: ({ media }) =>
    media === 'application/vnd.apache.arrow.stream'
      ? { bytes: new Uint8Array([1, 2, 3]), type: 'application/vnd.apache.arrow.stream' }
      : { bytes: new TextEncoder().encode('{"a":1}') },
  getStream: () => ({
    stream: new ReadableStream({
      pull: (controller) => controller.enqueue(CHUNK),
      cancel: () => void long.cancelled++,
    }),
  }),
  async wait({ signal }) {
    signal.addEventListener('abort', () => {
      long.aborted++;
      long.release();
    });
    long.waiting();
    await long.released;
    signal.throwIfAborted();
    return { json: 'waited' };
  },
  crash() {
    throw new TypeError('secret detail of a defect');
  },
  live: () => ({ json: { status: 'live' } }),
});

function find(id: string): void {
  if (id !== SAMPLE_ITEM.id) throw new Refusal('INDEX_NOT_FOUND', `No index is stored under ${id}.`);
}

export interface Sample {
  readonly app: App;
  readonly long: LongAnswers;
  /** Resolves after a request to /wait has arrived. */
  readonly waiting: Promise<void>;
  readonly log: readonly Record<string, unknown>[];
  readonly answered: readonly CompletedRequest[];
  /** Sends a request. Its key is the list of its scopes, such as `read+write`. Without scopes it has no key. */
  send(
    method: string,
    path: string,
    options?: {
      readonly scopes?: string;
      readonly json?: unknown;
      readonly text?: string;
      readonly headers?: Record<string, string>;
    },
  ): Promise<Response>;
}

/** Creates the sample routes. Their authentication accepts keys that are lists of scopes. */
export function createSample(
  options: Partial<
    Pick<AppDependencies<typeof sampleRoutes>, 'keyRates' | 'delay' | 'isSecure' | 'requestSeconds'>
  > = {},
): Sample {
  const log: Record<string, unknown>[] = [];
  const responses: CompletedRequest[] = [];
  let ignoreCall = () => {};
  const cameIn = new Promise<void>((resolve) => (ignoreCall = resolve));
  let release = () => {};
  const releasing = new Promise<void>((resolve) => (release = resolve));
  const long: LongAnswers = { cancelled: 0, aborted: 0, release, released: releasing, waiting: ignoreCall };
  const app = createApp({
    api: sampleRoutes,
    handlers: sampleHandlers(long),
    version: '1.2.3',
    log: pino({ level: 'trace' }, { write: (line: string) => void log.push(JSON.parse(line)) }),
    observe: (answer) => void responses.push(answer),
    ...options,
    authenticate({ request: { headers } }) {
      const key = headers.get('x-api-key');
      if (key === null) throw new Refusal('UNAUTHENTICATED', 'No key.');
      return {
        keyId: key,
        name: 'reader',
        scopes: new Set(
          key.split('+').filter((scope): scope is Scope => (SCOPES as readonly string[]).includes(scope)),
        ),
      };
    },
  });
  return {
    app,
    long,
    waiting: cameIn,
    log,
    answered: responses,
    async send(method, path, { scopes = 'read+write+run+data', json, text, headers = {} } = {}) {
      const body = json === undefined ? text : JSON.stringify(json);
      const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
      const key: Record<string, string> = scopes === '' ? {} : { 'x-api-key': scopes };
      return app.request(path, {
        method,
        headers: { ...type, ...key, ...headers },
        ...(body === undefined ? {} : { body }),
      });
    },
  };
}
