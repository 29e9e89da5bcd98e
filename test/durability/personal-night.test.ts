import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { BatchView } from '#contract/batches.js';
import type { AccountResult } from '#domain/personal/account-result.js';
import type { CommonJson } from '#domain/personal/verify-result.js';
import type { JobStatus } from '#jobs/status.js';
import { serving, type Listening } from '../cli/process.js';
import { seeded } from '../seeded.js';
import { IS_SOAK } from '../soak.js';
import { temporaryFolder } from '../store/temporary-folder.js';

/** Number of accounts with about 3,000 lots of 500 securities, and number of kills of the service during the solve. */
const ACCOUNTS = Number(process.env['NIGHT_ACCOUNTS'] ?? 300);
const KILLS = Number(process.env['NIGHT_KILLS'] ?? 3);
const ASSETS = 500;
const FACTORS = 40;
/** Number of accounts whose certificates are checked with their lots. */
const COMPARED = Number(process.env['NIGHT_COMPARED'] ?? 40);
const DAY = '2024-06-28';
/** Processor clock ticks per second. */
const TICKS = 100;

let service: Listening;

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(`${service.url}${path}`, { method, ...init });
  const answer = (await response.json()) as T;
  expect(response.status, JSON.stringify(answer)).toBeLessThan(300);
  return answer;
}

async function finished(jobId: string): Promise<JobStatus> {
  for (;;) {
    const job = await ask<JobStatus>('GET', `/jobs/${jobId}?wait=20`);
    if (!['pending', 'running'].includes(job.status)) return job;
  }
}

/** Returns the account at a position, which can be generated again. */
function accountOf(common: CommonJson, at: number) {
  const random = seeded(at + 1);
  const lots = common.identifiers.flatMap((identifier, i) =>
    Array.from({ length: 1 + Math.floor(11 * random()) }, () => ({
      identifier,
      shares: 1 + Math.floor((400 * random()) / common.prices[i]!),
      cost: Math.round(common.prices[i]! * (60 + 70 * random())) / 100,
      acquired: `202${2 + Math.floor(3 * random())}-0${1 + Math.floor(5 * random())}-11`,
    })),
  );
  return { account_id: `A${at}`, cash: 5000, lots };
}

function linesOf(common: CommonJson): ReadableStream<Uint8Array> {
  const terms = { batch_id: 'night', parent: 'CORE', risk_model: 'factors', as_of: DAY };
  let at = -1;
  return new ReadableStream({
    pull(controller) {
      const line = at < 0 ? terms : accountOf(common, at);
      controller.enqueue(Buffer.from(`${JSON.stringify(line)}\n`));
      if (++at === ACCOUNTS) controller.close();
    },
  });
}

/** Returns the processor seconds of a process. */
function secondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

const memoryOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

test.runIf(IS_SOAK)(
  'accounts of a night survive kills: each has one result, and those that are read while the batch runs are final',
  async () => {
    const home = await temporaryFolder();
    const flags = ['--workers', '2', '--job-retries', 'losses=1000'];
    service = await serving(home, flags);
    const common = await prepare();
    const opened = secondsOf(service.child.pid!);
    const began = performance.now();
    const sent = await fetch(`${service.url}/optimise/batches`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: linesOf(common),
      duplex: 'half',
    } as RequestInit);
    expect(sent.status, await sent.text()).toBe(202);
    const uploadS = (performance.now() - began) / 1000;
    let [processorS, memoryMb] = [-opened, 0];
    const early = new Map<number, string>();
    for (let kill = 1; kill <= KILLS; kill++) {
      await progressBeyond(kill / (KILLS + 1));
      const block = await fetch(`${service.url}/optimise/batches/night/accounts?block=${kill - 1}`);
      if (block.status === 200) early.set(kill - 1, await block.text());
      processorS += secondsOf(service.child.pid!);
      memoryMb = Math.max(memoryMb, memoryOf(service.child.pid!));
      const elapsedS = (performance.now() - began) / 1000;
      console.log(`kill ${kill} after ${elapsedS.toFixed(0)} s by the clock, ${processorS.toFixed(0)} s of processor`);
      service.child.kill('SIGKILL');
      await service.ended;
      service = await serving(home, flags);
    }
    const job = await finished('batch:night');
    processorS += secondsOf(service.child.pid!);
    memoryMb = Math.max(memoryMb, memoryOf(service.child.pid!));
    const wallS = (performance.now() - began) / 1000;
    expect([job.status, job.error]).toEqual(['succeeded', null]);
    const view = job.result as unknown as BatchView;
    expect(view.accounts).toBe(ACCOUNTS);
    const { faults, compared, largest } = await checkBlocks(view, common, early);
    console.log(
      `${ACCOUNTS} accounts, ${KILLS} kills: ${wallS.toFixed(0)} s by the clock (upload ${uploadS.toFixed(0)} s), ` +
        `${((processorS * 1000) / ACCOUNTS).toFixed(1)} ms of processor an account, memory at most ${memoryMb.toFixed(0)} MiB, ` +
        `${early.size} blocks read early, by status ${JSON.stringify(view.by_status)}, largest gap ${view.largest_gap}, attempt ${job.attempt}; ` +
        `checked apart: ${ACCOUNTS} by their sums, ${compared} by their certificates, largest gap ${largest}`,
    );
    expect(faults).toEqual([]);
  },
  3_600_000,
);

afterAll(async () => {
  service?.child.kill('SIGKILL');
  await service?.ended;
});

async function prepare(): Promise<CommonJson> {
  const market = { store_id: 'market', seed: 3, assets: ASSETS, start: '2022-01-03', end: DAY };
  await ask('POST', '/data/synthetic', market);
  await finished('generate:market');
  const index = {
    name: 'Even',
    calendar: 'XNYS',
    base_date: '2022-01-03',
    pipeline: { weighting: { type: 'EqualWeight' } },
  };
  await ask('PUT', '/indices/EVEN', { ...index, id: 'EVEN' });
  await ask('POST', '/analytics/EVEN/backtest', {});
  await finished('backtest:EVEN');
  const request = { index_id: 'EVEN', estimator: 'statistical', factors: FACTORS };
  const { job_id: estimate } = await ask<{ job_id: string }>('POST', '/risk-models/factors/estimate', request);
  expect((await finished(estimate)).error).toBeNull();
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
  await finished('batch:empty');
  return ask<CommonJson>('GET', '/optimise/batches/empty/common');
}

async function progressBeyond(share: number): Promise<void> {
  for (;;) {
    const job = await ask<JobStatus>('GET', '/jobs/batch:night');
    if (job.progress >= share || !['pending', 'running'].includes(job.status)) return;
    await pause(500);
  }
}

interface Checked {
  readonly faults: string[];
  readonly results: number;
  readonly compared: number;
  readonly largest: number;
}

/**
 * Reads every block once and checks that early blocks are unchanged. A script that shares no code with the product
 * checks ids, order and sums of all results, and the certificates of some.
 */
async function checkBlocks(view: BatchView, common: CommonJson, early: ReadonlyMap<number, string>) {
  const step = Math.max(1, Math.floor(ACCOUNTS / COMPARED));
  const script = spawn('python3', ['test/durability/check-batch.py'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const answer = textOf(script.stdout);
  const changed: string[] = [];
  const put = async (line: unknown): Promise<void> => {
    if (!script.stdin.write(`${JSON.stringify(line)}\n`)) await once(script.stdin, 'drain');
  };
  await put(common);
  let position = 0;
  for (let block = 0; block < view.blocks; block++) {
    const response = await fetch(`${service.url}/optimise/batches/night/accounts?block=${block}`);
    const text = await response.text();
    if (early.has(block) && early.get(block) !== text) changed.push(`block ${block} has changed`);
    for (const result of (JSON.parse(text) as { accounts: AccountResult[] }).accounts) {
      await put({ position, result, account: position % step === 0 ? accountOf(common, position) : null });
      position++;
    }
  }
  script.stdin.end();
  const checked = JSON.parse(await answer) as Checked;
  if (checked.results !== ACCOUNTS) changed.push(`${checked.results} results`);
  return { ...checked, faults: [...changed, ...checked.faults] };
}
