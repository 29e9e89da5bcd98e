import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { AddressInfo } from 'node:net';
import { startService } from './service.js';

/**
 * Requests per second of GET /health, of the whole service in a process of its own, beside what bare node:http answers
 * with the same bytes in the same run. Goal: at least 5,000 requests/s.
 */
const CONNECTIONS = 20;
const SECONDS = 4;

interface Outcome {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Loads an address from a process of its own, so that client and server do not share a thread. */
async function load(url: string): Promise<Outcome> {
  const cannon = fileURLToPath(import.meta.resolve('autocannon'));
  const child = spawn(
    process.execPath,
    [cannon, '--json', '--no-progress', '-c', String(CONNECTIONS), '-d', String(SECONDS), url],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await once(child, 'close');
  const { requests, latency, non2xx, errors } = JSON.parse(text) as {
    requests: { average: number };
    latency: { p50: number; p99: number };
    non2xx: number;
    errors: number;
  };
  if (non2xx + errors > 0) throw new Error(`${non2xx} answers other than 2xx and ${errors} errors`);
  return { requestsPerSecond: requests.average, p50Ms: latency.p50, p99Ms: latency.p99 };
}

async function bareNode(body: string): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((_request, response) => {
    response.writeHead(200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const line = (name: string, { requestsPerSecond, p50Ms, p99Ms }: Outcome) =>
  console.log(
    `${name.padEnd(34)} ${requestsPerSecond.toFixed(0).padStart(7)} requests/s   p50 ${p50Ms} ms   p99 ${p99Ms} ms`,
  );

const divisor = await startService();
const body = await (await fetch(`${divisor.url}/health`)).text();
await load(`${divisor.url}/health`); // Warm: the first run compiles.
line('GET /health', await load(`${divisor.url}/health`));
line('GET /changelog (logged)', await load(`${divisor.url}/changelog`));
line('GET /health/live', await load(`${divisor.url}/health/live`));
await divisor.stop();
const bare = await bareNode(body);
line('bare node:http, the same bytes', await load(bare.url));
await bare.stop();
