import { Refusal } from '#domain/base/refusals.js';

/** Values that one commit writes, by key (bytes as latin-1 text). Null deletes a key. */
export type CommitWrites = ReadonlyMap<string, Buffer | null>;

/**
 * View of the keys in a transaction. It shows its own writes, then the writes of earlier changes of the same commit,
 * then the disk.
 */
export interface KeyView {
  get(key: string): Buffer | undefined;
  /** Returns true if the value of a key on disk is the value in this view. */
  isStored(key: string): boolean;
  /** Lists keys in byte order from `start`, before `end`. */
  keys(start: string, end: string): string[];
  /** Returns the last key from `start`, before `end`. */
  lastKey(start: string, end: string): string | undefined;
  put(key: string, value: Buffer): void;
  delete(key: string): void;
}

export interface CommitPort {
  get(key: string): Buffer | undefined;
  keys(start: string, end: string): string[];
  lastKey(start: string, end: string): string | undefined;
  /**
   * Checks that there is space for bytes in addition to `ahead` bytes of the same commit. @throws the refusal for the
   * writer
   */
  admit(bytes: number, options: { readonly reserve: boolean; readonly ahead: number }): Promise<void>;
  /** Writes all values or none. Resolves when they are on disk. */
  commit(writes: CommitWrites): Promise<void>;
  /** Called before the writers are notified. */
  committed(writes: CommitWrites): void;
  /** Called after a failed commit. The engine must not receive another commit. */
  failed(cause: unknown): void;
}

interface CommitQueue {
  /** Runs changes in order of arrival. Resolves with the result of the change when it is on disk. */
  run<T>(change: (view: KeyView) => Promise<T>, options?: ChangeOptions): Promise<T>;
  /** Resolves when all queued changes are on disk or rejected. Further changes are rejected. */
  close(): Promise<void>;
}

interface ChangeOptions {
  /** True if the change may use the reserved part of the minimum free space. */
  readonly reserve?: boolean;
  /** Called when the change is on disk, before `run` resolves. */
  readonly onDurable?: () => void;
}

interface WaitingCommit {
  readonly change: (view: KeyView) => Promise<unknown>;
  readonly options: ChangeOptions;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

/** Maximum number of changes per commit, which limits how long they block the event loop. */
const BATCH_MAX = 256;

/**
 * Creates a queue with one commit at a time. Changes that arrive during a commit run together in the next commit (group
 * commit). The writes of each change are kept separately, so that a failed change has no effect. A change sees every
 * earlier change.
 */
export function createCommitQueue(port: CommitPort): CommitQueue {
  const waitingCommits: WaitingCommit[] = [];
  let pendingDrain: Promise<void> | undefined;
  let refusal: Refusal | undefined;

  async function drain(): Promise<void> {
    do {
      await awaitTurnEnd();
      await commitNext(waitingCommits.splice(0, BATCH_MAX));
    } while (waitingCommits.length > 0);
    pendingDrain = undefined;
  }

  async function commitNext(batch: readonly WaitingCommit[]): Promise<void> {
    if (refusal !== undefined) {
      for (const { reject } of batch) reject(refusal);
      return;
    }
    const writes = new Map<string, Buffer | null>();
    const commitCallbacks: (() => void)[] = [];
    let ahead = 0;
    for (const entry of batch) {
      const stagedWrites = new Map<string, Buffer | null>();
      try {
        const result = await entry.change(createKeyView(port, writes, stagedWrites));
        const bytes = estimateSize(stagedWrites);
        await port.admit(bytes, { reserve: entry.options.reserve === true || hasOnlyDeletions(stagedWrites), ahead });
        ahead += bytes;
        for (const [key, value] of stagedWrites) writes.set(key, value);
        commitCallbacks.push(() => {
          entry.options.onDurable?.();
          entry.resolve(result as never); // the promise was created with this result type
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
      for (const tell of commitCallbacks) tell();
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
        waitingCommits.push({ change, options, resolve: resolve as WaitingCommit['resolve'], reject });
        pendingDrain ??= drain();
      });
    },
    async close() {
      await pendingDrain;
      refusal ??= new Refusal('STORE_UNAVAILABLE', 'The document store is closed.');
    },
  };
}

/**
 * Resolves at the end of this turn of the event loop. A commit at once would not include changes that follow from the
 * previous commit, such as the starts of jobs after other jobs have ended.
 */
const awaitTurnEnd = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function createKeyView(port: CommitPort, before: CommitWrites, staged: Map<string, Buffer | null>): KeyView {
  function listKeys(start: string, end: string): string[] {
    const results = new Set(port.keys(start, end));
    for (const layer of [before, staged]) {
      for (const [key, value] of layer) {
        if (key < start || key >= end) continue;
        if (value === null) results.delete(key);
        else results.add(key);
      }
    }
    return [...results].sort();
  }

  return {
    get(key) {
      const stagedValue = staged.get(key);
      if (stagedValue !== undefined) return stagedValue ?? undefined;
      const earlierValue = before.get(key);
      return earlierValue === undefined ? port.get(key) : (earlierValue ?? undefined);
    },
    isStored: (key) => !staged.has(key) && !before.has(key),
    keys: listKeys,
    lastKey(start, end) {
      let last = port.lastKey(start, end);
      for (const layer of [before, staged]) {
        for (const [key, value] of layer) {
          if (key < start || key >= end) continue;
          if (value === null) return listKeys(start, end).at(-1);
          if (last === undefined || key > last) last = key;
        }
      }
      return last;
    },
    put: (key, value) => void staged.set(key, value),
    delete: (key) => void staged.set(key, null),
  };
}

/** Size of the tree pages that one write may copy on the path to the root, in bytes. */
const PATH_BYTES = 16_384;

/** Estimates the disk space of a change. It includes the values and the copied tree pages. */
function estimateSize(writes: CommitWrites): number {
  let bytes = 0;
  for (const value of writes.values()) bytes += PATH_BYTES + (value?.length ?? 0);
  return bytes;
}

function hasOnlyDeletions(writes: CommitWrites): boolean {
  for (const value of writes.values()) if (value !== null) return false;
  return true;
}

/** Maximum number of owners with a cached last key, about a hundred bytes each. */
const OWNERS_MAX = 4096;

/**
 * Cache of the last keys of owners with numbered documents (`createNumberedRange`), as of the last commit. Each write
 * of a document with versions needs the last key, and a look-up in the tree takes as long as a write. Only this process
 * writes the documents of a home.
 */
interface LastKeys {
  /** Returns the last key of an owner. @param start prefix of the owner's keys before the number */
  find(start: string, end: string): string | undefined;
  /** Updates the cache after a commit. */
  follow(writes: CommitWrites): void;
}

/** Creates the cache. @param read looks up a key in the tree */
export function createLastKeys(read: (start: string, end: string) => string | undefined): LastKeys {
  const keyByStart = new Map<string, string | undefined>();
  return {
    find(start, end) {
      if (keyByStart.has(start)) return keyByStart.get(start);
      const key = read(start, end);
      if (keyByStart.size === OWNERS_MAX) keyByStart.clear();
      keyByStart.set(start, key);
      return key;
    },
    follow(writes) {
      for (const [key, value] of writes) {
        const start = key.slice(0, key.lastIndexOf('/') + 1);
        if (!keyByStart.has(start)) continue;
        const last = keyByStart.get(start);
        if (value === null) keyByStart.delete(start);
        else if (last === undefined || key > last) keyByStart.set(start, key);
      }
    },
  };
}
