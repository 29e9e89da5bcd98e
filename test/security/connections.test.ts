import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen, type Server } from '#http/server.js';
import { createSample } from '../http/sample-app.js';
import { IS_SOAK } from '../soak.js';

/** Number of sockets that the test keeps open on purpose; a thousand with `SOAK=1`. */
const HALF_OPEN = IS_SOAK ? 1000 : 200;

let server: Server;
let port: number;
beforeAll(async () => {
  server = await listen({ app: createSample().app, host: '127.0.0.1', port: 0, isTrustedProxy: () => true });
  port = Number(new URL(server.url).port);
});
afterAll(() => server.close(0));

async function openSocket(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Returns all bytes that the service sends, until the service or the test ends the connection. */
async function readResponseTo(bytes: string, isEnded = true): Promise<string> {
  const socket = await openSocket();
  let text = '';
  socket.on('data', (chunk) => (text += String(chunk)));
  if (isEnded) socket.end(bytes);
  else socket.write(bytes);
  await once(socket, 'close');
  return text;
}

const listStatuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));

describe('a request cannot hide another one', () => {
  const hiddenRequest = 'GET /crash HTTP/1.1\r\nHost: localhost\r\nX-API-Key: admin\r\n\r\n';
  const head =
    'POST /things/check HTTP/1.1\r\nHost: localhost\r\nX-API-Key: read\r\nContent-Type: application/json\r\n';
  test.each([
    ['a length and chunks', `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hiddenRequest}`],
    ['chunks and a length', `${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${hiddenRequest}`],
    ['two lengths that differ', `${head}Content-Length: 2\r\nContent-Length: 60\r\n\r\n{}${hiddenRequest}`],
    ['a length with a sign', `${head}Content-Length: +2\r\n\r\n{}${hiddenRequest}`],
    ['a length that is hexadecimal', `${head}Content-Length: 0x2\r\n\r\n{}${hiddenRequest}`],
    ['a coding that is not chunked', `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hiddenRequest}`],
    ['a coding after chunked', `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hiddenRequest}`],
    ['a space before the colon', `${head}Content-Length : 2\r\n\r\n{}${hiddenRequest}`],
    ['a header that is folded', `${head}X-A: b\r\n Content-Length: 2\r\n\r\n{}${hiddenRequest}`],
    ['a chunk of no size', `${head}Transfer-Encoding: chunked\r\n\r\n;x\r\n{}\r\n0\r\n\r\n${hiddenRequest}`],
    [
      'a chunk whose size is too large for a number',
      `${head}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n${hiddenRequest}`,
    ],
    ['a bare line feed after a chunk', `${head}Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n${hiddenRequest}`],
  ])('by %s', async (_name, bytes) => {
    const response = listStatuses(await readResponseTo(bytes));
    expect(response.at(-1)).toBe(400);
    expect(response).not.toContain(500); // the route of the smuggled request always crashes
  });

  test('and a second complete request on one connection is answered separately', async () => {
    expect(
      listStatuses(
        await readResponseTo(
          'GET /live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
          false,
        ),
      ),
    ).toEqual([200, 401]);
  });
});

test('the value of a request header cannot begin another header of the response', async () => {
  for (const value of ['a%0d%0aSet-Cookie: x=1', 'a\u0085b', 'ä', '"><script>', 'x'.repeat(129)]) {
    const text = await readResponseTo(
      `GET /live HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${value}\r\nConnection: close\r\n\r\n`,
    );
    expect(text).not.toMatch(/^set-cookie/im);
    expect(/^x-request-id: (.*)\r$/im.exec(text)?.[1]).toMatch(/^[\x21-\x7e]{1,128}$/);
  }
});

test(`${HALF_OPEN} clients that never finish their headers delay nobody, and are disconnected after five seconds`, async () => {
  const sockets = await Promise.all(Array.from({ length: HALF_OPEN }, openSocket));
  const closings = sockets.map((socket) => once(socket, 'close'));
  for (const [i, socket] of sockets.entries()) socket.write(i % 2 === 0 ? 'GET /live HTTP/1.1\r\nHost: local' : 'G');
  // The clients send another byte now and then. The attack slowloris does the same.
  const drip = setInterval(() => sockets.forEach((socket) => void (socket.writable && socket.write('h'))), 500);
  for (const socket of sockets) socket.resume();
  const times: number[] = [];
  for (let i = 0; i < 100; i++) {
    const startMs = performance.now();
    await (await fetch(`${server.url}/live`)).text();
    times.push(performance.now() - startMs);
  }
  const began = performance.now();
  await Promise.all(closings);
  clearInterval(drip);
  const median = times.toSorted((a, b) => a - b)[50]!;
  console.log(
    `with ${HALF_OPEN} half-open sockets a GET took ${median.toFixed(1)} ms (median); the last was gone after ${((performance.now() - began) / 1000).toFixed(1)} s`,
  );
  if (!IS_SOAK) return;
  expect(median).toBeLessThan(100);
  expect(performance.now() - began).toBeLessThan(15_000);
});
