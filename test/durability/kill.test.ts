import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listHomeFolders } from '#store/home/home.js';
import { verifyHome } from '#store/home/verify.js';
import { seeded } from '../seeded.js';
import { startService } from '../cli/process.js';
import { createHistory, type History } from './history.js';
import { createPublisher, PUBLISHED } from './publisher.js';
import { createEqualIndex } from '../equal-index.js';

/**
 * Number of kills. A real service is killed while sixteen clients write documents, run backtests, publish, cancel and
 * delete. After each restart on the same home, no acknowledged write is lost, no write is partial, and every job ends
 * once. `SOAK_ROUNDS=50` sets the number of kills. `SOAK_SEED` repeats the times of a previous test.
 */
const ROUNDS = Number(process.env['SOAK_ROUNDS'] ?? 1);
const SEED = Number(process.env['SOAK_SEED'] ?? 20_261_120);
/** Latest time of a kill in a round, in ms. The rounds of a long test are longer. */
const MOMENT_MS_MAX = ROUNDS > 10 ? 5000 : 800;
/** Minimum number of writes that are acknowledged in a round before its kill. */
const WRITES_MIN = 60;
const DOCUMENT_WRITERS = 12;
const JOB_WRITERS = 4;
const random = seeded(SEED);
const drawBetween = (low: number, high: number): number => low + Math.floor(random() * (high - low));

test(
  `nothing acknowledged is lost over kills, ${ROUNDS} of them (SOAK_SEED=${SEED})`,
  { timeout: 60_000 + ROUNDS * 30_000 },
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'durability-'));
    const clients = createClients();
    let readyMsMax = 0;
    let damagedParts: readonly unknown[] = [];
    let service = await startService(home, ['--log-level', 'error', '--workers', '2']);
    try {
      await clients.prepare(service.url);
      for (let round = 1; round <= ROUNDS; round++) {
        const before = clients.acknowledgedDocuments();
        const work = clients.work(service.url);
        await new Promise((resolve) => setTimeout(resolve, drawBetween(200, MOMENT_MS_MAX)));
        // The minimum is reached before the kill even on a busy machine.
        while (
          clients.acknowledgedDocuments() < before + WRITES_MIN ||
          clients.acknowledgedJobs() <= round ||
          clients.acknowledgedPublications() === 0
        )
          await new Promise((resolve) => setTimeout(resolve, 20));
        service.child.kill('SIGKILL');
        await service.ended;
        await work.end();
        const start = performance.now();
        service = await startService(home, ['--log-level', 'error', '--workers', '2']);
        readyMsMax = Math.max(readyMsMax, performance.now() - start);
        expect(await clients.check(service.url), `round ${round}`).toEqual([]);
      }
    } finally {
      service.child.kill('SIGKILL');
      await service.ended;
      damagedParts = (await verifyHome(listHomeFolders(home))).flatMap((part) => part.damaged);
      await rm(home, { recursive: true, force: true });
    }
    expect(damagedParts).toEqual([]);
    console.log(
      `${ROUNDS} kills: ${clients.acknowledgedDocuments()} documents and ${clients.acknowledgedJobs()} jobs acknowledged, ready again within ${readyMsMax.toFixed(0)} ms`,
    );
    expect(clients.acknowledgedDocuments()).toBeGreaterThan(ROUNDS * 50);
    expect(clients.acknowledgedJobs()).toBeGreaterThan(ROUNDS);
    expect(clients.acknowledgedPublications()).toBeGreaterThan(0);
  },
);

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request. Returns undefined if the service was killed before it responded. */
async function ask(url: string, method: string, path: string, body?: unknown): Promise<Answer | undefined> {
  try {
    const init =
      body === undefined
        ? { method }
        : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
  } catch {
    return undefined;
  }
}

interface AcknowledgedJob {
  /** Transaction cost in basis points. Each submission has a different cost, which identifies it. */
  readonly token: number;
  /** Time at which the job finished. It is set when a client has received its final status. */
  finishedAt: string | undefined;
  status: string | undefined;
}

/** Creates the clients and records their requests and the responses. */
function createClients() {
  const documents: History = createHistory(() => performance.now());
  const publisher = createPublisher(ask, SESSIONS);
  const submittedJobs = new Map<string, { acknowledged: AcknowledgedJob | undefined; tried: number[] }>();
  let serial = 0;
  let jobs = 0;

  async function write(url: string, key: string, isDeletion: boolean): Promise<void> {
    const value = isDeletion ? null : `v${++serial}`;
    const attempt = documents.begin(key, value);
    const answer = isDeletion ? await ask(url, 'DELETE', key) : await ask(url, 'PUT', key, createBody(value!));
    if (answer === undefined) return;
    if (answer.status < 300) attempt.ackMs = performance.now();
    else documents.withdraw(key, attempt);
    if (answer.status >= 500 && answer.status !== 503) throw new Error(`${key}: ${JSON.stringify(answer.body)}`);
  }

  /**
   * Writes repeatedly: lists of this writer, a list that it shares with two other writers, and an index that is created
   * and deleted together with its child.
   */
  async function writeDocuments(url: string, writer: number, isOver: () => boolean): Promise<void> {
    const ownPath = `/data/watchlists/own-${writer}`;
    const sharedPath = `/data/watchlists/shared-${writer % 4}`;
    for (let turn = 0; !isOver(); turn++) {
      await write(url, `${ownPath}-${turn % 50}`, false);
      await write(url, ownPath, turn % 7 === 6);
      await write(url, sharedPath, false);
      if (turn % 5 === 0) await putAndDelete(url, writer, turn);
    }
  }

  async function putAndDelete(url: string, writer: number, turn: number): Promise<void> {
    const parentId = `parent-${writer}`;
    if (turn % 10 === 5) {
      await ask(url, 'DELETE', `/indices/${parentId}`);
      return;
    }
    await ask(url, 'POST', '/indices', createIndexBody(parentId, `v${turn}`));
    await ask(url, 'POST', '/indices', {
      ...createIndexBody(`child-${writer}`, 'child'),
      pipeline: null,
      derivation: { source_index_id: parentId },
    });
    await ask(url, 'POST', `/analytics/${parentId}/backtest`, {});
  }

  /** Submits backtests of a private index, waits for some, and cancels others. */
  async function runJobs(url: string, writer: number, isOver: () => boolean): Promise<void> {
    const indexId = `bt-${writer}`;
    const jobId = `backtest:${indexId}`;
    while (!isOver()) {
      const record = submittedJobs.get(jobId)!;
      const token = (++serial % 9_990_000) / 10_000;
      record.tried.push(token);
      const answer = await ask(url, 'POST', `/analytics/${indexId}/backtest`, { transaction_cost_bps: token });
      if (answer === undefined) return;
      if (answer.status === 202) {
        jobs++;
        record.acknowledged = { token, finishedAt: undefined, status: undefined };
        record.tried = [];
        const end =
          serial % 3 === 0
            ? await ask(url, 'DELETE', `/jobs/${jobId}`)
            : await ask(url, 'GET', `/jobs/${jobId}?wait=2`);
        if (end?.status === 200) remember(record.acknowledged, end.body);
      } else {
        record.tried.pop();
      }
      await ask(url, 'GET', `/jobs/${jobId}?wait=2`);
    }
  }

  function remember(acknowledged: AcknowledgedJob, { status, finished_at: finishedAt }: Answer['body']): void {
    if (typeof finishedAt !== 'string') return;
    acknowledged.finishedAt = finishedAt;
    acknowledged.status = String(status);
  }

  async function checkJob(url: string, jobId: string): Promise<string[]> {
    const indexId = jobId.slice('backtest:'.length);
    const { acknowledged, tried } = submittedJobs.get(jobId)!;
    if (acknowledged === undefined && tried.length === 0) return [];
    let job: Answer | undefined;
    do job = await ask(url, 'GET', `/jobs/${jobId}?wait=20`);
    while (job?.body['status'] === 'pending' || job?.body['status'] === 'running');
    if (job?.status === 404 && acknowledged === undefined) return [];
    if (job?.status !== 200) return [`${jobId} is gone: ${JSON.stringify(job)}`];
    const { status, finished_at: finishedAt, error } = job.body;
    const token = (job.body['request'] as { transaction_cost_bps: number }).transaction_cost_bps;
    const errors: string[] = [];
    if (token !== acknowledged?.token && !tried.includes(token))
      errors.push(`${jobId} is submission ${token}; ${acknowledged?.token} was acknowledged`);
    if (
      token === acknowledged?.token &&
      acknowledged.finishedAt !== undefined &&
      (finishedAt !== acknowledged.finishedAt || status !== acknowledged.status)
    ) {
      errors.push(
        `${jobId} was ${acknowledged.status} at ${acknowledged.finishedAt} and is ${String(status)} at ${String(finishedAt)}`,
      );
    }
    if (status === 'failed' && (error as { code: string }).code !== 'WORKER_CRASHED')
      errors.push(`${jobId} failed: ${JSON.stringify(error)}`);
    if (status === 'succeeded') {
      const run = await ask(url, 'GET', '/analytics/backtests');
      const runs = run?.body['records'] ?? run?.body['backtests'] ?? Object.values(run?.body ?? {}).find(Array.isArray);
      if (!JSON.stringify(runs).includes(`"${indexId}"`)) errors.push(`${jobId} succeeded without a stored run`);
    }
    return errors;
  }

  /**
   * Checks that the last version of a document is its current content. If the document is deleted, the last version
   * must be the deletion.
   */
  async function checkVersions(url: string, key: string, value: string | null): Promise<string[]> {
    const listedAnswer = await ask(url, 'GET', `${key}/versions?limit=1`);
    const newest = (listedAnswer?.body['versions'] as readonly { version: number; action: string }[] | undefined)?.[0];
    if (newest === undefined || newest.action === 'deleted')
      return value === null ? [] : [`${key} holds ${value}, its last version is ${newest?.action ?? 'none'}`];
    const content = await ask(url, 'GET', `${key}/versions/${newest.version}`);
    return content?.body['name'] === value
      ? []
      : [`${key} holds ${value}, its last version ${JSON.stringify(content)}`];
  }

  /**
   * Checks that the stored documents are consistent: all are readable, every child has its parent, and every run has
   * its index.
   */
  async function checkWhole(url: string): Promise<string[]> {
    const errors: string[] = [];
    const indices = await ask(url, 'GET', '/indices');
    const lists = await ask(url, 'GET', '/data/watchlists');
    const runs = await ask(url, 'GET', '/analytics/backtests');
    for (const [name, listing] of Object.entries({ indices, lists, runs })) {
      if (listing?.body['skipped'] !== 0) errors.push(`${name}: ${JSON.stringify(listing).slice(0, 300)}`);
    }
    const storedIds = new Set(
      [...JSON.stringify(indices?.body).matchAll(/"(?:id|index_id)":"((?:parent|child|bt)-\d+)"/g)].map(
        (match) => match[1]!,
      ),
    );
    for (const id of storedIds) {
      if (id.startsWith('child-') && !storedIds.has(id.replace('child', 'parent'))) errors.push(`${id} has no parent`);
    }
    for (const [, id] of JSON.stringify(runs?.body).matchAll(/"index_id":"([^"]+)"/g)) {
      if (!storedIds.has(id!)) errors.push(`the run of ${id} has no index`);
    }
    return errors;
  }

  return {
    acknowledgedDocuments: () => documents.acknowledged,
    acknowledgedJobs: () => jobs,
    acknowledgedPublications: publisher.acknowledged,

    async prepare(url: string): Promise<void> {
      const market = await ask(url, 'POST', '/data/synthetic', { assets: 20, start: '2022-01-03', end: '2022-12-30' });
      const waitForJob = async (jobId: string): Promise<void> => {
        let status: unknown;
        do status = (await ask(url, 'GET', `/jobs/${jobId}?wait=20`))?.body['status'];
        while (status === 'pending' || status === 'running');
        expect(status).toBe('succeeded');
      };
      await waitForJob(String(market?.body['job_id']));
      await ask(url, 'POST', '/indices', createIndexBody(PUBLISHED, 'published'));
      await ask(url, 'POST', `/analytics/${PUBLISHED}/backtest`, {});
      await waitForJob(`backtest:${PUBLISHED}`);
      for (let writer = 0; writer < JOB_WRITERS; writer++) {
        const result = await ask(url, 'POST', '/indices', createIndexBody(`bt-${writer}`, 'under test'));
        expect(result?.status).toBe(200);
        submittedJobs.set(`backtest:bt-${writer}`, { acknowledged: undefined, tried: [] });
      }
    },

    /** Starts all clients. `end` stops the clients and waits until all requests have been answered. */
    work(url: string): { end(): Promise<void> } {
      let isOver = false;
      const workers = [
        ...Array.from({ length: DOCUMENT_WRITERS }, (_, writer) => writeDocuments(url, writer, () => isOver)),
        ...Array.from({ length: JOB_WRITERS }, (_, writer) => runJobs(url, writer, () => isOver)),
        publisher.work(url, () => isOver),
      ];
      return {
        async end() {
          isOver = true;
          await Promise.all(workers);
        },
      };
    },

    /** Returns the inconsistencies found after a restart. */
    async check(url: string): Promise<string[]> {
      const errors: string[] = [];
      for (const key of documents.keys) {
        const answer = await ask(url, 'GET', key);
        const value = answer?.status === 200 ? String(answer.body['name']) : null;
        const fault = documents.settle(key, value);
        if (fault !== undefined) errors.push(fault);
        if (answer?.status !== 200 && answer?.status !== 404) errors.push(`${key}: ${JSON.stringify(answer)}`);
        errors.push(...(await checkVersions(url, key, value)));
      }
      for (const jobId of submittedJobs.keys()) errors.push(...(await checkJob(url, jobId)));
      errors.push(...(await checkWhole(url)), ...(await publisher.check(url)));
      return errors;
    },
  };
}

/** Weekdays of the year of the market. Closes are published for them. */
const SESSIONS = Array.from({ length: 360 }, (_, i) => new Date(Date.UTC(2022, 0, 5 + i)))
  .filter((day) => day.getUTCDay() % 6 !== 0)
  .map((day) => day.toISOString().slice(0, 10));

const createBody = (value: string): object => ({ name: value, identifiers: ['ABC'] });

const createIndexBody = (id: string, name: string): object => createEqualIndex(id, { name, base_date: '2022-01-03' });
