import { JOB_KIND_CATALOGUE } from '#domain/jobs/job-kinds.js';
import { setMaxListeners } from 'node:events';
import type { ArtifactStore } from '#store/port.js';
import type { ComputePool, TaskProgress, TaskRun } from './compute-pool.js';
import type { Completion, JobKind } from './job-kind.js';

/** One run of a job's work. */
export interface RunningAttempt {
  readonly completion: Promise<Completion>;
  /** Names of the artifacts that it has written, or may have. */
  readonly written: readonly string[];
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
  readonly jobId: string;
  readonly payload: unknown;
}

/** Starts the work of a kind with everything an attempt may use, and keeps account of it. */
export function startAttempt(
  { kind, jobId, payload }: AttemptOrder,
  { pool, artifacts }: { readonly pool: ComputePool; readonly artifacts: ArtifactStore },
): RunningAttempt {
  const ending = new AbortController();
  const { signal } = ending;
  setMaxListeners(0, signal); // A sweep has one listener for each of its tasks.
  const tasks: { readonly run: TaskRun<unknown>; readonly share: number }[] = [];
  const written: string[] = [];
  let reported = 0;
  let said: string | undefined;

  const completion = (async () =>
    kind.run(payload, {
      jobId,
      signal,
      compute(task, input, share = 1) {
        const run = pool.run({ lane: JOB_KIND_CATALOGUE[kind.kind].lane, task, input, signal });
        tasks.push({ run, share });
        return observed(run.output);
      },
      report(fraction, message) {
        reported = Math.max(reported, fraction);
        said = message ?? said;
      },
      outputs(files) {
        const names = files.map((file) => [file, artifacts.newName()] as const);
        written.push(...names.map(([, name]) => name));
        return Object.fromEntries(names) as never; // One for each of the files.
      },
      drop: (names) => observed(artifacts.remove(names)),
      share: (files) =>
        observed(
          artifacts.link(files).then((refs) => {
            written.push(...refs.map(({ name }) => name));
            return refs;
          }),
        ),
    }))();

  return {
    completion,
    written,
    progress() {
      let fraction = reported;
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
