import { createServer } from 'node:net';

/**
 * Ports below the range from which the system assigns ports. So no other process takes a port before the server listens
 * or while it is stopped.
 */
const PORTS = { first: 20_000, count: 12_000 };

export async function freePort(): Promise<number> {
  // Concurrent processes start their search at different ports.
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
