import { createHash } from 'node:crypto';
import { canonicalJson } from '#domain/canonical-json.js';
import { Refusal } from '#domain/refusal.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Clock } from './clock.js';
import type { ComputePool } from './compute-pool.js';
import { createDispatcher } from './dispatcher.js';
import { createJobBook, type LiveJob } from './job-book.js';
import type { EndedJob, EngineLimits, JobEngine, JobLog } from './job-engine.js';
import type { JobKind, Submission } from './job-kind.js';
import { newLife } from './life-cycle.js';
import { runQuery } from './query.js';
import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { JobState, JobStatus } from './status.js';

export interface JobEngineDependencies {
  readonly store: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly pool: ComputePool;
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly log: JobLog;
  /** Told of every job that has ended. */
  readonly onEnded?: (job: EndedJob) => void;
}

/** Longest the engine waits for running jobs to be given back when it stops. */
const STOP_MS = 5000;

/** The durable life of jobs: a book that says what is, a dispatcher that makes it happen, and the doors to both. */
export function createJobEngine({
  store,
  artifacts,
  pool,
  clock,
  limits,
  log,
  onEnded,
}: JobEngineDependencies): JobEngine {
  const kinds = new Map<JobKindName, JobKind<unknown>>();
  /** Submissions on their way to disk. */
  const coming = new Map<
    string,
    { readonly inputHash: string; readonly owner: string; readonly durable: Promise<JobStatus> }
  >();
  const book = createJobBook({
    store,
    clock,
    attemptsMax: limits.attemptsMax,
    endedMax: limits.endedMax,
    log,
    onChange: follow,
  });
  const dispatcher = createDispatcher({ book, kinds, artifacts, pool, clock, limits, log });
  let isDraining = false;

  const timestamp = (): string => formatTimestamp(clock.now());

  function follow(job: LiveJob, before: JobState): void {
    const ended = endedJob(job);
    if (ended !== undefined) onEnded?.(ended);
    dispatcher.follow(job, before);
  }

  async function submit<P>(submission: Submission<P>): Promise<JobStatus> {
    const { kind, ident, payload } = submission;
    if (!kinds.has(kind.kind)) throw new Error(`the kind ${kind.kind} is not registered`);
    const jobId = `${kind.kind}:${ident}`;
    const inputHash = createHash('sha256')
      .update(canonicalJson({ kind: kind.kind, ident, payload }))
      .digest('hex');
    const before = coming.get(jobId);
    const liveHash = before?.inputHash ?? book.live(jobId)?.identity.input_hash;
    if (liveHash !== undefined) {
      if (liveHash !== inputHash)
        throw new Refusal('JOB_RUNNING', `The job ${jobId} runs with a different request.`, { job_id: jobId });
      return before === undefined ? await requireStatus(jobId) : before.durable;
    }
    const owner = submission.origin?.owner ?? '';
    admit(submission.estimatedBytes, owner);
    const durable = write(submission, jobId, inputHash);
    coming.set(jobId, { inputHash, owner, durable });
    try {
      return await durable;
    } finally {
      coming.delete(jobId);
    }
  }

  function admit(estimatedBytes: number, owner: string): void {
    if (isDraining) throw new Refusal('DRAINING', 'The service is stopping.');
    if (estimatedBytes > limits.memoryBytes) {
      const message = `The job is expected to need ${estimatedBytes} bytes of memory; all jobs together may need ${limits.memoryBytes}.`;
      throw new Refusal('VALIDATION_FAILED', message, {
        findings: [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: '' }],
        estimated_bytes: estimatedBytes,
        budget_bytes: limits.memoryBytes,
      });
    }
    const queued = dispatcher.waiting + coming.size;
    if (queued >= limits.queueMax) {
      throw new Refusal('OVERLOADED', `${queued} jobs wait already; ${limits.queueMax} may.`, {
        queued,
        limit: limits.queueMax,
      });
    }
    if (owner !== '') admitOwner(owner);
  }

  function admitOwner(owner: string): void {
    const { queueMax } = limits.perOwner;
    let queued = dispatcher.waitingOf(owner);
    for (const submission of coming.values()) if (submission.owner === owner) queued++;
    if (queued >= queueMax) {
      throw new Refusal('RATE_LIMITED', `${queued} jobs of this key wait already; ${queueMax} of one key may.`, {
        queued,
        limit: queueMax,
      });
    }
  }

  async function write<P>(submission: Submission<P>, jobId: string, inputHash: string): Promise<JobStatus> {
    const { kind, payload, request, estimatedBytes, message, origin } = submission;
    const identity = {
      job_id: jobId,
      kind: kind.kind,
      input_hash: inputHash,
      estimated_bytes: estimatedBytes,
      owner: origin?.owner ?? '',
      request_id: origin?.requestId ?? null,
      trace_id: origin?.traceId ?? null,
    };
    const job = await book.add({ identity, life: newLife(message), request, payload });
    const status = await requireStatus(jobId);
    dispatcher.enqueue(job);
    return status;
  }

  async function requireStatus(jobId: string): Promise<JobStatus> {
    const found = await book.find(jobId);
    if (found === undefined) throw new Refusal('JOB_NOT_FOUND', `No job is stored under ${jobId}.`, { job_id: jobId });
    return found.status;
  }

  async function cancel(jobId: string): Promise<JobStatus> {
    await coming.get(jobId)?.durable.catch(() => undefined); // A submission on its way to disk is cancelled once it is there.
    const job = book.live(jobId);
    if (job !== undefined) {
      const next = await book.transition(job, { type: 'cancel', at: timestamp() });
      if (typeof next !== 'string') job.attempt?.end();
    }
    return requireStatus(jobId);
  }

  async function start(): Promise<void> {
    const left = await book.load();
    const lost = left.filter(({ life }) => life.status === 'running');
    for (const job of left) if (job.life.status === 'pending') dispatcher.enqueue(job);
    const cause = 'the service ended while the job ran';
    // Each stands first in line again, so the oldest goes last.
    await Promise.all(
      lost
        .reverse()
        .map((job) => book.transition(job, { type: 'crash', attempt: job.life.attempt, cause, at: timestamp() })),
    );
    dispatcher.start();
    log.info({ ...book.counts(), recovered: lost.length }, 'jobs read');
  }

  function drain(): void {
    isDraining = true;
    dispatcher.drain();
  }

  async function stop(): Promise<void> {
    drain();
    await Promise.allSettled([...coming.values()].map(({ durable }) => durable));
    // All of them: the start of one that waits may be on its way to disk.
    const released = Promise.allSettled(
      book.liveJobs().map(async (job) => {
        await book.transition(job, { type: 'release', attempt: job.life.attempt });
        job.attempt?.end();
      }),
    );
    await Promise.race([released, new Promise<void>((resolve) => void clock.after(STOP_MS, resolve))]);
    await pool.close();
  }

  return {
    register(handlers) {
      // A handler is given payloads of its own kind only.
      for (const kind of Object.values(handlers as Record<string, JobKind<unknown>>)) kinds.set(kind.kind, kind);
    },
    start,
    submit,
    find: book.find,
    get: async (jobId) => (await book.find(jobId))?.status,
    list: book.list,
    cancel,
    ids: book.ids,
    isLive: (jobId) => book.live(jobId) !== undefined || coming.has(jobId),
    query: (task, input, signal) => runQuery({ task, input, signal }, { pool, clock, msMax: limits.queryMsMax }),
    help(task, input) {
      if (pool.load('heavy') < limits.runningMax.heavy) pool.run({ lane: 'heavy', task, input }).output.catch(() => {}); // Whoever asked finds it undone.
    },
    watch: book.watch,
    watchAll: book.watchAll,
    liveIds: () => book.liveJobs().map(({ identity }) => identity.job_id),
    counts: book.counts,
    drain,
    stop,
  };
}

/** How a job ended, by the times that are stored of it; undefined while it lives. */
function endedJob({
  identity: { job_id: jobId, kind, created_at },
  life: { status, started_at, finished_at },
}: LiveJob): EndedJob | undefined {
  if (status === 'pending' || status === 'running' || finished_at === null) return undefined;
  const seconds = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000;
  return {
    jobId,
    kind,
    outcome: status,
    seconds: started_at === null ? null : seconds(started_at, finished_at),
    waitSeconds: started_at === null ? null : seconds(created_at, started_at),
  };
}
