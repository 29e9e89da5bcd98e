import { isUnavailable } from '#domain/refusals/refusal.js';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';
import type { Clock } from './clock.js';
import { TaskStopped } from './compute-pool.js';
import type { KeptParts } from './kept-parts.js';
import type { OfferedParts, WrittenParts } from './offered-parts.js';

/** Work of a job in parts, each of which any node may compute. Parts have no effect but their output, an artifact. */
export interface Parts {
  readonly count: number;
  /** Parts that this node computes at once. */
  readonly atOnce: number;
  /** Share of the job's progress that all of them fill. */
  readonly share: number;
  /** Computes one on this node and writes its output. */
  here(part: number, share: number): Promise<ArtifactRef>;
}

export interface PartsContext {
  readonly offered: OfferedParts | undefined;
  /** Where outputs are kept over attempts. */
  readonly kept: KeptParts | undefined;
  readonly lease: AttemptKey;
  readonly artifacts: Pick<ArtifactStore, 'damaged' | 'settle'>;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly signal: AbortSignal;
  /** Receives the share of the job's progress that other nodes and earlier attempts have filled. */
  readonly onElsewhere: (share: number) => void;
  /** Receives the names of artifacts of others that this attempt has taken over. */
  readonly onTaken: (names: readonly string[]) => void;
  /** Receives the names of artifacts that are kept over attempts: they are removed with the input of the job. */
  readonly onKept: (names: readonly string[]) => void;
}

/** How often the outputs of other nodes are looked for: what the last of them waits at most, and with many parts left. */
const LOOK_MS = 50;
const LOOK_MS_MAX = 1000;
const LOOK_MS_PER_PART = 0.25;
/** How long a database that cannot be asked is left alone. */
const AGAIN_MS = 500;
/** How often outputs are kept: what a crash costs at most, besides the parts that run. */
const KEEP_MS = 2000;
/** Time between two writes of what is kept, as a multiple of how long the last took. */
const KEEP_PATIENCE = 20;

/** @returns the outputs of all parts, whoever computed them: each part is in one of them at least */
export async function runParts(parts: Parts, context: PartsContext): Promise<readonly WrittenParts[]> {
  const { kept, signal, offered, lease } = context;
  const run = createRun(parts, context);
  await run.resume(kept?.earlier ?? []);
  const isShared = offered !== undefined && (await isOffered(offered, lease, run.missing()));
  try {
    const sharing = isShared ? startSharing(run, context, offered) : startAlone(run);
    await Promise.all([sharing.collect(), ...Array.from({ length: parts.atOnce }, sharing.compute)]);
    if (signal.aborted) throw new TaskStopped('The job was stopped between its parts.');
    return run.outputs;
  } finally {
    run.stop();
    if (isShared) await offered.withdraw(lease).catch(() => {}); // Nobody takes parts of an attempt that has ended.
  }
}

/** @returns whether other nodes know of the parts */
async function isOffered(offered: OfferedParts, lease: AttemptKey, parts: readonly number[]): Promise<boolean> {
  if (parts.length < 2) return false;
  return offered.offer(lease, parts).then(
    () => true,
    () => false,
  );
}

type Run = ReturnType<typeof createRun>;

/** Which parts are done, and where their outputs are. */
function createRun({ count, share, here }: Parts, context: PartsContext) {
  const { kept, artifacts, clock, signal, onElsewhere, onTaken, onKept } = context;
  const missing = new Set(Array.from({ length: count }, (_, part) => part));
  const outputs: WrittenParts[] = [];
  let elsewhere = 0;
  let isStopped = false;
  let keptCount = 0;
  let keepAtMs = clock.monotonicMs() + KEEP_MS;
  let keeping: Promise<void> | undefined;

  function add(written: WrittenParts): void {
    outputs.push(written);
    for (const part of written.parts) missing.delete(part);
  }

  /** Takes over outputs of others; some of their parts may have been computed here meanwhile, to the same bits. */
  function addElsewhere(written: WrittenParts): void {
    onTaken([written.artifact.name]);
    elsewhere += written.parts.filter((part) => missing.has(part)).length;
    add(written);
    onElsewhere((share * elsewhere) / count);
  }

  /** Takes over what earlier attempts have written and is still there. */
  async function resume(earlier: readonly WrittenParts[]): Promise<void> {
    if (earlier.length === 0) return;
    const gone = await artifacts.damaged(earlier.map(({ artifact }) => ({ ref: artifact, madeAt: 0 })));
    for (const written of earlier) {
      if (!gone.has(written.artifact.name)) addElsewhere(written);
    }
    keptCount = outputs.length;
    onKept(outputs.map(({ artifact }) => artifact.name));
  }

  /** Keeps what is done, now and then. A store that does not take it costs a later attempt the work, not this one. */
  function keepNow(): void {
    const isDue = clock.monotonicMs() >= keepAtMs && outputs.length > keptCount;
    if (kept === undefined || keeping !== undefined || !isDue || isStopped || signal.aborted) return;
    const startedMs = clock.monotonicMs();
    const parts = [...outputs];
    const names = parts.slice(keptCount).map(({ artifact }) => artifact.name);
    onKept(names); // Before they are: once a document names them, only the store removes them.
    keeping = artifacts
      .settle()
      .then(() => kept.keep(parts))
      .then((isKept) => void (isKept && (keptCount = parts.length)))
      .catch(() => {})
      .finally(() => {
        keeping = undefined;
        const nowMs = clock.monotonicMs();
        keepAtMs = nowMs + Math.max(KEEP_MS, KEEP_PATIENCE * (nowMs - startedMs));
      });
  }

  return {
    outputs,
    missing: () => [...missing],
    isMissing: (part: number) => missing.has(part),
    left: () => missing.size,
    isOver: () => missing.size === 0 || isStopped || signal.aborted,
    resume,
    addElsewhere,
    async compute(part: number) {
      add({ artifact: await here(part, share / count), parts: [part] });
      keepNow();
    },
    keepNow,
    stop: () => void (isStopped = true),
  };
}

/** All parts on this node. */
function startAlone(run: Run) {
  const queue = run.missing();
  return {
    collect: async () => {},
    async compute() {
      for (let part = queue.shift(); part !== undefined && !run.isOver(); part = queue.shift()) await run.compute(part);
    },
  };
}

/** Parts on this node and on others. */
function startSharing(run: Run, { lease, clock }: PartsContext, offered: OfferedParts) {
  const computing = new Set<number>();
  /** Parts that are not offered any more, and that nobody computes. */
  const left: number[] = [];
  const taking = new Set<Promise<unknown>>();
  let looking: Promise<void> | undefined;

  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

  /** Asks again while the database cannot be asked; undefined once nobody wants to know. */
  async function ask<T>(question: () => Promise<T>): Promise<T | undefined> {
    while (!run.isOver()) {
      try {
        return await question();
      } catch (thrown) {
        if (!isUnavailable(thrown)) throw thrown;
      }
      await pause(AGAIN_MS);
    }
    return undefined;
  }

  /** Takes a part that nobody computes; it counts as computed here before anybody looks for lost ones. */
  async function take(): Promise<number | undefined> {
    const own = left.shift();
    if (own !== undefined) return own;
    await looking;
    const asked = ask(() => offered.take(lease)).then((part) => {
      if (part !== undefined) computing.add(part);
      return part;
    });
    const settled = asked.catch(() => {});
    taking.add(settled);
    return asked.finally(() => taking.delete(settled));
  }

  async function compute(): Promise<void> {
    while (!run.isOver()) {
      const part = await take();
      if (part === undefined) await pause(LOOK_MS);
      else {
        computing.add(part);
        if (run.isMissing(part)) await run.compute(part);
        computing.delete(part);
      }
    }
  }

  async function collect(): Promise<void> {
    for (let looks = 0; !run.isOver(); looks++) {
      await pause(Math.min(LOOK_MS_MAX, Math.max(LOOK_MS, LOOK_MS_PER_PART * run.left())));
      const found = await ask(() => offered.collect(lease));
      for (const written of found ?? []) run.addElsewhere(written);
      await (looking = findLost());
      looking = undefined;
      run.keepNow();
    }
  }

  /** A part whose row is gone, its taking or its collection lost, is this node's own: nobody else computes it. */
  async function findLost(): Promise<void> {
    await Promise.all(taking);
    const known = await ask(() => offered.remaining(lease));
    if (known === undefined) return;
    const offers = new Set(known);
    const isLost = (part: number): boolean => !offers.has(part) && !computing.has(part) && !left.includes(part);
    left.push(...run.missing().filter(isLost));
  }

  return { compute, collect };
}
