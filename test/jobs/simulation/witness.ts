import { isTerminal, type JobStatus } from '#jobs/port/life-cycle.js';
import type { RetryPolicies } from '#domain/outputs/jobs.js';
import type { ArtifactRef } from '#store/port.js';
import { createStatusChecks, type AttemptSeen } from './status-checks.js';
import { formatIncarnation, formatJobId, readToken, type Payload, type World } from './world.js';

/** Records what clients observe, and checks the invariants that follow from it. */
export interface Witness {
  /** Records which process stored an attempt as running. */
  noteStart(jobId: string, owner: number): void;
  /** Records that an attempt ended with its worker or its process. The token identifies the attempt. */
  noteCrash(token: string): void;
  /** Records the start of a new process. Attempts that were running count as lost. */
  noteRestart(): void;
  /** Records the response to a submission or cancellation. */
  noteSubmitted(status: JobStatus): void;
  noteCancelled(status: JobStatus): void;
  /**
   * Checks three invariants when work starts: the attempt is on disk, the job has not crashed too often, and no other
   * attempt of the job runs.
   * @returns a function that records the end of the work
   */
  checkStart(payload: Payload, signal: AbortSignal): () => void;
  /** Checks the invariants of the stored data after a change. */
  checkDisk(): void;
  /** Checks the invariants of a status that a client receives. */
  checkStatus(status: JobStatus): void;
  /** Latest status received for every submission. */
  readonly seen: ReadonlyMap<string, JobStatus>;
}

export interface WitnessLimits {
  readonly getRetryPolicy: RetryPolicies;
  readonly runningMax: number;
  readonly memoryBytes: number;
  readonly leaseMs: number;
}

export function createWitness(world: World, jobIds: readonly string[], limits: WitnessLimits): Witness {
  const { disk, say } = world;
  const acknowledgedTokens = new Map<string, string>(); // token of the latest acknowledged submission, by job id
  const reportedCancelled = new Set<string>(); // incarnations of jobs reported as cancelled
  const startedBy = new Map<string, number>(); // process that wrote the start, by incarnation and attempt
  const crashedAttempts = new Set<string>(); // incarnations and attempts that crashed
  const lostAttempts = new Set<string>(); // incarnations and attempts that were lost
  const attempts = new Set<AttemptSeen & { readonly bytes: number }>();
  const countedAttempts = new Set<string>();
  /** Number of successes by token. If a token is submitted again after its end, it may succeed again. */
  const successes = new Map<string, number>();
  const statuses = createStatusChecks(world, { leaseMs: limits.leaseMs, startedBy, attempts });

  function noteCrash(token: string): void {
    const record = world.recordOnDisk(formatJobId(token));
    crashedAttempts.add(record === undefined ? '' : `${formatIncarnation(record)}#${record.attempt}`);
  }

  function checkStart({ token }: Payload, signal: AbortSignal): () => void {
    const jobId = formatJobId(token);
    const record = world.recordOnDisk(jobId);
    if (record?.status !== 'running' || readToken(record) !== token)
      say(`${jobId} started without being running on disk`);
    const countIn = (ended: ReadonlySet<string>): number =>
      [...ended].filter((attempt) => attempt.startsWith(`${formatIncarnation(record!)}#`)).length;
    const retry = limits.getRetryPolicy('backtest');
    if (countIn(crashedAttempts) >= retry.crashes)
      say(`${jobId} started again after ${countIn(crashedAttempts)} crashes`);
    if (countIn(lostAttempts) >= retry.losses)
      say(`${jobId} started again after ${countIn(lostAttempts)} lost attempts`);
    const ownOrder = { token, bytes: record!.estimated_bytes, signal };
    attempts.add(ownOrder);
    const runningAttempts = [...attempts].filter((attempt) => !attempt.signal.aborted);
    if (runningAttempts.filter((attempt) => attempt.token === token).length > 1) say(`${jobId} runs twice`);
    if (runningAttempts.length > limits.runningMax) say(`${runningAttempts.length} attempts run at once`);
    const neededBytes = runningAttempts.reduce((sum, { bytes }) => sum + bytes, 0);
    if (neededBytes > limits.memoryBytes)
      say(`running jobs need ${neededBytes} bytes; ${limits.memoryBytes} are there`);
    return () => attempts.delete(ownOrder);
  }

  function checkDisk(): void {
    world.isDiskChanged = false;
    for (const jobId of jobIds) checkJob(jobId);
    for (const [key, text] of disk) if (key.startsWith('run/')) checkEffect(key.slice(4), text);
  }

  function checkEffect(token: string, text: string): void {
    const { count, refs } = JSON.parse(text) as { count: number; refs: ArtifactRef[] };
    const successCount = successes.get(token) ?? 0;
    if (count > successCount) say(`the effect of ${token} happened ${count} times in ${successCount} successes`);
    if (!disk.has(`render/${token}`) || !disk.has(`watchlist/${token}`)) say(`the effect of ${token} is half on disk`);
    for (const { name } of refs) {
      if (!world.files.has(name)) say(`the artifact ${name} of ${token} is gone`);
      if (world.unsettled.has(name)) say(`the run of ${token} refers to ${name}, whose name is not on disk`);
    }
  }

  function checkJob(jobId: string): void {
    const record = world.recordOnDisk(jobId);
    if (acknowledgedTokens.has(jobId) && record === undefined) say(`${jobId} was acknowledged and is gone`);
    if (record === undefined) return;
    const incarnation = formatIncarnation(record);
    for (let attempt = 1; attempt < record.attempt; attempt++) {
      if (!startedBy.has(`${incarnation}#${attempt}`))
        say(`${jobId} is at attempt ${record.attempt} though attempt ${attempt} never started`);
    }
    if (record.status === 'succeeded' && !countedAttempts.has(incarnation)) {
      countedAttempts.add(incarnation);
      successes.set(readToken(record), (successes.get(readToken(record)) ?? 0) + 1);
      if (!disk.has(`run/${readToken(record)}`)) say(`${jobId} succeeded without its effect`);
    }
    if (reportedCancelled.has(incarnation) && record.status !== 'cancelled')
      say(`${jobId} was cancelled and is ${record.status}`);
    if ((record.error !== null) !== (record.status === 'failed'))
      say(`${jobId} is ${record.status} with error ${record.error?.code}`);
    if ((record.result !== null) !== (record.status === 'succeeded')) say(`${jobId} is ${record.status} with a result`);
  }

  return {
    noteStart(jobId, owner) {
      const record = world.recordOnDisk(jobId);
      if (record?.status === 'running') startedBy.set(`${formatIncarnation(record)}#${record.attempt}`, owner);
    },
    noteCrash,
    noteRestart() {
      for (const jobId of jobIds) {
        const record = world.recordOnDisk(jobId);
        if (record?.status === 'running') lostAttempts.add(`${formatIncarnation(record)}#${record.attempt}`);
      }
      attempts.clear();
    },
    noteSubmitted: (status) => void acknowledgedTokens.set(status.job_id, readToken(status)),
    noteCancelled(status) {
      if (!isTerminal(status.status)) say(`${status.job_id} is ${status.status} in the answer to its cancellation`);
      if (status.status === 'cancelled') reportedCancelled.add(formatIncarnation(status));
    },
    checkStart,
    checkDisk,
    checkStatus: statuses.check,
    seen: statuses.seen,
  };
}
