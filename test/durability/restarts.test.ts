import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { startService } from '../cli/process.js';
import { IS_SOAK } from '../soak.js';
import { createFrame } from '../table-frame.js';

/**
 * Number of restarts; `SOAK=1` makes ten. The service is stopped and started while clients send requests through a load
 * balancer, which polls /health/ready. No request fails, and accepted jobs end.
 */
const RESTARTS = IS_SOAK ? 10 : 1;
/** Interval between requests in ms. Twenty requests a second are as many as an index desk with dashboards sends. */
const EVERY_MS = 50;
const PROBE_MS = 20;
const DRAIN_MS = 3000;
/**
 * Maximum age of the last poll of the load balancer, in ms. If the poll is older because the machine was busy, the load
 * balancer polls again before it sends requests.
 */
const LOOK_MS_MAX = DRAIN_MS / 3;

interface Answer {
  readonly status: number;
  readonly body: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 32 });

function ask(url: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}${path}`, { agent, method, headers }, (incoming) => {
      let output = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
      incoming.on('error', reject);
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body: output }));
    });
    outgoing.on('error', (failure: NodeJS.ErrnoException) => {
      // If an idle connection is closed during a request, the request is sent again on a new connection. Load balancers
      // do the same (RFC 9112 9.3.1).
      if (outgoing.reusedSocket && failure.code === 'ECONNRESET') ask(url, method, path, body).then(resolve, reject);
      else reject(failure);
    });
    outgoing.end(text);
  });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function importMarket(url: string): Promise<void> {
  const days = ['2023-01-03', '2023-01-04', '2023-01-05', '2023-01-06', '2023-01-09'].concat(
    Array.from({ length: 40 }, (_, i) => new Date(Date.UTC(2023, 1, 1) + i * 86_400_000).toISOString().slice(0, 10)),
  );
  const data = days.flatMap((day, i) => [
    ['A', day, 10 + Math.sin(i)],
    ['B', day, 20 + Math.cos(i)],
  ]);
  const result = await ask(url, 'POST', '/data/import', {
    store_id: 'm',
    name: 'm',
    tables: { market: createFrame(['identifier', 'date', 'CLOSE'], data) },
    activate: true,
  });
  expect(result.status).toBe(201);
}

test(
  `no request and no job is lost over ${RESTARTS} restarts under load`,
  { timeout: 60_000 + RESTARTS * 30_000 },
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'restarts-'));
    const words = ['--log-level', 'error', '--workers', '2', '--drain-ms', String(DRAIN_MS)];
    let service = await startService(home, words);
    /** Address to which the load balancer sends requests, or undefined while no service is ready. */
    let readyUrl: string | undefined;
    let lookedAt = 0;
    const state = { isOver: false, answered: 0 };
    const lostRequests: string[] = [];
    const acceptedIds = new Set<string>();
    let refusedCount = 0;

    const balanceRequests = async (): Promise<void> => {
      while (!state.isOver) {
        const { url } = service;
        const startMs = performance.now();
        readyUrl = (await ask(url, 'GET', '/health/ready').then(
          ({ status }) => status === 200,
          () => false,
        ))
          ? url
          : undefined;
        lookedAt = startMs;
        await pause(PROBE_MS);
      }
    };

    async function send(turn: number): Promise<void> {
      const url = readyUrl;
      if (url === undefined || performance.now() - lookedAt > LOOK_MS_MAX) return;
      const sentRequest: readonly [string, string, unknown?] =
        turn % 4 === 0
          ? ['POST', `/risk-models/m${turn % 40}/estimate`, { identifiers: ['A', 'B'], start: '2023-01-03' }]
          : turn % 4 === 1
            ? ['PUT', `/data/watchlists/w${turn % 8}`, { name: `turn ${turn}`, identifiers: ['A'] }]
            : ['GET', '/jobs?limit=20'];
      try {
        const { status, body } = await ask(url, ...sentRequest);
        state.answered++;
        if (status === 202) acceptedIds.add((JSON.parse(body) as JobStatus).job_id);
        // Between the signal and the next poll, a service that stops still responds. But it refuses new jobs with
        // status 503.
        else if (status === 503) refusedCount++;
        else if (status >= 300) lostRequests.push(`${sentRequest[0]} ${sentRequest[1]} answered ${status}: ${body}`);
      } catch (failure) {
        lostRequests.push(`${sentRequest[0]} ${sentRequest[1]}: ${String(failure)}`);
      }
    }

    async function waitForAnswers(more: number): Promise<void> {
      for (const end = state.answered + more; state.answered < end;) await pause(EVERY_MS);
    }

    try {
      await importMarket(service.url);
      const balancing = balanceRequests();
      const sentRequests: Promise<void>[] = [];
      const load = (async () => {
        for (let turn = 0; !state.isOver; turn++) {
          sentRequests.push(send(turn));
          await pause(EVERY_MS);
        }
      })();
      for (let restart = 0; restart < RESTARTS; restart++) {
        await waitForAnswers(20);
        service.child.kill('SIGTERM');
        expect(await service.ended).toBe(0);
        service = await startService(home, words);
      }
      await waitForAnswers(20);
      state.isOver = true;
      await Promise.all([balancing, load, ...sentRequests]);
      const ends = new Map<string, number>();
      for (const jobId of acceptedIds) {
        let job: JobStatus;
        do job = JSON.parse((await ask(service.url, 'GET', `/jobs/${jobId}?wait=20`)).body) as JobStatus;
        while (job.status === 'pending' || job.status === 'running');
        ends.set(job.status, (ends.get(job.status) ?? 0) + 1);
      }
      console.log(
        `${RESTARTS} restarts: ${state.answered} requests answered, ${refusedCount} of them refused because the service stops, ${acceptedIds.size} jobs`,
      );
      expect(lostRequests).toEqual([]);
      expect([...ends.keys()]).toEqual(['succeeded']);
    } finally {
      state.isOver = true;
      agent.destroy();
      service.child.kill('SIGKILL');
      await service.ended;
      await rm(home, { recursive: true, force: true });
    }
  },
);
