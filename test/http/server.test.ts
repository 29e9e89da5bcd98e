import { once } from 'node:events';
import { connect } from 'node:net';
import { request as httpRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ErrorEnvelope } from '#contract/payloads.js';
import { listen, type Server } from '#http/server.js';
import { createSample, type Sample } from './sample-app.js';

let sample: Sample;
let server: Server;
let port: number;

beforeEach(async () => {
  sample = createSample();
  server = await listen({ app: sample.app, host: '127.0.0.1', port: 0 });
  port = Number(new URL(server.url).port);
});

afterEach(() => server.close(0));

/** Sends bytes and reads until the service closes the connection. */
async function exchange(...parts: (string | Buffer)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  for (const part of parts) socket.write(part);
  await once(socket, 'close');
  return text;
}

const readBody = (response: string) =>
  ErrorEnvelope.parse(JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))).error;

describe('requests that the HTTP parser refuses get the error body of the service', () => {
  test.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    [
      'two lengths',
      'POST /things/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a header of 20 kB', `GET /live HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a NUL in a header', 'GET /live HTTP/1.1\r\nHost: local\0host\r\n\r\n'],
    ['no Host', 'GET /live HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a Host that is no host', 'GET /live HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n'],
    ['an unknown expectation', 'GET /live HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n'],
  ])('%s', async (_name, text) => {
    const responseText = await exchange(text);
    expect(responseText).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(responseText).toMatch(/x-request-id: [0-9a-f-]{36}\r\n/i);
    expect(responseText).toMatch(/x-engine-version: 1\.2\.3\r\n/i);
    expect(readBody(responseText).code).toBe('MALFORMED_REQUEST');
  });
});

test('a connection without a request in time is closed without an answer', async () => {
  const shortServer = await listen({ app: sample.app, host: '127.0.0.1', port: 0, headersTimeoutMs: 20 });
  port = Number(new URL(shortServer.url).port);
  expect(await exchange()).toBe('');
  await shortServer.close(0);
});

describe('bodies over the wire', () => {
  const head =
    'POST /things/check HTTP/1.1\r\nHost: localhost\r\nX-API-Key: read\r\nContent-Type: application/json\r\nConnection: close\r\n';

  test('a chunked body is read', async () => {
    expect(await exchange(`${head}Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n`)).toContain(
      '"seen":["a"]',
    );
  });

  test('a chunked body beyond the limit is refused while it arrives', async () => {
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 0x20), Buffer.from('\r\n')]);
    const responseText = await exchange(
      `${head}Transfer-Encoding: chunked\r\n\r\n`,
      ...Array.from({ length: 17 }, () => chunk),
    );
    expect(readBody(responseText)).toMatchObject({ code: 'BODY_TOO_LARGE', detail: { limit: 1_048_576 } });
  });

  test('a declared length beyond the limit is refused before the body comes', async () => {
    const responseText = await exchange(`${head}Content-Length: 99999999\r\n\r\n{`);
    expect(readBody(responseText).message).toBe('The body has 99999999 bytes; at most 1048576 are accepted.');
  });

  test('a client that disconnects during its body is no defect', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`${head}Content-Length: 100\r\n\r\n{`);
    await once(socket, 'connect');
    socket.destroy();
    await waitForAnswer();
    expect(sample.log.filter(({ msg }) => msg === 'defect')).toEqual([]);
    expect(sample.answered.at(-1)?.status).toBe(400);
  });
});

/** Waits until the application has answered a request. */
async function waitForAnswer(): Promise<void> {
  while (sample.answered.length === 0) await new Promise((resolve) => setImmediate(resolve));
}

describe('a GET returns the same bytes whether it needs a Request or not', () => {
  /**
   * Returns the responses to two equal requests on one connection, for each of two spellings of the host. The
   * connection stays open after the first response and is closed after the second.
   */
  const readAnswers = (target: string, ...headers: readonly string[]): Promise<string[]> =>
    Promise.all(
      ['localhost', 'LOCALHOST'].map(async (host) => {
        const lines = [`GET ${target} HTTP/1.1`, `Host: ${host}`, 'X-Request-Id: same', ...headers];
        const requests = [lines, [...lines, 'Connection: close']].map((each) => `${each.join('\r\n')}\r\n\r\n`);
        return (await exchange(...requests)).replaceAll(/^Date: .*$/gm, 'Date');
      }),
    );
  const key = 'X-API-Key: read+data';
  test.each([
    ['an open path, its query ignored', '/live?x=%zz', [], 200],
    ['a query that is read', '/things?ids=a,b&ids=c%20d&after=x%2Fy', [key], 200],
    ['a query that is refused', '/things?limit=0&nope', [key], 422],
    ['a parameter of the path', '/things/one', [key], 200],
    ['an ETag that the client holds', '/things/one', [key, 'If-None-Match: "e0", W/"e1"'], 304],
    ['a header that came twice', '/things/one', [key, 'If-None-Match: "e0"', 'If-None-Match: "e1"'], 304],
    ['another media type', '/bytes', [key, 'Accept: application/vnd.apache.arrow.stream'], 200],
    ['no media type', '/bytes', [key, 'Accept: image/png'], 406],
    ['a path that is not there', '//things/./one', [key], 404],
    ['a path above the others', '/things/../live', [key], 200],
    ['a long id', `/things/${'x'.repeat(65)}`, [key], 422],
    ['no key', '/things', [], 401],
    ['a key that came twice', '/things', ['X-API-Key: read', 'X-API-Key: read'], 403],
    ['another scope', '/crash', [key], 403],
    ['a defect', '/crash', ['X-API-Key: admin'], 500],
    ['a trace', '/things', [key, 'Traceparent: none'], 200],
  ] as const)('%s', async (_name, target, headers, status) => {
    const [plainAnswer, fullAnswer] = await readAnswers(target, ...headers);
    expect(plainAnswer).toBe(fullAnswer);
    const [, openAnswer, closedAnswer] = plainAnswer!.split(/HTTP\/1\.1 /);
    expect(openAnswer!.replace('Connection: keep-alive\r\nKeep-Alive: timeout=20', 'Connection: close')).toBe(
      closedAnswer,
    );
    expect(plainAnswer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});

test('a connection is closed after a thousand requests, each of them answered', async () => {
  const request = 'GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const responseText = await exchange(request.repeat(1_000));
  expect(responseText.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(1_000);
  expect(responseText.match(/connection: close/gi)).toHaveLength(1);
});

test('a stream stops when its client leaves', async () => {
  const response = await fetch(`${server.url}/stream`, { headers: { 'x-api-key': 'read' } });
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  while (sample.long.cancelled === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(sample.long.cancelled).toBe(1);
});

test('HEAD of a stream leaves nothing open', async () => {
  const response = await fetch(`${server.url}/stream`, { method: 'HEAD', headers: { 'x-api-key': 'read' } });
  expect([response.status, sample.long.cancelled]).toEqual([200, 1]);
});

test('a handler is notified when its client disconnects, and its later failure is no defect', async () => {
  const request = httpRequest(`${server.url}/wait`, { headers: { 'x-api-key': 'read' } });
  request.on('error', () => undefined);
  request.end();
  await sample.waiting;
  request.destroy();
  await sample.long.released;
  await waitForAnswer();
  expect(sample.long.aborted).toBe(1);
  expect(sample.log.filter(({ msg }) => msg === 'defect')).toEqual([]);
});

test('closing waits for the pending request and refuses new connections', async () => {
  const answer = fetch(`${server.url}/wait`, { headers: { 'x-api-key': 'read' } });
  await sample.waiting;
  sample.app.drain();
  const closing = server.close(10_000);
  await expect(fetch(`${server.url}/live`)).rejects.toThrow();
  sample.long.release();
  expect(await (await answer).json()).toBe('waited');
  expect((await answer).headers.get('connection')).toBe('close');
  await closing;
});

test('closing aborts requests that do not end in time', async () => {
  const answer = fetch(`${server.url}/wait`, { headers: { 'x-api-key': 'read' } });
  const failure = expect(answer).rejects.toThrow();
  await sample.waiting;
  await server.close(1);
  await failure;
});
