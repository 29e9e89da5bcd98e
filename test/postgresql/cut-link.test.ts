import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { hasNamespaces, openCutLink } from './cut-link.js';
import { openStallingProxy } from './stalling-proxy.js';

/** Opens a server that echoes its input. */
async function openEcho() {
  const server = createServer((socket) => socket.on('error', () => {}).pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `postgres://user@127.0.0.1:${(server.address() as AddressInfo).port}/db` };
}

const CUT_METHODS = {
  'a stalling proxy': openStallingProxy,
  ...(hasNamespaces ? { 'a link of the kernel': openCutLink } : {}),
};

test.each(Object.entries(CUT_METHODS))(
  'no data passes %s while it is disconnected, and all data afterwards',
  async (_, openLink) => {
    const { server, url } = await openEcho();
    const way = await openLink(url);
    const { hostname, port, pathname, username } = new URL(way.url);
    expect([pathname, username]).toEqual(['/db', 'user']);
    const socket = connect(Number(port), hostname);
    let heardText = '';
    socket.setEncoding('utf8').on('data', (text: string) => (heardText += text));
    socket.write('before');
    await once(socket, 'data');
    way.stall();
    socket.write(' while');
    // Many other connections open and close during this time.
    const directSocket = connect(Number(new URL(url).port), '127.0.0.1');
    for (let i = 0; i < 200; i++) {
      directSocket.write('round');
      await once(directSocket, 'data');
    }
    directSocket.destroy();
    expect(heardText).toBe('before');
    way.pass();
    await expect.poll(() => heardText).toBe('before while');
    socket.destroy();
    await way.close();
    server.close();
  },
);
