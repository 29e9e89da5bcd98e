import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { jobRoutes } from '#contract/job-routes.js';
import { mcpRoutes } from '#contract/mcp.js';
import { createOpenApiDocument } from '#contract/openapi.js';
import { describeTools } from '#contract/tools.js';
import { type Scope, SCOPES } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import { type App, createApp } from '#http/app.js';
import type { Handlers } from '#http/handler.js';
import { createMcpHandlers } from '#http/mcp/server.js';
import { createConformity } from '../conformity.js';
import { openAgent, readError, readText, listTools, type Agent } from './agent.js';
import { waitFor } from '../../waiting.js';

const api = { ...jobRoutes, ...mcpRoutes };
const document = createOpenApiDocument(api, '1.2.3');

/** Requests for a job that runs until it is cancelled. */
let askedRequests: string[];
let isCancelled: boolean;
let revokedKeys: Set<string>;
let app: App;

const createStatus = () => ({
  job_id: 'backtest:LONG',
  status: isCancelled ? 'cancelled' : 'running',
  progress: Math.min(0.9, askedRequests.length / 10),
  message: 'working',
  result: null,
});

const jobs: Handlers<typeof jobRoutes> = {
  listJobs: () => ({ json: { jobs: [], skipped: 0 } }),
  async getJob({ params, query, isStillAllowed }) {
    askedRequests.push(`read ${params.job_id}`);
    if (!(await isStillAllowed())) throw new Refusal('UNAUTHENTICATED', 'The key has ended.');
    if (params.job_id !== 'backtest:LONG')
      throw new Refusal('JOB_NOT_FOUND', `No job is stored under ${params.job_id}.`);
    await new Promise((resolve) => setTimeout(resolve, Math.min(query.wait * 1000, 5)));
    return { json: createStatus() };
  },
  cancelJob({ authorship }) {
    askedRequests.push(`cancelled by ${authorship().author}`);
    isCancelled = true;
    return { json: createStatus() };
  },
  retryJobs: ({ body }) => ({ json: body() }),
  listJobKinds: () => ({ json: { kinds: [] } }),
  pauseJobKind: () => ({ text: '' }),
  resumeJobKind: () => ({ text: '' }),
  followJobs: () => ({ text: '' }),
  followJob: () => ({ stream: new ReadableStream(), type: 'text/event-stream' }),
};

beforeEach(() => {
  askedRequests = [];
  isCancelled = false;
  revokedKeys = new Set();
  app = createApp({
    api,
    handlers: {
      ...jobs,
      ...createMcpHandlers({
        api,
        version: '1.2.3',
        isReadOnly: false,
        describeTools: async () => describeTools(api, document),
        pages: () => [{ name: '', title: 'First' }],
        answerFor: (request, client) => app.answerFor(request, client),
      }),
    },
    version: '1.2.3',
    log: pino({ enabled: false }),
    // A test key is the list of its scopes.
    authenticate({ request: { headers } }) {
      const key = headers.get('authorization')?.replace('Bearer ', '');
      if (key === undefined || revokedKeys.has(key)) throw new Refusal('UNAUTHENTICATED', 'No key.');
      const scopes = key.split('+').filter((word): word is Scope => (SCOPES as readonly string[]).includes(word));
      return { keyId: key, name: key, scopes: new Set(scopes) };
    },
  });
});

const URL_HERE = 'http://localhost:1';
const openAgentWithKey = (key: string): Promise<Agent> =>
  openAgent(URL_HERE, {
    key,
    tools: 'all',
    fetch: async (url, init) => app.fetch(new Request(url, init), '127.0.0.1'),
  });

/** Sends an unmodified message. Its key has the scope to read. */
const post = (body: unknown, headers: Record<string, string> = {}) =>
  app.fetch(
    new Request(`${URL_HERE}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer read', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
    '127.0.0.1',
  );

test('a read-only key lists no writing tools, and its call of one is refused', async () => {
  const agent = await openAgentWithKey('read');
  expect((await listTools(agent)).map(({ name }) => name)).toEqual([
    'waitForJob',
    'listJobs',
    'listJobKinds',
    'getJob',
  ]);
  expect(readError(await agent.call('cancelJob', { job_id: 'backtest:LONG' }))).toMatchObject({
    error: { code: 'FORBIDDEN_SCOPE', detail: { needed: 'run' } },
    hint: expect.stringContaining('scope'),
  });
  expect(askedRequests).toEqual([]);
  const runner = await openAgentWithKey('read+run');
  expect((await listTools(runner)).map(({ name }) => name)).toContain('cancelJob');
});

test('without a key nothing is answered', async () => {
  const withoutScopes = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { authorization: 'Bearer run' });
  expect(withoutScopes.status).toBe(403);
  const response = await app.fetch(
    new Request(`${URL_HERE}/mcp`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }),
  );
  expect([response.status, await response.json()]).toMatchObject([401, { error: { code: 'UNAUTHENTICATED' } }]);
});

test('a message outside the protocol is refused like any request, and a notification is acknowledged', async () => {
  const findViolations = createConformity(document);
  const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
  for (const [body, headers, status] of [
    [{ ...message, method: { none: null } }, {}, 400],
    [{ ...message, extra: 1 }, {}, 400],
    [message, { 'mcp-protocol-version': '1999-01-01' }, 400],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }, {}, 202],
    [message, {}, 200],
  ] as const) {
    const answer = await post(body, headers);
    expect([body, answer.status]).toEqual([body, status]);
    const text = await answer.text();
    const summary = { status, type: answer.headers.get('content-type'), body: text === '' ? null : JSON.parse(text) };
    expect(findViolations('callMcp', summary)).toEqual([]);
    if (status === 400) expect(JSON.parse(text)).toMatchObject({ error: { code: 'MALFORMED_REQUEST' } });
  }
});

test('the OpenAPI document declares the events of a request with a progress token', async () => {
  isCancelled = true; // lets the pending wait return
  const params = { name: 'waitForJob', arguments: { job_id: 'backtest:LONG' }, _meta: { progressToken: 1 } };
  const answer = await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const type = answer.headers.get('content-type');
  const text = await answer.text();
  expect([answer.status, type, text]).toEqual([200, 'text/event-stream', expect.stringContaining('cancelled')]);
  expect(createConformity(document)('callMcp', { status: 200, type, body: text })).toEqual([]);
});

test('waiting reports progress that grows, and cancelling the call cancels the job', async () => {
  const agent = await openAgentWithKey('read+run');
  const cancel = new AbortController();
  const progress: number[] = [];
  const waiting = agent.client.callTool(
    { name: 'waitForJob', arguments: { job_id: 'backtest:LONG', seconds: 50 } },
    undefined,
    { signal: cancel.signal, onprogress: (report) => void progress.push(report.progress) },
  );
  await waitFor(() => expect(progress.length).toBeGreaterThan(2));
  expect(progress).toEqual(progress.toSorted((a, b) => a - b));
  expect(askedRequests.some((line) => line.startsWith('cancelled'))).toBe(false);
  cancel.abort();
  await expect(waiting).rejects.toThrow();
  await waitFor(() => expect(askedRequests).toContain('cancelled by read+run'));
});

test('a wait ends when the key of its client is revoked', async () => {
  const agent = await openAgentWithKey('read');
  let reports = 0;
  const waiting = agent.client.callTool(
    { name: 'waitForJob', arguments: { job_id: 'backtest:LONG', seconds: 50 } },
    undefined,
    { onprogress: () => void reports++ },
  );
  await waitFor(() => expect(reports).toBeGreaterThan(0));
  revokedKeys.add('read');
  expect(readError((await waiting) as never)).toMatchObject({ error: { code: 'UNAUTHENTICATED' } });
});

test('a message of another session or key cancels nothing', async () => {
  const agent = await openAgentWithKey('read+run');
  const reports: number[] = [];
  const stop = new AbortController();
  const waiting = agent.client
    .callTool({ name: 'waitForJob', arguments: { job_id: 'backtest:LONG', seconds: 50 } }, undefined, {
      signal: stop.signal,
      onprogress: (report) => void reports.push(report.progress),
    })
    .catch(() => undefined);
  await waitFor(() => expect(reports.length).toBeGreaterThan(0));
  for (const requestId of [0, 1, 2, 3])
    for (const session of ['other', ''])
      expect(
        (
          await post(
            { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
            { 'mcp-session-id': session },
          )
        ).status,
      ).toBe(202);
  const reportCount = reports.length;
  await waitFor(() => expect(reports.length).toBeGreaterThan(reportCount));
  expect(isCancelled).toBe(false);
  stop.abort();
  await waiting;
  await waitFor(() => expect(isCancelled).toBe(true));
});

test('a missing job, or a wait that is too long, is an error with both numbers', async () => {
  const agent = await openAgentWithKey('read');
  expect(readError(await agent.call('waitForJob', { job_id: 'backtest:NONE' })).error.code).toBe('JOB_NOT_FOUND');
  const { error } = readError(await agent.call('waitForJob', { job_id: 'backtest:LONG', seconds: 500 }));
  expect(JSON.stringify(error)).toMatch(/500.*50|50.*500/s);
  expect(readText(await agent.call('waitForJob', { job_id: 'backtest:LONG', seconds: 0 }))).toContain('"running"');
});

test('a key has twenty requests at once', async () => {
  const call = (id: number) =>
    post({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'waitForJob', arguments: { job_id: 'backtest:LONG', seconds: 50 } },
    });
  const waitingCalls = Array.from({ length: 20 }, (_, id) => call(id));
  await waitFor(() => expect(askedRequests.length).toBeGreaterThanOrEqual(20));
  const refusal = await call(20);
  expect([refusal.status, await refusal.json()]).toMatchObject([
    429,
    { error: { code: 'RATE_LIMITED', detail: { limit: 20 } } },
  ]);
  isCancelled = true; // ends the jobs, so that pending calls return
  for (const answer of await Promise.all(waitingCalls)) expect(answer.status).toBe(200);
  expect((await call(21)).status).toBe(200);
});

const HOSTILE: readonly (readonly [string, unknown])[] = [
  ['a list of messages', [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }]],
  ['no JSON', '{'],
  ['another protocol', { jsonrpc: '1.0', id: 1, method: 'tools/list' }],
  ['a deep message', `{"jsonrpc":"2.0","id":1,"method":"x","params":${'['.repeat(5000)}${']'.repeat(5000)}}`],
  ['a repeated member', '{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"tools/list"}'],
  ['a long message', { jsonrpc: '2.0', id: 1, method: 'x'.repeat(2_000_000) }],
];

test.each(HOSTILE)('%s is refused by the checks of every route', async (_, body) => {
  const response = await post(body);
  const { error } = (await response.json()) as { error: { code: string } };
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(response.status).toBeLessThan(500);
  expect(['MALFORMED_REQUEST', 'VALIDATION_FAILED', 'BODY_TOO_LARGE']).toContain(error.code);
});

const CALLS: readonly (readonly [string, string, unknown])[] = [
  ['an unknown method', 'no/method', {}],
  ['an unknown tool', 'tools/call', { name: 'waitForJobs', arguments: {} }],
  ['a tool of a prototype', 'tools/call', { name: '__proto__', arguments: {} }],
  ['a tool without a name', 'tools/call', { arguments: {} }],
  ['a foreign resource', 'resources/read', { uri: 'file:///etc/passwd' }],
  ['a foreign host', 'resources/read', { uri: 'divisor://service@evil.example/jobs' }],
  ['an absent path', 'resources/read', { uri: 'divisor://service/../../etc/passwd' }],
  ['a host in a path', 'resources/read', { uri: 'divisor://service//evil.example/' }],
  ['a stream of events', 'resources/read', { uri: 'divisor://service/jobs/backtest:LONG/events' }],
  ['a cursor of nobody', 'tools/list', { cursor: '-1' }],
  ['a cursor past the end', 'resources/list', { cursor: '99999' }],
  ['an unknown prompt', 'prompts/get', { name: 'nothing' }],
  ['a prompt without its arguments', 'prompts/get', { name: 'design-index' }],
];

test.each(CALLS)('%s is an error of the protocol', async (_, method, params) => {
  const response = await post({ jsonrpc: '2.0', id: 'a', method, params });
  const { error, result } = (await response.json()) as { error?: { code: number; message: string }; result?: unknown };
  expect(result).toBeUndefined();
  expect([error?.code, error?.message.length]).toEqual([expect.any(Number), expect.any(Number)]);
});

test('arguments reach only their own path segment, query or body', async () => {
  const agent = await openAgentWithKey('read+run');
  const readCode = async (jobArguments: Record<string, unknown>) =>
    readError(await agent.call('getJob', jobArguments)).error;
  for (const job_id of ['..', '.', '', '../health', 'backtest:LONG/events', 'backtest:LONG?wait=60', 'a\r\nx: y'])
    expect((await readCode({ job_id })).code, job_id).toMatch(/VALIDATION_FAILED|INVALID_IDENTIFIER/);
  expect((await readCode({ job_id: { toString: 1 } })).code).toBe('VALIDATION_FAILED');
  expect(await readCode({ job_id: 'backtest:LONG', waits: 5 })).toMatchObject({
    code: 'VALIDATION_FAILED',
    detail: {
      findings: [{ code: 'UNKNOWN_FIELD', path: 'waits', message: expect.stringContaining('Did you mean wait?') }],
    },
  });
  expect(askedRequests).toEqual([]);
  expect(readError(await agent.call('cancelJob', {})).error.detail).toMatchObject({
    findings: [{ code: 'REQUIRED', path: 'job_id' }],
  });
});

test('other methods of the path are not allowed', async () => {
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const response = await app.fetch(
      new Request(`${URL_HERE}/mcp`, { method, headers: { authorization: 'Bearer read' } }),
    );
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  }
});
