import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { ErrorEnvelope } from '#contract/payloads.js';
import { type Route, type Scope, SCOPES } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import { createApp } from '#http/app.js';
import type { Handlers } from '#http/handler.js';

/** Routes of the service. Their handlers do nothing, so only the request pipeline responds. */
const routes: [string, Route][] = Object.entries(API);
const idleHandlers = Object.fromEntries(routes.map(([id]) => [id, () => ({})])) as unknown as Handlers<typeof API>;
const app = createApp({
  api: API,
  handlers: idleHandlers,
  version: '0.0.0',
  log: pino({ level: 'silent' }),
  authenticate({ request: { headers } }) {
    const scope = headers.get('x-api-key');
    if (scope === null) throw new Refusal('UNAUTHENTICATED', 'No key.');
    return { keyId: scope, name: 'reader', scopes: new Set([scope as Scope]) };
  },
});

/** Returns a path that the parameters of the route accept. The ids of jobs have a different format. */
const createPath = (route: Route, id = route.path.includes('{job_id}') ? 'backtest:a' : 'a') =>
  route.path
    .replace('{table}', 'levels')
    .replace('{date}', '2024-06-28')
    .replace('{version}', '1')
    .replace('{kind}', 'index')
    .replace('{job_kind}', 'backtest')
    .replace('{approval_id}', id === 'a' ? '1' : id)
    .replace('{action_id}', id === 'a' ? '0123456789abcdef0123' : id)
    .replaceAll(/\{\w+\}/g, id);

async function ask(method: string, path: string, scope: string | undefined, text?: string, accept?: string) {
  const headers: Record<string, string> = {
    ...(accept === undefined ? {} : { accept }),
    ...(scope === undefined ? {} : { 'x-api-key': scope }),
    ...(text === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const response = await app.fetch(
    new Request(`http://localhost${path}`, { method, headers, ...(text === undefined ? {} : { body: text }) }),
  );
  const body = response.status >= 400 ? ErrorEnvelope.parse(await response.json()).error : undefined;
  return { status: response.status, code: body?.code, detail: body?.detail, headers: response.headers };
}

const createBody = (route: Route) => (route.body === undefined ? undefined : '{}');
const guardedRoutes = routes.filter(([, route]) => route.scope !== 'open');

test.each(guardedRoutes)('%s requires a key before it answers', async (_id, route) => {
  expect(await ask(route.method, createPath(route, 'x'.repeat(65)), undefined, createBody(route))).toMatchObject({
    status: 401,
    code: 'UNAUTHENTICATED',
  });
});

describe('no scope implies another, except that admin implies all', () => {
  test.each(guardedRoutes)('%s', async (_id, route) => {
    const forbiddenAnswers = [];
    for (const scope of SCOPES) {
      const { status } = await ask(route.method, createPath(route), scope, createBody(route));
      if (status === 403) forbiddenAnswers.push(scope);
    }
    expect(forbiddenAnswers).toEqual(SCOPES.filter((scope) => scope !== route.scope && scope !== 'admin'));
  });
});

test.each(routes)('%s shares its path with no method that it lacks', async (_id, route) => {
  const methods = routes.filter(([, other]) => other.path === route.path).map(([, { method }]) => method);
  const allowedMethods = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].toSorted();
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    if (allowedMethods.includes(method)) continue;
    const answer = await ask(method, createPath(route), 'admin');
    expect([method, answer.status, answer.detail]).toEqual([method, 405, { allowed: allowedMethods }]);
    expect(answer.headers.get('allow')).toBe(allowedMethods.join(', '));
  }
});

test.each(routes.filter(([, route]) => /\{\w+_id\}/.test(route.path)))(
  '%s refuses an id of 65 characters',
  async (_id, route) => {
    expect(await ask(route.method, createPath(route, 'x'.repeat(65)), 'admin', createBody(route))).toMatchObject({
      status: 422,
      code: 'INVALID_IDENTIFIER',
    });
  },
);

test.each(routes.filter(([, route]) => route.openQuery !== true))(
  '%s refuses an unknown query parameter',
  async (_id, route) => {
    const { status, detail } = await ask(
      route.method,
      `${createPath(route)}?no_such_parameter=1`,
      'admin',
      createBody(route),
    );
    const codes = ((detail?.['findings'] ?? []) as { path: string; code: string }[]).map(
      ({ path, code }) => `${path} ${code}`,
    );
    expect([status, codes]).toEqual([422, expect.arrayContaining(['no_such_parameter UNKNOWN_FIELD'])]);
  },
);

describe('an unsupported Accept is 406 with the supported types, unless the response has no form in JSON', () => {
  const testedRoutes = routes.filter(
    ([, { success, query }]) => success.status !== 204 && (query?.safeParse({}).success ?? true),
  );
  test.each(testedRoutes)('%s', async (_id, route) => {
    const { schema, media = [] } = route.success;
    const offeredMedia = [...(schema === undefined ? [] : ['application/json']), ...media];
    const answerTo = (accept?: string) => ask(route.method, createPath(route), 'admin', createBody(route), accept);
    for (const accept of ['image/x-none', `*/*;q=0`, `${offeredMedia[0]};q=0, image/x-none`])
      expect(await answerTo(accept)).toMatchObject(
        schema === undefined
          ? { status: route.success.status }
          : { status: 406, code: 'NOT_ACCEPTABLE', detail: { accepted: offeredMedia } },
      );
    for (const accept of [undefined, '*/*', `image/x-none, */*;q=0.1`, `${offeredMedia.at(-1)};q=0.2`])
      expect([accept, (await answerTo(accept)).status]).toEqual([accept, route.success.status]);
  });

  test('a format in the query replaces Accept', async () => {
    expect((await ask('GET', '/events?format=ics', 'read', undefined, 'image/x-none')).status).toBe(200);
  });
});

/**
 * Routes that read their body before other checks. A raw body is parsed off the event loop and is read last, so errors
 * of the query are reported before errors of its syntax.
 */
const parsedRoutes = routes.filter(([, route]) => route.body !== undefined && route.body.raw !== true);

test.each(parsedRoutes)('%s refuses a body that is not JSON before other checks', async (_id, route) => {
  expect(
    await ask(route.method, `${createPath(route, 'x'.repeat(65))}?no_such_parameter=1`, 'admin', '{"a":'),
  ).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
});

test.each(routes)('%s has a scope that fits its method, a tag and a sentence', (id, route) => {
  expect(route.tag).not.toBe('');
  expect(route.summary).toMatch(/\S.*\.$/);
  // The audit log lists the writes of all clients, so it needs another scope. Every other read needs only the scope
  // `read`.
  if (route.method === 'GET') expect(id === 'getAudit' ? ['audit'] : ['read', 'open']).toContain(route.scope);
  if (route.success.status === 204) expect(route.success.schema).toBeUndefined();
});

describe('a job id states its kind and its subject', () => {
  test.each([
    'backtest:a',
    'backtest%3Aa',
    'optimise:A_1-b',
    `render:${'x'.repeat(64)}`,
    'sync:s',
    'load:s',
    'refresh:s',
    'generate:s',
    'risk:m',
    'sweep:s',
  ])('%s', async (id) => {
    expect((await ask('GET', `/jobs/${id}`, 'read')).status).toBe(200);
  });

  test.each([
    'backtest',
    'backtest:',
    ':a',
    'bake:a',
    'Backtest:a',
    'backtest:a:b',
    'backtest%253Aa',
    `backtest:${'x'.repeat(65)}`,
    'backtest:a.b',
  ])('%s is no valid job id', async (id) => {
    expect(await ask('GET', `/jobs/${id}`, 'read')).toMatchObject({ status: 422, code: 'INVALID_IDENTIFIER' });
  });
});
