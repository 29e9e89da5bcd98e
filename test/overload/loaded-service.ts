import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { issueKey } from '#services/keys/keys.js';
import { startService } from '../cli/process.js';

/** A response, with the time in ms that it took. */

export interface Answer<T> {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: T;
  readonly ms: number;
}

/** A service in a separate process with keys for clients. The tests measure its memory and processor time. */
export interface LoadedService {
  readonly url: string;
  readonly pid: number;
  readonly keys: readonly string[];
  ask<T = JobStatus>(method: string, path: string, body?: unknown, key?: string): Promise<Answer<T>>;
  waitForJob(jobId: string): Promise<JobStatus>;
  /** Returns the resident memory in MB. */
  resident(): Promise<number>;
  close(): Promise<void>;
}

export async function startLoadedService(words: readonly string[] = [], clients = 2): Promise<LoadedService> {
  const base = await mkdtemp(join(tmpdir(), 'divisor-overload-'));
  const issuedKeys = Array.from({ length: clients }, (_, i) =>
    issueKey({ name: `client-${i}`, scopes: ['admin'], expires: null }, Date.now()),
  );
  const service = await startService(join(base, 'home'), ['--log-level', 'error', '--drain-ms', '0', ...words], {
    DIVISOR_API_KEYS: issuedKeys.map(({ record }) => `${record.name}:${record.id}:${record.sha256}:admin`).join(','),
  });
  const { hostname, port } = new URL(service.url);
  const keys = issuedKeys.map(({ key }) => key);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });

  /**
   * Sends a request with the HTTP client of Node. It is several times as fast as fetch, so the test measures the
   * service and not the client.
   */
  function ask<T>(method: string, path: string, body?: unknown, key: string = keys[0]!): Promise<Answer<T>> {
    const startMs = performance.now();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      'x-api-key': key,
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    return new Promise((resolve, reject) => {
      const outgoing = request({ agent, hostname, port, method, path, headers }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const ms = performance.now() - startMs;
          const text = Buffer.concat(chunks).toString('utf8');
          const isJson = incoming.headers['content-type']?.includes('json') === true;
          resolve({
            status: incoming.statusCode ?? 0,
            retryAfter: incoming.headers['retry-after'],
            body: (isJson ? JSON.parse(text) : text) as T,
            ms,
          });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  }

  async function waitForJob(jobId: string): Promise<JobStatus> {
    for (;;) {
      const { body } = await ask<JobStatus>('GET', `/jobs/${jobId}?wait=30`);
      if (body.status !== 'pending' && body.status !== 'running') return body;
    }
  }

  return {
    url: service.url,
    pid: service.child.pid!,
    keys,
    ask,
    waitForJob,
    async resident() {
      const { body } = await ask<string>('GET', '/metrics');
      return Number(/^process_resident_memory_bytes (\S+)/m.exec(body)![1]) / 1e6;
    },
    async close() {
      agent.destroy();
      service.child.kill('SIGTERM');
      await service.ended;
      await rm(base, { recursive: true, force: true });
    },
  };
}

export const createIndexBody = (id: string) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: '2015-01-02',
  rebalance: { frequency: 'monthly' },
  pipeline: { selection: [], weighting: { type: 'MarketCapWeight', cap: 0.1 } },
});

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export function createPercentiles(times: readonly number[]): Percentiles {
  const sortedTimes = times.toSorted((a, b) => a - b);
  const readPercentile = (share: number) =>
    sortedTimes[Math.min(sortedTimes.length - 1, Math.ceil(share * sortedTimes.length) - 1)] ?? Number.NaN;
  return { p50: readPercentile(0.5), p95: readPercentile(0.95), p99: readPercentile(0.99), max: readPercentile(1) };
}

export const formatPercentiles = ({ p50, p95, p99, max }: Percentiles) =>
  `p50 ${p50.toFixed(1)}, p95 ${p95.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} ms`;
