import { isUnavailable } from '#domain/refusals/refusal.js';
import type { ArtifactStore } from '#store/port.js';
import type { Clock } from './clock.js';
import { TaskStopped } from './compute-pool.js';
import type { AttemptKey } from './attempt-key.js';
import type { FoundPart, OfferedParts, WrittenParts } from './offered-parts.js';

/** Work of a job in parts, each of which any node may compute. Parts have no effect but their output. */
export interface Parts<O> {
  readonly count: number;
  /** Parts that this node computes at once. */
  readonly atOnce: number;
  /** Share of the job's progress that all of them fill. */
  readonly share: number;
  /** Computes one on this node. */
  here(part: number, share: number): Promise<O>;
  /** Outputs of parts that another node has written as one artifact, in their order. */
  read(bytes: Uint8Array, parts: readonly number[]): readonly O[];
}

export interface PartsContext {
  readonly offered: OfferedParts | undefined;
  readonly lease: AttemptKey;
  readonly artifacts: Pick<ArtifactStore, 'read' | 'remove'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly signal: AbortSignal;
  /** Told of the share of the job's progress that other nodes have filled. */
  readonly onElsewhere: (share: number) => void;
}

/** How often the outputs of other nodes are looked for: what the last of them waits at most. */
const LOOK_MS = 50;
/** How long a database that cannot be asked is left alone. */
const AGAIN_MS = 500;

/** @returns the output of each part in order, whoever computed it */
export async function runParts<O>(parts: Parts<O>, context: PartsContext): Promise<O[]> {
  const { offered, lease } = context;
  if (offered === undefined || parts.count === 1) return runHere(parts);
  try {
    await offered.offer(lease, parts.count);
  } catch {
    return runHere(parts); // Nobody knows of them.
  }
  const run = startSharing(parts, context, offered);
  try {
    await Promise.all([run.collect(), ...Array.from({ length: parts.atOnce }, run.compute)]);
    if (context.signal.aborted) throw new TaskStopped('The job was stopped between its parts.');
    return run.outputs;
  } finally {
    run.stop();
    await offered.withdraw(lease).catch(() => {}); // Nobody takes parts of an attempt that has ended.
  }
}

async function runHere<O>({ count, atOnce, share, here }: Parts<O>): Promise<O[]> {
  const outputs: O[] = [];
  let next = 0;
  async function compute(): Promise<void> {
    for (let part = next++; part < count; part = next++) outputs[part] = await here(part, share / count);
  }
  await Promise.all(Array.from({ length: atOnce }, compute));
  return outputs;
}

function startSharing<O>(parts: Parts<O>, context: PartsContext, offered: OfferedParts) {
  const { count, here, read } = parts;
  const { lease, artifacts, clock, signal, onElsewhere } = context;
  const outputs: O[] = [];
  const missing = new Set(Array.from({ length: count }, (_, part) => part));
  const computing = new Set<number>();
  /** Parts that are not offered any more, and that nobody computes. */
  const left: number[] = [];
  let taking = 0;
  let elsewhere = 0;
  let isStopped = false;

  const isOver = (): boolean => missing.size === 0 || isStopped || signal.aborted;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

  /** Asks again while the database cannot be asked; undefined once nobody wants to know. */
  async function ask<T>(question: () => Promise<T>): Promise<T | undefined> {
    while (!isOver()) {
      try {
        return await question();
      } catch (thrown) {
        if (!isUnavailable(thrown)) throw thrown;
      }
      await pause(AGAIN_MS);
    }
    return undefined;
  }

  async function take(): Promise<number | undefined> {
    taking++;
    try {
      return await ask(() => offered.take(lease));
    } finally {
      taking--;
    }
  }

  async function compute(): Promise<void> {
    while (!isOver()) {
      const part = left.shift() ?? (await take());
      if (part === undefined) {
        await pause(LOOK_MS);
        continue;
      }
      computing.add(part);
      outputs[part] = await here(part, parts.share / count);
      missing.delete(part);
      computing.delete(part);
    }
  }

  async function collect(): Promise<void> {
    while (!isOver()) {
      await pause(LOOK_MS);
      const asked = [...missing].filter((part) => !computing.has(part) && !left.includes(part));
      const found = await ask(() => offered.find(lease, asked));
      if (found === undefined) return;
      const known = new Set(found.map(({ part }) => part));
      // One whose taking is under way, or whose answer was lost, is not offered any more either.
      if (taking === 0) left.push(...asked.filter((part) => !known.has(part) && isUntouched(part)));
      for (const written of artifactsOf(found)) await readIn(written);
    }
  }

  const isUntouched = (part: number): boolean => missing.has(part) && !computing.has(part);

  async function readIn({ artifact, parts: numbers }: WrittenParts): Promise<void> {
    const wanted = numbers.filter(isUntouched);
    try {
      const values = read(await artifacts.read(artifact), numbers);
      for (const part of wanted) {
        outputs[part] = values[numbers.indexOf(part)]!;
        missing.delete(part);
      }
      elsewhere += wanted.length;
      onElsewhere((parts.share * elsewhere) / count);
    } catch {
      left.push(...wanted); // Gone, damaged, or of another kind of program: computed here.
    }
    await artifacts.remove([artifact.name]).catch(() => {}); // It goes with the garbage.
  }

  return { outputs, compute, collect, stop: () => void (isStopped = true) };
}

/** Each artifact once: it holds the outputs of several parts. */
function artifactsOf(found: readonly FoundPart[]): WrittenParts[] {
  const byName = new Map<string, WrittenParts>();
  for (const { written } of found) if (written !== null) byName.set(written.artifact.name, written);
  return [...byName.values()];
}
