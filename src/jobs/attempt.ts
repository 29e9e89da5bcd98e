import { JOB_KIND_CATALOGUE } from '#domain/jobs/job-kinds.js';
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { ArtifactStore } from '#store/port.js';
import type { Clock } from './clock.js';
import type { ComputePool, TaskProgress, TaskRun } from './compute-pool.js';
import type { Attempt, Completion, JobKind } from './job-kind.js';
import type { OfferedParts } from './offered-parts.js';
import { runParts } from './parts.js';
import type { RetainedParts } from './retained-parts.js';
import type { Lease } from './queue.js';

/** One run of a job's work. */
export interface RunningAttempt {
  readonly completion: Promise<Completion>;
  /**
   * Names of the artifacts that the attempt has written or may have written. Artifacts that are kept for the next
   * attempt are not included.
   */
  readonly written: readonly string[];
  /**
   * Names of artifacts with the outputs of the job's parts. They are no longer needed after the attempt has completed.
   */
  readonly spent: readonly string[];
  progress(): TaskProgress;
  /** Returns true if each task of the attempt waits or has a live thread. */
  isAlive(): boolean;
  /** Asks all tasks of the attempt to stop, and ignores later results. */
  end(): void;
  readonly isEnded: boolean;
  /** Registers a callback for the end of the attempt. */
  onEnd(call: () => void): void;
}

export interface AttemptOrder {
  readonly kind: JobKind<unknown>;
  readonly lease: Lease;
  readonly payload: unknown;
  /** Parts to compute, if another node runs the job. Default: the whole job. */
  readonly parts?: readonly number[] | undefined;
  /** Storage that keeps the outputs of the job's parts for later attempts. Default: none. */
  readonly kept?: RetainedParts | undefined;
  /** Called when the work reports that its computation is complete. */
  readonly onComputed: () => void;
}

export interface AttemptDependencies {
  readonly pool: ComputePool;
  readonly artifacts: ArtifactStore;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  /** Offers parts to other nodes. */
  readonly offered: OfferedParts | undefined;
}

/** Starts the work of a kind with all resources of an attempt, and records the artifacts that it writes. */
export function startAttempt(
  { kind, lease, payload, parts, kept, onComputed }: AttemptOrder,
  { pool, artifacts, clock, offered }: AttemptDependencies,
): RunningAttempt {
  const endController = new AbortController();
  const { signal } = endController;
  setMaxListeners(0, signal); // a sweep has one listener per task
  const tasks: { readonly run: TaskRun<unknown>; readonly share: number }[] = [];
  const writtenNames = new Set<string>();
  const spentNames = new Set<string>();
  let reportedFraction = 0;
  let otherProgress = 0;
  let lastMessage: string | undefined;

  const attempt: Attempt = {
    jobId: lease.jobId,
    signal,
    compute(task, input, share = 1) {
      const run = pool.run({ lane: JOB_KIND_CATALOGUE[kind.kind].lane, task, input, signal });
      tasks.push({ run, share });
      return addHandledRejection(run.output);
    },
    inParts: (order) =>
      runParts(order, {
        offered: kind.runParts && offered,
        lease,
        artifacts,
        clock,
        signal,
        kept,
        onElsewhere: (share) => void (otherProgress = share),
        onTaken: (names) => names.forEach((name) => writtenNames.add(name)),
        onKept: (names) => names.forEach((name) => writtenNames.delete(name)),
      }).then((outputs) => {
        for (const { artifact } of outputs) spentNames.add(artifact.name);
        return outputs;
      }),
    report(fraction, message) {
      reportedFraction = Math.max(reportedFraction, fraction);
      lastMessage = message ?? lastMessage;
    },
    computed: onComputed,
    outputs(files) {
      const names = files.map((file) => [file, artifacts.newName()] as const);
      for (const [, name] of names) writtenNames.add(name);
      return Object.fromEntries(names) as never; // one name per file
    },
    async write(bytes) {
      const ref = await artifacts.write(bytes, createHash('sha256').update(bytes).digest('hex'));
      writtenNames.add(ref.name);
      return ref;
    },
    drop: (names) => addHandledRejection(artifacts.remove(names)),
    share: (files) =>
      addHandledRejection(
        artifacts.link(files).then((refs) => {
          for (const { name } of refs) writtenNames.add(name);
          return refs;
        }),
      ),
  };
  const completion = (async () =>
    parts === undefined ? kind.run(payload, attempt) : kind.runParts!(payload, parts, attempt))(); // a job offers parts only if its kind has `runParts`

  return {
    completion,
    get written() {
      return [...writtenNames];
    },
    get spent() {
      return [...spentNames].filter((name) => writtenNames.has(name)); // the store removes other outputs together with the input of the job
    },
    progress() {
      let fraction = reportedFraction + otherProgress;
      let message = lastMessage;
      for (const { run, share } of tasks) {
        const task = run.progress();
        fraction += share * task.fraction;
        message = task.message ?? message;
      }
      return { fraction, message };
    },
    isAlive: () => tasks.every(({ run }) => run.isAlive()),
    end: () => endController.abort(),
    get isEnded() {
      return signal.aborted;
    },
    onEnd: (call) => signal.addEventListener('abort', call, { once: true }),
  };
}

/**
 * Marks a rejection as handled. Work stops at the first of several failures, and the other failures must not end the
 * process.
 */
function addHandledRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
