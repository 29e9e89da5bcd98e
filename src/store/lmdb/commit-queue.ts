import { Refusal } from '#domain/refusals/refusal.js';

/** Values by key (as latin-1 text of its bytes) that one commit writes; null deletes. */
export type Writes = ReadonlyMap<string, Buffer | null>;

/** A transaction's view of the keys: its own writes, then those of earlier commits, then the disk. */
export interface KeyView {
  get(key: string): Buffer | undefined;
  /** Whether a key has on disk what this view has. */
  isStored(key: string): boolean;
  /** Keys in byte order from `start`, before `end`. */
  keys(start: string, end: string): string[];
  /** The last of those keys. */
  lastKey(start: string, end: string): string | undefined;
  put(key: string, value: Buffer): void;
  delete(key: string): void;
}

export interface CommitPort {
  get(key: string): Buffer | undefined;
  keys(start: string, end: string): string[];
  lastKey(start: string, end: string): string | undefined;
  /**
   * Lets so many bytes pass behind those `ahead` in the same commit, or throws the refusal that the writer of them
   * gets.
   */
  admit(bytes: number, options: { readonly reserve: boolean; readonly ahead: number }): Promise<void>;
  /** Writes all or nothing; resolves when it is on disk. */
  commit(writes: Writes): Promise<void>;
  /** Called before the writers are notified. */
  committed(writes: Writes): void;
  /** A commit failed: the engine below cannot be trusted with another. */
  failed(cause: unknown): void;
}

export interface CommitQueue {
  /** Runs `change` in order of arrival and resolves with its result once it is on disk. */
  run<T>(change: (view: KeyView) => Promise<T>, options?: ChangeOptions): Promise<T>;
  /** Resolves when everything queued before is on disk or refused; further changes are refused. */
  close(): Promise<void>;
}

export interface ChangeOptions {
  /** Whether it may use the reserve below the free-space mark. */
  readonly reserve?: boolean;
  /** Called once it is on disk, before `run` resolves. */
  readonly onDurable?: () => void;
}

interface Waiting {
  readonly change: (view: KeyView) => Promise<unknown>;
  readonly options: ChangeOptions;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

/** Changes that join one commit; bounds the time the event loop spends in a row on running them. */
const BATCH_MAX = 256;

/**
 * One commit at a time: changes that arrive while one is on its way to disk run together in the next (group commit).
 * Each change is staged apart, so one that throws leaves no trace, and sees every change before it.
 */
export function createCommitQueue(port: CommitPort): CommitQueue {
  const waiting: Waiting[] = [];
  let draining: Promise<void> | undefined;
  let refusal: Refusal | undefined;

  async function drain(): Promise<void> {
    do {
      await endOfTurn();
      await commitNext(waiting.splice(0, BATCH_MAX));
    } while (waiting.length > 0);
    draining = undefined;
  }

  async function commitNext(batch: readonly Waiting[]): Promise<void> {
    if (refusal !== undefined) {
      for (const { reject } of batch) reject(refusal);
      return;
    }
    const writes = new Map<string, Buffer | null>();
    const done: (() => void)[] = [];
    let ahead = 0;
    for (const entry of batch) {
      const staged = new Map<string, Buffer | null>();
      try {
        const result = await entry.change(viewOver(port, writes, staged));
        const bytes = sizeOf(staged);
        await port.admit(bytes, { reserve: entry.options.reserve === true || onlyDeletes(staged), ahead });
        ahead += bytes;
        for (const [key, value] of staged) writes.set(key, value);
        done.push(() => {
          entry.options.onDurable?.();
          entry.resolve(result as never); // The promise was made with the type of this very result.
        });
      } catch (thrown) {
        entry.reject(thrown);
      }
    }
    try {
      if (writes.size > 0) {
        await port.commit(writes);
        port.committed(writes);
      }
      for (const tell of done) tell();
    } catch (cause) {
      refusal = new Refusal('STORE_UNAVAILABLE', 'The document store no longer accepts writes.', null, { cause });
      for (const { reject } of batch) reject(refusal);
      port.failed(cause);
    }
  }

  return {
    run(change, options = {}) {
      if (refusal !== undefined) return Promise.reject(refusal);
      return new Promise((resolve, reject) => {
        waiting.push({ change, options, resolve: resolve as Waiting['resolve'], reject });
        draining ??= drain();
      });
    },
    async close() {
      await draining;
      refusal ??= new Refusal('STORE_UNAVAILABLE', 'The document store is closed.');
    },
  };
}

/**
 * Resolves when this turn of the event loop has run out of work. A commit that began at once would leave behind what
 * follows from the one before it, such as the starts of the jobs whose predecessors have just ended.
 */
const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function viewOver(port: CommitPort, before: Writes, staged: Map<string, Buffer | null>): KeyView {
  function keys(start: string, end: string): string[] {
    const found = new Set(port.keys(start, end));
    for (const layer of [before, staged]) {
      for (const [key, value] of layer) {
        if (key < start || key >= end) continue;
        if (value === null) found.delete(key);
        else found.add(key);
      }
    }
    return [...found].sort();
  }

  return {
    get(key) {
      const own = staged.get(key);
      if (own !== undefined) return own ?? undefined;
      const earlier = before.get(key);
      return earlier === undefined ? port.get(key) : (earlier ?? undefined);
    },
    isStored: (key) => !staged.has(key) && !before.has(key),
    keys,
    lastKey(start, end) {
      let last = port.lastKey(start, end);
      for (const layer of [before, staged]) {
        for (const [key, value] of layer) {
          if (key < start || key >= end) continue;
          if (value === null) return keys(start, end).at(-1);
          if (last === undefined || key > last) last = key;
        }
      }
      return last;
    },
    put: (key, value) => void staged.set(key, value),
    delete: (key) => void staged.set(key, null),
  };
}

/** Pages of the tree that one write may copy on its way to the root. */
const PATH_BYTES = 16_384;

/** Room that a change may take: a value, and the path to it. */
function sizeOf(writes: Writes): number {
  let bytes = 0;
  for (const value of writes.values()) bytes += PATH_BYTES + (value?.length ?? 0);
  return bytes;
}

function onlyDeletes(writes: Writes): boolean {
  for (const value of writes.values()) if (value !== null) return false;
  return true;
}
