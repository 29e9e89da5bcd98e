import { isStoreUnavailable } from '#domain/base/refusals.js';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';
import type { Clock } from './clock.js';
import { TaskStopped } from './compute-pool.js';
import {
  type AttemptKey,
  listOutputNames,
  type OfferedParts,
  type PartOutput,
  type RetainedParts,
  type WrittenParts,
} from './queue.js';

/**
 * Work of a job in parts. Any node may compute a part, and several nodes may compute the same part. The only effect of
 * a part is its output: an artifact and the files that belong to it.
 */
export interface Parts {
  readonly count: number;
  /** Maximum number of parts that this node computes at a time. */
  readonly atOnce: number;
  /** Share of the job's progress that all parts fill. */
  readonly share: number;
  here(part: number, share: number): Promise<ArtifactRef | PartOutput>;
}

export interface PartsContext {
  readonly offered: OfferedParts | undefined;
  /** Storage of outputs across attempts. */
  readonly kept: RetainedParts | undefined;
  readonly lease: AttemptKey;
  readonly artifacts: Pick<ArtifactStore, 'damaged' | 'settle'>;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly signal: AbortSignal;
  /** Receives the share of the job's progress that other nodes and earlier attempts have completed. */
  readonly onElsewhere: (share: number) => void;
  /** Receives the names of artifacts of other nodes that now belong to this attempt. */
  readonly onTaken: (names: readonly string[]) => void;
  /**
   * Receives the names of artifacts that later attempts may use. They are removed together with the input of the job.
   */
  readonly onKept: (names: readonly string[]) => void;
}

/**
 * Interval between checks for the outputs of other nodes. The second value is the maximum, for many remaining parts.
 */
const LOOK_MS = 50;
const LOOK_MS_MAX = 1000;
const LOOK_MS_PER_PART = 0.25;
/** Delay before another attempt to reach the database. */
const RETRY_DELAY_MS = 500;
/**
 * Interval between two writes of completed outputs. A crash loses at most the work of this time, and the running parts.
 */
const SAVE_INTERVAL_MS = 2000;
/** Minimum time between two writes of kept outputs, as a multiple of the duration of the last write. */
const SAVE_TRIES_MAX = 20;

/**
 * @returns the outputs of all parts, whichever node computed them: each part is in at least one output
 */
export async function runParts(parts: Parts, context: PartsContext): Promise<readonly WrittenParts[]> {
  const { kept, signal, offered, lease } = context;
  const run = createRun(parts, context);
  await run.resume(kept?.earlier ?? []);
  const isShared = offered !== undefined && (await isOffered(offered, lease, run.missing()));
  try {
    const partRunner = isShared ? startSharing(run, context, offered) : startAlone(run);
    await Promise.all([partRunner.collect(), ...Array.from({ length: parts.atOnce }, partRunner.compute)]);
    if (signal.aborted) throw new TaskStopped('The job was stopped between its parts.');
    return run.outputs;
  } finally {
    run.stop();
    if (isShared) await offered.withdraw(lease).catch(() => {}); // No node takes parts of an ended attempt.
  }
}

/** @returns true if the parts were offered to other nodes */
async function isOffered(offered: OfferedParts, lease: AttemptKey, parts: readonly number[]): Promise<boolean> {
  if (parts.length < 2) return false;
  return offered.offer(lease, parts).then(
    () => true,
    () => false,
  );
}

type Run = ReturnType<typeof createRun>;

/** Tracks which parts are done, and where their outputs are. */
function createRun({ count, share, here }: Parts, context: PartsContext) {
  const { kept, artifacts, clock, signal, onElsewhere, onTaken, onKept } = context;
  const missingParts = new Set(Array.from({ length: count }, (_, part) => part));
  const outputs: WrittenParts[] = [];
  let remoteCount = 0;
  let isStopped = false;
  let keptCount = 0;
  let nextSaveMs = clock.monotonicMs() + SAVE_INTERVAL_MS;
  let pendingSave: Promise<void> | undefined;

  function add(writtenParts: WrittenParts): void {
    outputs.push(writtenParts);
    for (const part of writtenParts.parts) missingParts.delete(part);
  }

  /**
   * Adds outputs of other nodes. This node may have computed some of the parts meanwhile, with bit-identical results.
   */
  function addElsewhere(writtenParts: WrittenParts): void {
    onTaken(listOutputNames(writtenParts));
    remoteCount += writtenParts.parts.filter((part) => missingParts.has(part)).length;
    add(writtenParts);
    onElsewhere((share * remoteCount) / count);
  }

  /** Adds the outputs of earlier attempts that still exist. */
  async function resume(earlierParts: readonly WrittenParts[]): Promise<void> {
    if (earlierParts.length === 0) return;
    const refs = earlierParts.flatMap(({ artifact, files = [] }) => [artifact, ...files]);
    const damagedNames = await artifacts.damaged(refs.map((ref) => ({ ref, madeAt: 0 })));
    for (const writtenParts of earlierParts) {
      if (!listOutputNames(writtenParts).some((name) => damagedNames.has(name))) addElsewhere(writtenParts);
    }
    keptCount = outputs.length;
    onKept(outputs.flatMap(listOutputNames));
  }

  /** Saves completed outputs at intervals. If a write fails, a later attempt computes these outputs again. */
  function keepNow(): void {
    const isDue = clock.monotonicMs() >= nextSaveMs && outputs.length > keptCount;
    if (kept === undefined || pendingSave !== undefined || !isDue || isStopped || signal.aborted) return;
    const startedMs = clock.monotonicMs();
    const parts = [...outputs];
    const names = parts.slice(keptCount).flatMap(listOutputNames);
    onKept(names); // Reported before the write: once a document names the artifacts, only the store removes them.
    pendingSave = artifacts
      .settle()
      .then(() => kept.keep(parts))
      .then((isKept) => void (isKept && (keptCount = parts.length)))
      .catch(() => {})
      .finally(() => {
        pendingSave = undefined;
        const nowMs = clock.monotonicMs();
        nextSaveMs = nowMs + Math.max(SAVE_INTERVAL_MS, SAVE_TRIES_MAX * (nowMs - startedMs));
      });
  }

  return {
    outputs,
    missing: () => [...missingParts],
    isMissing: (part: number) => missingParts.has(part),
    left: () => missingParts.size,
    isOver: () => missingParts.size === 0 || isStopped || signal.aborted,
    resume,
    addElsewhere,
    async compute(part: number) {
      const output = await here(part, share / count);
      add({ ...('artifact' in output ? output : { artifact: output }), parts: [part] });
      keepNow();
    },
    keepNow,
    stop: () => void (isStopped = true),
  };
}

/** Computes all parts on this node. */
function startAlone(run: Run) {
  const queue = run.missing();
  return {
    collect: async () => {},
    async compute() {
      for (let part = queue.shift(); part !== undefined && !run.isOver(); part = queue.shift()) await run.compute(part);
    },
  };
}

function startSharing(run: Run, { lease, clock }: PartsContext, offered: OfferedParts) {
  const computingParts = new Set<number>();
  /** Parts that are no longer offered and that no node computes. */
  const unclaimedParts: number[] = [];
  const pendingTakes = new Set<Promise<unknown>>();
  let pendingLook: Promise<void> | undefined;

  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

  /** Repeats a request while the database is unavailable. Returns undefined once the response is no longer needed. */
  async function ask<T>(question: () => Promise<T>): Promise<T | undefined> {
    while (!run.isOver()) {
      try {
        return await question();
      } catch (thrown) {
        if (!isStoreUnavailable(thrown)) throw thrown;
      }
      await pause(RETRY_DELAY_MS);
    }
    return undefined;
  }

  /** Takes a part that no node computes. Marks it as computed on this node before `findLost` can find it. */
  async function takePart(): Promise<number | undefined> {
    const nextPart = unclaimedParts.shift();
    if (nextPart !== undefined) return nextPart;
    await pendingLook;
    const pendingTake = ask(() => offered.take(lease)).then((part) => {
      if (part !== undefined) computingParts.add(part);
      return part;
    });
    const settledTake = pendingTake.catch(() => {});
    pendingTakes.add(settledTake);
    return pendingTake.finally(() => pendingTakes.delete(settledTake));
  }

  async function compute(): Promise<void> {
    while (!run.isOver()) {
      const part = await takePart();
      if (part === undefined) await pause(LOOK_MS);
      else {
        computingParts.add(part);
        if (run.isMissing(part)) await run.compute(part);
        computingParts.delete(part);
      }
    }
  }

  async function collect(): Promise<void> {
    for (let looks = 0; !run.isOver(); looks++) {
      await pause(Math.min(LOOK_MS_MAX, Math.max(LOOK_MS, LOOK_MS_PER_PART * run.left())));
      const result = await ask(() => offered.collect(lease));
      for (const writtenParts of result ?? []) run.addElsewhere(writtenParts);
      await (pendingLook = findLost());
      pendingLook = undefined;
      run.keepNow();
    }
  }

  /**
   * Finds parts that no node computes and takes them over. Their row disappeared because a message about a claim or a
   * collection of outputs was lost.
   */
  async function findLost(): Promise<void> {
    await Promise.all(pendingTakes);
    const remainingParts = await ask(() => offered.remaining(lease));
    if (remainingParts === undefined) return;
    const offeredParts = new Set(remainingParts);
    const isLost = (part: number): boolean =>
      !offeredParts.has(part) && !computingParts.has(part) && !unclaimedParts.includes(part);
    unclaimedParts.push(...run.missing().filter(isLost));
  }

  return { compute, collect };
}
