import { describe, expect, test } from 'vitest';
import { SCOPES } from '#contract/route.js';
import { createSample, sampleRoutes } from './sample-app.js';
import { createRefusal, listFindings } from './refusals.js';

const { send, log, answered, long } = createSample();
long.release();

describe('checks come in the order of the contract', () => {
  const badId = 'x'.repeat(65);
  test.each([
    ['no key, on a path that is not there', 'GET', '/nowhere', { scopes: '' }, 401, 'UNAUTHENTICATED'],
    ['no key, with a wrong method', 'PATCH', '/things', { scopes: '' }, 401, 'UNAUTHENTICATED'],
    ['no key, with a bad id', 'GET', `/things/${badId}`, { scopes: '' }, 401, 'UNAUTHENTICATED'],
    ['a path that is not there', 'PATCH', '/nowhere', {}, 404, 'ROUTE_NOT_FOUND'],
    [
      'a wrong method, with a bad body, id and query',
      'POST',
      `/things/${badId}?x=1`,
      { text: '{' },
      405,
      'METHOD_NOT_ALLOWED',
    ],
    [
      'a missing scope, with a bad body',
      'PUT',
      `/things/${badId}`,
      { scopes: 'read', text: '{' },
      403,
      'FORBIDDEN_SCOPE',
    ],
    [
      'a missing scope, of a thing that is not there',
      'DELETE',
      '/things/none',
      { scopes: 'read' },
      403,
      'FORBIDDEN_SCOPE',
    ],
    ['a broken body, with a bad id and query', 'PUT', `/things/${badId}?x=1`, { text: '{' }, 400, 'MALFORMED_REQUEST'],
    ['a bad id of an unknown thing and a bad body', 'PUT', `/things/${badId}`, { json: {} }, 422, 'INVALID_IDENTIFIER'],
    [
      'an unknown query, of an unknown thing with a bad body',
      'PUT',
      '/things/none?x=1',
      { json: {} },
      422,
      'VALIDATION_FAILED',
    ],
    ['an unknown thing, with a bad body', 'PUT', '/things/none', { json: {} }, 404, 'INDEX_NOT_FOUND'],
    [
      'a bad body, of a thing that would conflict',
      'PUT',
      '/things/one',
      { json: { name: 'taken', x: 1 } },
      422,
      'VALIDATION_FAILED',
    ],
    ['a conflict', 'PUT', '/things/one', { json: { name: 'taken' } }, 409, 'INDEX_EXISTS'],
    ['no data', 'PUT', '/things/one', { json: { name: 'away' } }, 503, 'NO_DATA_SOURCE'],
  ] as const)('%s', async (_name, method, path, options, status, code) => {
    const answer = await createRefusal(send(method, path, options));
    expect([answer.status, answer.code]).toEqual([status, code]);
  });
});

describe('methods', () => {
  test('a wrong method is refused with the methods of the path, in Allow and in the detail', async () => {
    const { headers, detail } = await createRefusal(send('PATCH', '/things/one'));
    expect(headers.get('allow')).toBe('DELETE, GET, HEAD, PUT');
    expect(detail).toEqual({ allowed: ['DELETE', 'GET', 'HEAD', 'PUT'] });
  });

  test('a fixed path segment is not an id: its path has its own methods', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const { status, detail } = await createRefusal(
        send(method, '/things/check', method === 'PUT' ? { json: { name: 'x' } } : {}),
      );
      expect([method, status, detail]).toEqual([method, 405, { allowed: ['POST'] }]);
    }
  });

  test('HEAD is GET without its body, OPTIONS and unknown methods are not allowed', async () => {
    const head = await send('HEAD', '/things/one');
    expect([head.status, head.headers.get('etag'), head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      '"e1"',
      '14',
      '',
    ]);
    expect((await send('HEAD', '/things/none')).status).toBe(404);
    expect((await createRefusal(send('OPTIONS', '/things'))).status).toBe(405);
    expect((await createRefusal(send('PROPFIND', '/things'))).status).toBe(405);
  });

  test('an open path lists its methods without a key', async () => {
    expect((await createRefusal(send('DELETE', '/live', { scopes: '' }))).status).toBe(405);
  });
});

describe('scopes', () => {
  const calls = Object.entries(sampleRoutes)
    .filter(([, route]) => route.scope !== 'open')
    .flatMap(([id, route]) => SCOPES.map((scope) => ({ id, route, scope })));
  test.each(calls)('$id answers a key with $scope by its own scope', async ({ route, scope }) => {
    const body = 'body' in route ? { json: { name: 'x', capital: 1 } } : {};
    const { status } = await send(route.method, route.path.replace('{thing_id}', 'one'), { scopes: scope, ...body });
    expect(status === 403).toBe(scope !== route.scope && scope !== 'admin');
  });
});

describe('answers', () => {
  test('have the request id sent, or a new one, and the engine version', async () => {
    const reply = await send('GET', '/things', { headers: { 'x-request-id': 'abc-1' } });
    expect([reply.headers.get('x-request-id'), reply.headers.get('x-engine-version')]).toEqual(['abc-1', '1.2.3']);
    for (const id of ['a'.repeat(129), 'two words', '']) {
      const other = await send('GET', '/nowhere', { headers: { 'x-request-id': id } });
      expect(other.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(other.headers.get('x-engine-version')).toBe('1.2.3');
    }
  });

  test('a defect shows the client only its request id; the log has all details', async () => {
    const { status, code, message, detail } = await createRefusal(
      send('GET', '/crash', { scopes: 'admin', headers: { 'x-request-id': 'r-7' } }),
    );
    expect([status, code, detail]).toEqual([500, 'INTERNAL', { request_id: 'r-7' }]);
    expect(message).not.toContain('secret');
    const loggedDefect = log.find(({ request_id, msg }) => request_id === 'r-7' && msg === 'defect') as {
      err: { stack: string };
    };
    expect(loggedDefect.err.stack).toContain('secret detail of a defect');
  });

  test('are logged once each, with a level by severity, and reported to the observer', async () => {
    await send('GET', '/things', { headers: { 'x-request-id': 'l-1' } });
    await send('GET', '/things/none', { headers: { 'x-request-id': 'l-2' } });
    await send('GET', '/crash', { scopes: 'admin', headers: { 'x-request-id': 'l-3' } });
    await send('GET', '/live', { headers: { 'x-request-id': 'l-4' } });
    const lines = log.filter(({ msg, request_id }) => msg === 'request' && String(request_id).startsWith('l-'));
    expect(lines.map(({ level, status, operation }) => [level, status, operation])).toEqual([
      [30, 200, 'listThings'],
      [40, 404, 'getThing'],
      [50, 500, 'crash'],
      [20, 200, 'live'],
    ]);
    expect(answered.slice(-4).map(({ operation, status }) => [operation, status])).toEqual([
      ['listThings', 200],
      ['getThing', 404],
      ['crash', 500],
      ['live', 200],
    ]);
  });

  test('503 states when to retry, 401 how to authenticate', async () => {
    expect(
      (await createRefusal(send('PUT', '/things/one', { json: { name: 'away' } }))).headers.get('retry-after'),
    ).toBe('5');
    expect((await createRefusal(send('GET', '/things', { scopes: '' }))).headers.get('www-authenticate')).toBe(
      'Bearer',
    );
  });

  test('204 has neither body nor type', async () => {
    const answer = await send('DELETE', '/things/one');
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([204, null, '']);
  });

  test('choose another media type by Accept, and list Accept in Vary', async () => {
    const json = await send('GET', '/bytes');
    const arrow = await send('GET', '/bytes', {
      headers: { accept: 'application/vnd.apache.arrow.stream;q=1, application/json;q=0.5' },
    });
    expect([json.headers.get('content-type'), await json.json()]).toEqual([
      'application/json; charset=utf-8',
      { a: 1 },
    ]);
    expect([arrow.headers.get('content-type'), (await arrow.arrayBuffer()).byteLength]).toEqual([
      'application/vnd.apache.arrow.stream',
      3,
    ]);
    expect([json.headers.get('vary'), arrow.headers.get('vary')]).toEqual(['Accept', 'Accept']);
  });

  test('must not be sniffed, framed or cached', async () => {
    const { headers } = await send('GET', '/things');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

describe('queries', () => {
  const query = async (search: string) => (await (await send('GET', `/things?${search}`)).json()) as unknown;

  test('arrays are given by repetition and commas, without duplicates, in first order', async () => {
    expect(await query('ids=b,a&ids=c&ids=a')).toEqual({ ids: ['b', 'a', 'c'], deep: false });
  });

  test('numbers and booleans are parsed, and percent-encoding is decoded', async () => {
    expect(await query('limit=5&deep=true&after=a%2Bb%20c')).toEqual({ ids: [], limit: 5, deep: true, after: 'a+b c' });
  });

  test('all errors of a query are reported at once', async () => {
    const { status, detail } = await createRefusal(
      send('GET', '/things?limit=0&deep=1&after=a&after=b&nope=1&__proto__=x&limits='),
    );
    expect(status).toBe(422);
    expect(listFindings(detail)).toEqual([
      '__proto__: UNKNOWN_FIELD',
      'after: WRONG_TYPE',
      'deep: WRONG_TYPE',
      'limit: OUT_OF_RANGE',
      'limits: UNKNOWN_FIELD',
      'nope: UNKNOWN_FIELD',
    ]);
  });

  test.each(['limit=', 'limit=five', 'limit=0x10', 'limit=1e999', 'limit=1.5', 'limit=NaN'])(
    '%s is no whole number',
    async (search) => {
      expect(listFindings((await createRefusal(send('GET', `/things?${search}`))).detail)).toEqual([
        'limit: WRONG_TYPE',
      ]);
    },
  );

  test('a route without parameters refuses any, a probe ignores all', async () => {
    expect((await createRefusal(send('GET', '/things/one?x=1'))).code).toBe('VALIDATION_FAILED');
    expect((await send('GET', '/live?x=1&y')).status).toBe(200);
  });
});

describe('ids', () => {
  test.each(['x'.repeat(65), 'a.b', 'a%20b', '..%2F..%2Fetc', '%C3%A9', 'a%0A', '%ZZ', '%2541'])(
    '%s is refused before any lookup',
    async (id) => {
      const { status, code, detail } = await createRefusal(send('GET', `/things/${id}`));
      expect([status, code]).toEqual([422, 'INVALID_IDENTIFIER']);
      expect(listFindings(detail)).toEqual(['thing_id: BAD_IDENTIFIER']);
    },
  );

  test.each(['x'.repeat(64), '__proto__', 'constructor', '-', '%6Fne'])('%s is a valid id', async (id) => {
    expect((await send('GET', `/things/${id}`)).status).toBe(id === '%6Fne' ? 200 : 404);
  });
});
