import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createDivisorClient, LateAnswerError } from '#clients/typescript/divisor.js';
import { runWithService, sendRequest } from '#cli/commands/connection.js';

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const fetchImpatiently: typeof fetch = (address, options) => sendRequest(new URL(String(address)), options!, 30);

test('a write passes method, headers and body, and returns the answer unchanged', async () => {
  const url = await startServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const { method, headers } = request;
      response.writeHead(201, { etag: '"1"', 'content-type': 'text/plain' });
      response.end([method, headers['content-length'], headers['content-type'], headers['x-key'], text].join('|'));
    });
  });
  const headers = { 'content-type': 'application/json', 'x-key': 'k' };
  const ask = (body: string | Blob | null) => sendRequest(new URL(url), { method: 'PUT', headers, body }, 10_000);
  const answer = await ask('{"é":1}');
  expect([answer.status, answer.headers.get('etag'), await answer.text()]).toEqual([
    201,
    '"1"',
    'PUT|8|application/json|k|{"é":1}',
  ]);
  expect(await (await ask(new Blob(['abc']))).text()).toBe('PUT|3|application/json|k|abc');
  expect(await (await ask(null)).text()).toBe('PUT|0|application/json|k|');
});

test('a late answer is reported with the command that checks it', async () => {
  const url = await startServer(() => undefined);
  const client = createDivisorClient({ url, fetch: fetchImpatiently });
  const callSync = () => client.call('syncData', { body: {} } as never);
  await expect(callSync()).rejects.toThrow(LateAnswerError);
  const messages: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = (text: string | Uint8Array) => messages.push(String(text)) > 0;
  try {
    expect(await runWithService({ url }, {}, callSync as never)).toBe(74);
  } finally {
    process.stderr.write = write;
  }
  expect(messages.join('')).toMatch(
    /^divisor: No response from .* within 0 seconds\. The work may still be running: .*divisor jobs/,
  );
});
