import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { BatchView } from '#contract/batches.js';
import { type AccountResult, solveOutcome } from '#domain/personal/account-result.js';
import { BLOCK_ACCOUNTS } from '#domain/personal/batch.js';
import { type CommonJson, readCommon } from '#domain/personal/verification.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { startService, type ListeningProcess } from '../cli/process.js';
import { seeded } from '../seeded.js';
import { IS_SOAK } from '../soak.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';

/**
 * Number of accounts, each with about 3,000 lots of 500 securities. A second variable sets how often the service is
 * killed during the solve.
 */
const ACCOUNTS = Number(process.env['NIGHT_ACCOUNTS'] ?? 300);
const KILLS = Number(process.env['NIGHT_KILLS'] ?? 3);
const ASSETS = 500;
const FACTORS = 40;
/** Minutes after which the test cancels the remaining accounts and checks all solved accounts; 0 means no limit. */
const MINUTES = Number(process.env['NIGHT_MINUTES'] ?? 0);
/**
 * Share of these minutes in which accounts are sent. A second constant is the share after which no account is solved,
 * because the checks need the remaining time.
 */
const SENDING_PROGRESS = 0.25;
const SOLVING_PROGRESS = 0.95;
/**
 * Number of accounts that are checked in detail: their certificates are checked with their lots, and they are solved
 * again in this process.
 */
const COMPARED_COUNT = Number(process.env['NIGHT_COMPARED'] ?? 100);
const WARM_UP = 10;
/** Number of blocks that are read again at the end. */
const REREAD_COUNT = 20;
const DAY = '2024-06-28';
/** Processor clock ticks per second. */
const TICKS = 100;

let service: ListeningProcess;

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(`${service.url}${path}`, { method, ...init });
  const answer = (await response.json()) as T;
  expect(response.status, JSON.stringify(answer)).toBeLessThan(300);
  return answer;
}

async function waitForJob(jobId: string): Promise<JobStatus> {
  for (;;) {
    const job = await ask<JobStatus>('GET', `/jobs/${jobId}?wait=20`);
    if (!['pending', 'running'].includes(job.status)) return job;
  }
}

/** Returns the account at a position, generated reproducibly. */
function createAccount(common: CommonJson, position: number) {
  const random = seeded(position + 1);
  const lots = common.identifiers.flatMap((identifier, i) =>
    Array.from({ length: 1 + Math.floor(11 * random()) }, () => ({
      identifier,
      shares: 1 + Math.floor((400 * random()) / common.prices[i]!),
      cost: Math.round(common.prices[i]! * (60 + 70 * random())) / 100,
      acquired: `202${2 + Math.floor(3 * random())}-0${1 + Math.floor(5 * random())}-11`,
    })),
  );
  return { account_id: `A${position}`, cash: 5000, lots };
}

/**
 * Yields the lines of the batch. The terms come first, then accounts until the time is over. @param count called with
 * the number of accounts
 */
function streamLines(common: CommonJson, endMs: number, count: (accounts: number) => void): ReadableStream<Uint8Array> {
  const terms = { batch_id: 'night', parent: 'CORE', risk_model: 'factors', as_of: DAY };
  let position = -1;
  return new ReadableStream({
    pull(controller) {
      const line = position < 0 ? terms : createAccount(common, position);
      controller.enqueue(Buffer.from(`${JSON.stringify(line)}\n`));
      if (++position < ACCOUNTS && (position === 0 || performance.now() < endMs)) return;
      count(position);
      controller.close();
    },
  });
}

/** Returns the processor seconds of a process. */
function readSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

const readMemory = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

const measureSecondsSince = (startMs: number): number => (performance.now() - startMs) / 1000;

test.runIf(IS_SOAK)(
  'a nightly batch of accounts survives kills: each account has one result, and results read during the batch are final',
  async () => {
    const startMs = performance.now();
    const home = await createTemporaryFolder();
    const start = () => startService(home, ['--workers', '2', '--job-retries', 'losses=1000']);
    service = await start();
    const commonTerms = await prepare();
    const before = readSeconds(service.child.pid!);
    const { sent, uploadS } = await uploadAccounts(commonTerms);
    const uploadProcessorS = readSeconds(service.child.pid!) - before;
    const checker = createChecker(commonTerms, sent);
    const ran = await solve(checker, start, startMs);
    while (await checker.readNext());
    const faults = await checker.readAgain();
    const cancelMs = await awaitEnd(ran.job, sent);
    const checkOutcome = await checker.end();
    const { again, differing } = solveAgain(commonTerms, checker.kept);
    const doneCount = checkOutcome.results;
    const uploadMs = (1000 * uploadProcessorS) / sent;
    const ownMs = uploadMs + (1000 * (ran.processorS - before - uploadProcessorS)) / doneCount;
    const clockS = uploadS / sent + ran.clockS / doneCount;
    console.log(
      `${doneCount} of ${sent} accounts solved and checked, ${ran.kills} kills, attempt ${ran.job.attempt}\n` +
        `by the clock: upload ${uploadS.toFixed(0)} s, solving ${ran.clockS.toFixed(0)} s, all ${measureSecondsSince(startMs).toFixed(0)} s\n` +
        `processor of the service: ${ownMs.toFixed(1)} ms an account, ${uploadMs.toFixed(1)} ms of it for the upload\n` +
        `one account in this process, of ${again.length}: median ${formatPercentile(again, 0.5)} ms, p99 ${formatPercentile(again, 0.99)} ms of processor; ` +
        `${differing.length} have other bits than in the batch\n` +
        `memory at most ${ran.memoryMb.toFixed(0)} MiB\n` +
        `100,000 accounts: ${((ownMs * 100_000) / 3_600_000).toFixed(2)} hours of processor, ` +
        `${((clockS * 100_000) / 3600).toFixed(2)} hours by the clock at this load\n` +
        `checked apart: ${doneCount} by their sums, ${checkOutcome.compared} by their certificates, largest gap ${checkOutcome.largest}\n` +
        (cancelMs === undefined ? 'the batch has ended' : `the rest was cancelled in ${cancelMs.toFixed(0)} ms`),
    );
    expect([...faults, ...differing, ...checkOutcome.faults]).toEqual([]);
    expect(doneCount).toBeGreaterThan(0);
    if (cancelMs === undefined) expect(doneCount).toBe(sent);
  },
  0, // the limit is NIGHT_MINUTES
);

const formatPercentile = (sorted: readonly number[], share: number): string =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]?.toFixed(1) ?? '-';

/** Sends the accounts. @returns the number of accounts, and the seconds that this took */
async function uploadAccounts(common: CommonJson): Promise<{ sent: number; uploadS: number }> {
  const start = performance.now();
  const endMs = MINUTES === 0 ? Infinity : start + MINUTES * 60_000 * SENDING_PROGRESS;
  let sentCount = 0;
  const answer = await fetch(`${service.url}/optimise/batches`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: streamLines(common, endMs, (accounts) => void (sentCount = accounts)),
    duplex: 'half',
  } as RequestInit);
  expect(answer.status, await answer.text()).toBe(202);
  const uploadS = measureSecondsSince(start);
  console.log(`${sentCount} accounts sent in ${uploadS.toFixed(0)} s`);
  return { sent: sentCount, uploadS };
}

/**
 * Kills the service at equal shares of the work or of the time. In between it reads results, until the job has ended or
 * the time is over.
 */
async function solve(
  checker: ReturnType<typeof createChecker>,
  restart: () => Promise<ListeningProcess>,
  startMs: number,
) {
  const start = performance.now();
  const limitS = MINUTES === 0 ? Infinity : Math.max(1, MINUTES * 60 * SOLVING_PROGRESS - measureSecondsSince(startMs));
  let [processorS, memoryMb, kills] = [0, 0, 0];
  const sampleUsage = (): void => {
    processorS += readSeconds(service.child.pid!);
    memoryMb = Math.max(memoryMb, readMemory(service.child.pid!));
  };
  for (;;) {
    const job = await ask<JobStatus>('GET', '/jobs/batch:night');
    if (!['pending', 'running'].includes(job.status) || measureSecondsSince(start) > limitS) {
      sampleUsage();
      return { job, processorS, memoryMb, kills, clockS: measureSecondsSince(start) };
    }
    if (kills < KILLS && Math.max(job.progress, measureSecondsSince(start) / limitS) >= (kills + 1) / (KILLS + 1)) {
      sampleUsage();
      kills++;
      console.log(
        `kill ${kills} after ${measureSecondsSince(startMs).toFixed(0)} s by the clock, ${processorS.toFixed(0)} s of processor, ` +
          `${checker.results()} accounts checked`,
      );
      service.child.kill('SIGKILL');
      await service.ended;
      service = await restart();
    }
    if (!(await checker.readNext())) await pause(500);
  }
}

afterAll(async () => {
  service?.child.kill('SIGKILL');
  await service?.ended;
});

/** Asserts that a batch has succeeded, or cancels it. @returns milliseconds until the cancellation took effect */
async function awaitEnd(job: JobStatus, sent: number): Promise<number | undefined> {
  if (['pending', 'running'].includes(job.status)) {
    const start = performance.now();
    expect((await ask<JobStatus>('DELETE', '/jobs/batch:night')).status).toBe('cancelled');
    return performance.now() - start;
  }
  expect([job.status, job.error]).toEqual(['succeeded', null]);
  expect((job.result as unknown as BatchView).accounts).toBe(sent);
  return undefined;
}

async function prepare(): Promise<CommonJson> {
  const market = { store_id: 'market', seed: 3, assets: ASSETS, start: '2022-01-03', end: DAY };
  await ask('POST', '/data/synthetic', market);
  await waitForJob('generate:market');
  const index = {
    name: 'Even',
    calendar: 'XNYS',
    base_date: '2022-01-03',
    pipeline: { weighting: { type: 'EqualWeight' } },
  };
  await ask('PUT', '/indices/EVEN', { ...index, id: 'EVEN' });
  await ask('POST', '/analytics/EVEN/backtest', {});
  await waitForJob('backtest:EVEN');
  const request = { index_id: 'EVEN', estimator: 'statistical', factors: FACTORS };
  const { job_id: estimate } = await ask<{ job_id: string }>('POST', '/risk-models/factors/estimate', request);
  expect((await waitForJob(estimate)).error).toBeNull();
  const model = await ask<{ covariance: { index: string[] } }>('GET', '/risk-models/factors');
  const universe = { kind: 'list', identifiers: model.covariance.index };
  await ask('PUT', '/indices/CORE', { ...index, id: 'CORE', universe });
  await ask('POST', '/optimise/batches', {
    batch_id: 'empty',
    parent: 'CORE',
    risk_model: 'factors',
    as_of: DAY,
    accounts: [{ account_id: 'cash', cash: 1000 }],
  });
  await waitForJob('batch:empty');
  return ask<CommonJson>('GET', '/optimise/batches/empty/common');
}

interface BatchCheck {
  readonly faults: string[];
  readonly results: number;
  readonly compared: number;
  readonly largest: number;
}

/**
 * Creates a checker that reads each block once, as soon as it is solved. An independent script checks the ids, the
 * order and the sums of all results. It also checks the certificates of some results.
 */
function createChecker(common: CommonJson, sent: number) {
  const step = Math.max(1, Math.floor(sent / COMPARED_COUNT));
  const script = spawn('python3', ['test/durability/check-batch.py'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const answer = textOf(script.stdout);
  const hashes: string[] = [];
  const keptResults = new Map<number, AccountResult>();
  const blocks = Math.ceil(sent / BLOCK_ACCOUNTS);
  let position = 0;
  const put = async (line: unknown): Promise<void> => {
    if (!script.stdin.write(`${JSON.stringify(line)}\n`)) await once(script.stdin, 'drain');
  };
  const computeHash = (accounts: readonly AccountResult[]): string =>
    createHash('sha256').update(JSON.stringify(accounts)).digest('hex');

  /** Returns the accounts of a block, or undefined if the block is not solved yet. */
  async function readBlock(block: number): Promise<readonly AccountResult[] | undefined> {
    const response = await fetch(`${service.url}/optimise/batches/night/accounts?block=${block}`);
    const body = (await response.json()) as { readonly accounts?: readonly AccountResult[] };
    if (response.status !== 409) expect(response.status, JSON.stringify(body).slice(0, 500)).toBe(200);
    return body.accounts;
  }

  return {
    kept: keptResults,
    results: () => position,
    /** @returns false if the next block is not solved yet or does not exist */
    async readNext(): Promise<boolean> {
      if (hashes.length === blocks) return false;
      const accounts = await readBlock(hashes.length);
      if (accounts === undefined) return false;
      if (position === 0) await put(common);
      hashes.push(computeHash(accounts));
      for (const result of accounts) {
        const isCompared = position % step === 0;
        if (isCompared) keptResults.set(position, result);
        await put({ position, result, account: isCompared ? createAccount(common, position) : null });
        position++;
      }
      return true;
    },
    /** Reads some blocks again. @returns the blocks that have changed */
    async readAgain(): Promise<string[]> {
      const changedAccounts: string[] = [];
      for (let block = 0; block < hashes.length; block += Math.ceil(hashes.length / REREAD_COUNT)) {
        const accounts = await readBlock(block);
        if (accounts === undefined || computeHash(accounts) !== hashes[block])
          changedAccounts.push(`block ${block} has changed`);
      }
      return changedAccounts;
    },
    async end(): Promise<BatchCheck> {
      if (position === 0) await put(common);
      script.stdin.end();
      return JSON.parse(await answer) as BatchCheck;
    },
  };
}

/**
 * Solves accounts again in this process. @returns processor milliseconds in the order of the accounts, and the accounts
 * whose results are not bit-identical to the first results
 */
function solveAgain(json: CommonJson, keptResults: ReadonlyMap<number, AccountResult>) {
  const commonTerms = readCommon(json);
  const accounts = [...keptResults].map(([position, result]) => ({ account: createAccount(json, position), result }));
  for (const { account } of accounts.slice(0, WARM_UP)) solveOutcome(commonTerms, account, '');
  const differences: string[] = [];
  const secondResults = accounts.map(({ account, result }) => {
    const begin = process.cpuUsage();
    const solvedAgain = solveOutcome(commonTerms, account, '');
    const { user, system } = process.cpuUsage(begin);
    if (JSON.stringify(solvedAgain) !== JSON.stringify(result)) differences.push(`${result.account_id} has other bits`);
    return (user + system) / 1000;
  });
  return { again: secondResults.toSorted((a, b) => a - b), differing: differences };
}
