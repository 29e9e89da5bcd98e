import { JOB_KIND_CATALOGUE } from '#domain/jobs/job-kinds.js';
import { setMaxListeners } from 'node:events';
import type { ArtifactStore } from '#store/port.js';
import type { Clock } from './clock.js';
import type { ComputePool, TaskProgress, TaskRun } from './compute-pool.js';
import type { Attempt, Completion, JobKind } from './job-kind.js';
import type { OfferedParts } from './offered-parts.js';
import { runParts } from './parts.js';
import type { KeptParts } from './kept-parts.js';
import type { Lease } from './queue.js';

/** One run of a job's work. */
export interface RunningAttempt {
  readonly completion: Promise<Completion>;
  /** Names of the artifacts that it has written, or may have, but for those that are kept for the next attempt. */
  readonly written: readonly string[];
  /** Outputs of its parts, which nobody needs once it has completed. */
  readonly spent: readonly string[];
  progress(): TaskProgress;
  /** Whether every task of it waits or has a live thread. */
  isAlive(): boolean;
  /** Asks all of it to stop; nothing it says afterwards counts. */
  end(): void;
  readonly isEnded: boolean;
  /** Calls once when the attempt is ended. */
  onEnd(call: () => void): void;
}

export interface AttemptOrder {
  readonly kind: JobKind<unknown>;
  readonly lease: Lease;
  readonly payload: unknown;
  /** Parts to compute of a job that runs elsewhere; the whole job without. */
  readonly parts?: readonly number[] | undefined;
  /** Where outputs of its parts are kept over attempts; nowhere by default. */
  readonly kept?: KeptParts | undefined;
  /** Called when its work says that it computes no more. */
  readonly onComputed: () => void;
}

export interface AttemptDependencies {
  readonly pool: ComputePool;
  readonly artifacts: ArtifactStore;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  /** Where parts are offered to other nodes. */
  readonly offered: OfferedParts | undefined;
}

/** Starts the work of a kind with everything an attempt may use, and keeps account of it. */
export function startAttempt(
  { kind, lease, payload, parts, kept, onComputed }: AttemptOrder,
  { pool, artifacts, clock, offered }: AttemptDependencies,
): RunningAttempt {
  const ending = new AbortController();
  const { signal } = ending;
  setMaxListeners(0, signal); // A sweep has one listener for each of its tasks.
  const tasks: { readonly run: TaskRun<unknown>; readonly share: number }[] = [];
  const written = new Set<string>();
  const spent = new Set<string>();
  let reported = 0;
  let elsewhere = 0;
  let said: string | undefined;

  const attempt: Attempt = {
    jobId: lease.jobId,
    signal,
    compute(task, input, share = 1) {
      const run = pool.run({ lane: JOB_KIND_CATALOGUE[kind.kind].lane, task, input, signal });
      tasks.push({ run, share });
      return observed(run.output);
    },
    inParts: (order) =>
      runParts(order, {
        offered: kind.runParts && offered,
        lease,
        artifacts,
        clock,
        signal,
        kept,
        onElsewhere: (share) => void (elsewhere = share),
        onTaken: (names) => names.forEach((name) => written.add(name)),
        onKept: (names) => names.forEach((name) => written.delete(name)),
      }).then((outputs) => {
        for (const { artifact } of outputs) spent.add(artifact.name);
        return outputs;
      }),
    report(fraction, message) {
      reported = Math.max(reported, fraction);
      said = message ?? said;
    },
    computed: onComputed,
    outputs(files) {
      const names = files.map((file) => [file, artifacts.newName()] as const);
      for (const [, name] of names) written.add(name);
      return Object.fromEntries(names) as never; // One for each of the files.
    },
    drop: (names) => observed(artifacts.remove(names)),
    share: (files) =>
      observed(
        artifacts.link(files).then((refs) => {
          for (const { name } of refs) written.add(name);
          return refs;
        }),
      ),
  };
  const completion = (async () =>
    parts === undefined ? kind.run(payload, attempt) : kind.runParts!(payload, parts, attempt))(); // Offered by this kind.

  return {
    completion,
    get written() {
      return [...written];
    },
    get spent() {
      return [...spent].filter((name) => written.has(name)); // The store removes the others with the input of the job.
    },
    progress() {
      let fraction = reported + elsewhere;
      let message = said;
      for (const { run, share } of tasks) {
        const task = run.progress();
        fraction += share * task.fraction;
        message = task.message ?? message;
      }
      return { fraction, message };
    },
    isAlive: () => tasks.every(({ run }) => run.isAlive()),
    end: () => ending.abort(),
    get isEnded() {
      return signal.aborted;
    },
    onEnd: (call) => signal.addEventListener('abort', call, { once: true }),
  };
}

/** Work that gives up at the first of several failures leaves the others unread: they must not end the process. */
function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
