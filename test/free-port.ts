import { createServer } from 'node:net';

/** Below the range of ephemeral ports: no other process takes one before the server listens, or while it is down. */
const PORTS = { first: 20_000, count: 12_000 };

/** A port of loopback for a server that is started next. */
export async function freePort(): Promise<number> {
  // Processes that look at once begin at different places.
  for (let i = 0; i < PORTS.count; i++) {
    const port = PORTS.first + ((process.pid * 7 + i) % PORTS.count);
    if (await isFree(port)) return port;
  }
  throw new Error('No port is free.');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
