import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import { getNetwork } from '#base/addresses.js';
import { resolveClientAddress } from '#http/app.js';
import { createAddressCheck, isAddressRange } from '#services/keys/keys.js';
import { listen, type Server } from '#http/server.js';
import { createSample } from './sample-app.js';

describe('the address of a client', () => {
  const isTrusted = createAddressCheck(['10.0.0.0/8', '::1', '192.0.2.7']);
  test.each([
    ['203.0.113.9', null, '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['10.1.2.3', 'spoofed, 198.51.100.1, 10.9.9.9', '198.51.100.1'],
    ['10.1.2.3', '198.51.100.1, not-an-address', '10.1.2.3'],
    ['10.1.2.3', '198.51.100.1, not-an-address, 10.9.9.9', '10.9.9.9'],
    ['10.1.2.3', '192.0.2.7, ::1', '192.0.2.7'],
    ['10.1.2.3', '', '10.1.2.3'],
  ])('connected from %s with X-Forwarded-For %s is %s', (peer, header, expected) => {
    expect(resolveClientAddress(peer, header, isTrusted)).toBe(expected);
  });
});

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '::ffff:cb00:7109'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::ffff', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::ffff', '2001:db8:1:3::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('a client at %s is counted as %s', (address, network) => {
  expect(getNetwork(address)).toBe(network);
});

test('ranges are addresses with or without a prefix', () => {
  expect(['10.0.0.0/8', '10.0.0.1', '::1', 'fd00::/8', '0.0.0.0/0'].every(isAddressRange)).toBe(true);
  expect(['10.0.0.0/33', 'proxy', '10.0.0.0/8/8', '10.0.0.0/', '', 'fd00::/129'].some(isAddressRange)).toBe(false);
});

describe('connections of one address', () => {
  let server: Server;
  let trusting: Server;
  beforeAll(async () => {
    const { app } = createSample();
    server = await listen({ app, host: '127.0.0.1', port: 0 });
    trusting = await listen({ app, host: '127.0.0.1', port: 0, isTrustedProxy: createAddressCheck(['127.0.0.9']) });
  });
  afterAll(() => Promise.all([server.close(0), trusting.close(0)]));

  /** Opens sockets and waits until each was served or closed. Returns the sockets and how many were served. */
  async function countServed(url: string, localAddress: string, count: number) {
    const { port } = new URL(url);
    const sockets = Array.from({ length: count }, () =>
      connect({ port: Number(port), host: '127.0.0.1', localAddress }),
    );
    const answers = await Promise.all(
      sockets.map(async (socket) => {
        socket.on('error', () => {});
        socket.write('GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n');
        return Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]).catch(
          () => false,
        );
      }),
    );
    return { sockets, answered: answers.filter(Boolean).length };
  }

  test('are limited, and those of another address are served', async () => {
    const manySockets = await countServed(server.url, '127.0.0.1', LIMITS.MAX_ADDRESS_CONNECTIONS + 50);
    expect(manySockets.answered).toBe(LIMITS.MAX_ADDRESS_CONNECTIONS);
    const other = await countServed(server.url, '127.0.0.2', 1);
    expect(other.answered).toBe(1);
    const closings = manySockets.sockets.map((socket) => (socket.closed ? undefined : once(socket, 'close')));
    for (const socket of manySockets.sockets) socket.destroy();
    await Promise.all(closings);
    const probe = async (): Promise<number> => {
      const { sockets, answered } = await countServed(server.url, '127.0.0.1', 1);
      for (const socket of sockets) socket.destroy();
      return answered;
    };
    while ((await probe()) === 0) await new Promise(setImmediate); // waits until the server has noticed the closed sockets
    for (const socket of other.sockets) socket.destroy();
  });

  test('of a trusted proxy are not limited', async () => {
    const { sockets, answered } = await countServed(trusting.url, '127.0.0.9', LIMITS.MAX_ADDRESS_CONNECTIONS + 50);
    expect(answered).toBe(LIMITS.MAX_ADDRESS_CONNECTIONS + 50);
    for (const socket of sockets) socket.destroy();
  });
});
