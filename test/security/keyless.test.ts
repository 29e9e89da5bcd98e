import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runService, type RunningService } from '../services/running-service.js';

/** Service without keys. The tests call it over a socket. */
let service: RunningService;
let host: string;
beforeAll(async () => {
  service = await runService();
  ({ host } = new URL(service.url()));
});
afterAll(() => service.close());

async function readStatuses(lines: readonly string[]): Promise<number[]> {
  const socket = connect(Number(new URL(service.url()).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk) => (text += String(chunk)));
  socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`, 'latin1');
  await once(socket, 'close');
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}

describe('a request whose first line names a host', () => {
  test.each([
    ['http://evil.example/indices', ['Host: HOST']],
    ['https://evil.example/indices', ['Host: HOST']],
    ['http://evil.example/indices', []],
    ['http://127.0.0.1@evil.example/indices', ['Host: HOST']],
    ['http://127.0.0.1.evil.example/indices', ['Host: HOST']],
    ['http://HOST/indices', ['Host: evil.example']],
  ])('other than this machine is refused: %s %j', async (target, headers) => {
    const lines = [`GET ${target} HTTP/1.1`, ...headers].map((line) => line.replace('HOST', host));
    expect(await readStatuses(lines)).toEqual([403]);
  });

  test('of this machine is answered', async () => {
    expect(await readStatuses([`GET http://${host}/indices HTTP/1.1`, `Host: ${host}`])).toEqual([200]);
  });

  test.each(['HTTP://evil.example/indices', 'ftp://evil.example/indices', 'evil.example:443'])(
    'in another form is no request: %s',
    async (target) => {
      for (const ownHost of [host, 'localhost', '[::1]', '127.0.0.1:80'])
        expect(await readStatuses([`GET ${target} HTTP/1.1`, `Host: ${ownHost}`])).toEqual([400]);
    },
  );
});

test('a request with two hosts is refused, whichever comes first', async () => {
  for (const hosts of [
    [host, 'evil.example'],
    ['evil.example', host],
  ])
    for (const path of ['/indices', '/health'])
      expect(await readStatuses([`GET ${path} HTTP/1.1`, ...hosts.map((each) => `Host: ${each}`)])).toEqual([400]);
});

test('a page whose name resolves to this machine gets no more access than others', async () => {
  const listLines = (path: string) => [`GET ${path} HTTP/1.1`, 'Host: evil.example'];
  for (const path of ['/indices', '/openapi.json', '/metrics', '/jobs', '/audit'])
    expect([path, await readStatuses(listLines(path))]).toEqual([path, [403]]);
});
