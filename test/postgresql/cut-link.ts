import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StallingProxy } from './stalling-proxy.js';

const runIp = (...words: string[]): void => void execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });

/**
 * True if this process may create network namespaces. This requires root and iproute2 and is impossible in most
 * containers.
 */
export const hasNamespaces = ((): boolean => {
  const name = `divisor-try-${process.pid}`;
  try {
    runIp('netns', 'add', name);
    runIp('netns', 'delete', name);
    return true;
  } catch {
    return false;
  }
})();

/**
 * Script that accepts connections in a namespace and forwards them through a Unix socket. The socket does not depend on
 * network links.
 */
const FORWARDER = `
  const { connect, createServer } = require('node:net');
  const [host, path] = process.argv.slice(1);
  const server = createServer({ noDelay: true }, (client) => {
    const outside = connect(path);
    const end = () => { client.destroy(); outside.destroy(); };
    client.on('error', end).on('close', end).pipe(outside.on('error', end).on('close', end)).pipe(client);
  });
  server.listen(5432, host, () => console.log('ready'));
`;
let openedSandbox = 0;

/**
 * Opens a proxy whose network link the kernel can take down. Then packets are lost, and TCP sends them again. The far
 * end of the link is in a separate network namespace.
 * @param url URL of a server that listens on a loopback port
 */
export async function openCutLink(url: string): Promise<StallingProxy> {
  let target = new URL(url);
  const number = openedSandbox++;
  const name = `dv${process.pid % 100_000}n${number}`;
  const network = `10.${200 + (process.pid % 50)}.${number % 250}`;
  const folder = mkdtempSync(join(tmpdir(), 'divisor-link-'));
  const path = join(folder, 'outside');
  const sockets = new Set<Socket>();
  const outsideServer = createServer((inner) => {
    const upstream = connect(Number(target.port), target.hostname);
    const end = (): void => {
      inner.destroy();
      upstream.destroy();
      sockets.delete(inner);
    };
    sockets.add(inner);
    for (const socket of [inner, upstream]) socket.on('error', end).on('close', end);
    inner.pipe(upstream.setNoDelay(true)).pipe(inner);
  });
  await new Promise<void>((resolve) => outsideServer.listen(path, resolve));
  runIp('netns', 'add', name);
  runIp('link', 'add', name, 'type', 'veth', 'peer', 'name', 'inner', 'netns', name);
  runIp('addr', 'add', `${network}.1/30`, 'dev', name);
  runIp('link', 'set', name, 'up');
  runIp('-n', name, 'addr', 'add', `${network}.2/30`, 'dev', 'inner');
  runIp('-n', name, 'link', 'set', 'inner', 'up');
  const forwarder = await forward(name, `${network}.2`, path);
  const address = new URL(url);
  address.host = `${network}.2:5432`;
  return {
    url: address.href,
    stall: () => runIp('-n', name, 'link', 'set', 'inner', 'down'),
    pass: () => runIp('-n', name, 'link', 'set', 'inner', 'up'),
    turnTo(other) {
      target = new URL(other);
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      forwarder.kill('SIGKILL');
      await once(forwarder, 'close');
      runIp('netns', 'delete', name); // also removes both ends of the link
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => outsideServer.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function forward(namespace: string, host: string, path: string): Promise<ChildProcess> {
  const words = ['netns', 'exec', namespace, process.execPath, '-e', FORWARDER, host, path];
  const child = spawn('ip', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout!, 'data');
  return child;
}
