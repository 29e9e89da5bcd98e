import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { LRUCache } from 'lru-cache';
import { Refusal } from '#domain/base/refusals.js';
import type { CommitEvent } from '#domain/definition/commit-events.js';
import { createArtifactOwners, listArtifactNames } from '../artifacts/artifact.js';
import { restrictToOwner, syncFolder } from '../artifacts/durable-files.js';
import { type FreeSpace, watchFreeSpace } from '../artifacts/free-space.js';
import {
  collectListing,
  createCommitListeners,
  createNumberedRange,
  type DocumentEngine,
  type DocumentEngineOptions,
  type DocumentKind,
  type DocumentLookup,
  type DocumentTransaction,
  type EntryReader,
  formatNumberedId,
  listDocument,
  type ListedDocument,
  type Listing,
  parseNumber,
  SCHEMA_VERSION,
  type StoredDocument,
  type TransactionBody,
} from '../port.js';
import { workInTurns } from '../reach.js';
import {
  decodeKey,
  encodeKey,
  formatDocumentKey,
  formatKey,
  getKindRange,
  openDocument,
  parseId,
  parseKey,
  sealDocument,
} from './document-format.js';
import { commitDurably, type CommitWrites } from './durable-commit.js';
import { probeDocuments, recordClosedDocuments } from './probe-documents.js';

/** Maximum total size of the stored values of cached documents, in bytes. */
const CACHE_BYTES = 8 * 1024 * 1024;
/** Maximum size of a cached document, in bytes. */
const DOCUMENT_BYTES = 256 * 1024;
/** Number of keys that a list reads at a time, which takes about a millisecond. */
const KEY_PAGE = 1000;
/**
 * Cache of documents that were read at least twice, by key. They are verified, parsed and frozen. A commit that changes
 * a document removes it from the cache, and one read then caches it again. For a document that was read once, only the
 * key is stored, so that a walk over many documents neither fills the cache nor costs much. Only this process writes
 * the documents of a home, so that no entry becomes outdated.
 */
interface DocumentCache {
  /** Returns the document of a key. If it is not cached, reads and opens the stored value. */
  find(key: string, read: () => Buffer | undefined, open: (value: Buffer) => DocumentLookup): DocumentLookup;
  /** Removes the keys that a commit has written or deleted. */
  drop(keys: Iterable<string>): void;
}

interface Entry {
  readonly document: StoredDocument;
  /** Size of the stored value in bytes, at least 1. */
  readonly bytes: number;
}

const getSize = ({ bytes }: Pick<Entry, 'bytes'>): number => bytes;

/**
 * Creates a cache. @param bytesMax limit of stored values. The documents whose last read is oldest are evicted first
 */
export function createDocumentCache(bytesMax: number = CACHE_BYTES): DocumentCache {
  const entries = new LRUCache<string, Entry>({ maxSize: bytesMax, sizeCalculation: getSize });
  const singleReads = new LRUCache<string, Pick<Entry, 'bytes'>>({ maxSize: bytesMax, sizeCalculation: getSize });

  return {
    find(key, read, open) {
      const entry = entries.get(key);
      if (entry !== undefined) return entry.document;
      const value = read();
      if (value === undefined) return undefined;
      const result = open(value);
      if (result === undefined || 'unreadable' in result || value.length > Math.min(DOCUMENT_BYTES, bytesMax))
        return result;
      const bytes = Math.max(1, value.length);
      if (singleReads.delete(key)) entries.set(key, { document: deepFreeze(result), bytes });
      else singleReads.set(key, { bytes });
      return result;
    },
    drop(keys) {
      for (const key of keys) {
        const entry = entries.get(key);
        entries.delete(key);
        singleReads.delete(key);
        if (entry !== undefined) singleReads.set(key, { bytes: entry.bytes }); // a frequently read document will be read again
      }
    },
  };
}

/**
 * Freezes a JSON value, so that a change of a shared value throws. The limit on the depth of a stored document also
 * limits the recursion.
 */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  // A parsed value has no inherited members, and `for in` allocates no list of keys.
  for (const name in value) {
    const member = value[name];
    if (typeof member === 'object') deepFreeze(member);
  }
  return Object.freeze(value);
}

interface LmdbOptions extends DocumentEngineOptions {
  /** Folder of the LMDB environment, created if it is absent. */
  readonly folder: string;
  /** Folder of backups, for the error message about a damaged store. */
  readonly backups?: string;
  readonly freeSpace?: FreeSpace;
}

/**
 * Opens documents in LMDB. Only this thread writes them, asynchronously. If a second writing thread were terminated
 * during a write, the store would stay locked. A synchronous write would block the event loop while another write
 * lasts.
 * @throws StartRefusal 78 if the file is damaged
 */
export async function openDocumentStore(options: LmdbOptions): Promise<DocumentEngine> {
  const { folder, now = Date.now, onUnreferenced, onFailure } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await probeDocuments(folder, options.backups);
  const database = openDatabase(folder);
  await restrictToOwner({ folders: [folder], files: ['data.mdb', 'lock.mdb'].map((name) => join(folder, name)) });
  await syncFolder(folder);
  const freeSpace = options.freeSpace ?? watchFreeSpace(folder);
  const owners = createArtifactOwners();
  const revisions = new Map<DocumentKind, number>();
  const cache = createDocumentCache();
  const listeners = createCommitListeners((thrown) => onFailure?.(thrown));
  for (const { key, value } of database.getRange({})) owners.setArtifacts(decodeKey(key), listArtifactNames(value));

  let isClosed = false;
  /** Writes of the current commit. Reads may see them already, but the cache does not. */
  let pendingWrites: CommitWrites | undefined;
  /** Keys that commits have changed since the beginning of each list that is not complete. */
  const openLists = new Set<Set<string>>();

  /**
   * Returns the open environment. A read of a closed environment would end the process. @throws Refusal
   * STORE_UNAVAILABLE
   */
  function requireEnvironment(): RootDatabase<Buffer, Buffer> {
    if (isClosed) throw new Refusal('STORE_UNAVAILABLE', 'The document store is closed.');
    return database;
  }
  const read = (key: string): Buffer | undefined => requireEnvironment().get(encodeKey(key));
  const listKeysBetween = (start: string, end: string): string[] =>
    [...requireEnvironment().getKeys({ start: encodeKey(start), end: encodeKey(end) })].map(decodeKey);
  /** Lists keys in pages, between which other work may change them. */
  function* listPagedKeys(start: string, end: string): Generator<string, undefined> {
    for (let from = start; ;) {
      const range = { start: encodeKey(from), end: encodeKey(end), limit: KEY_PAGE };
      const page = [...requireEnvironment().getKeys(range)].map(decodeKey);
      yield* page;
      if (page.length < KEY_PAGE) return;
      from = `${page.at(-1)!}\u0000`; // the next key
    }
  }
  const lastKeys = createLastKeys((start, end) => {
    const reverseRange = { start: encodeKey(end), end: encodeKey(start), reverse: true, limit: 1 };
    for (const key of requireEnvironment().getKeys(reverseRange)) return decodeKey(key);
    return undefined;
  });

  const queue = createCommitQueue({
    get: read,
    keys: listKeysBetween,
    lastKey: lastKeys.find,
    admit: (bytes, options) => freeSpace.admit(bytes, options),
    commit(writes) {
      pendingWrites = writes;
      for (const changedKeys of openLists) for (const key of writes.keys()) changedKeys.add(key);
      return commitDurably(database, writes);
    },
    committed(writes) {
      pendingWrites = undefined;
      cache.drop(writes.keys());
      lastKeys.follow(writes);
      for (const kind of collectKinds(writes.keys())) revisions.set(kind, (revisions.get(kind) ?? 0) + 1);
      const unreferencedNames: string[] = [];
      for (const [key, value] of writes)
        unreferencedNames.push(...owners.setArtifacts(key, value === null ? [] : listArtifactNames(value)));
      const droppedNames = unreferencedNames.filter((name) => !owners.isOwned(name));
      if (droppedNames.length > 0) onUnreferenced?.(droppedNames);
    },
    failed: (cause) => onFailure?.(cause),
  });

  /** Reads a document as of the last commit. */
  const findDocument = (key: string, id: string): DocumentLookup =>
    cache.find(
      key,
      () => readTransient(database, key),
      (value) => openValue(id, key, value),
    );

  /** Reads a document as it is in the store, which may be ahead of the cache. */
  function findStored(key: string, id: string): DocumentLookup {
    if (pendingWrites?.has(key) !== true) return findDocument(key, id);
    const value = readTransient(database, key);
    return value && openValue(id, key, value);
  }

  return {
    async get(kind, id) {
      requireEnvironment();
      const key = formatKey(kind, id);
      return key === undefined ? undefined : findDocument(key, id);
    },
    ids: async (kind) => listIds(kind, listKeysBetween),
    lastNumber: async (kind, owner) => readLastNumber(kind, owner, lastKeys.find),
    async numbers(kind, owner, { below, limit }) {
      const { from, until } = createNumberedRange(owner);
      const end = formatDocumentKey(kind, below === undefined ? until : formatNumberedId(owner, below));
      const reverseRange = { start: encodeKey(end), end: encodeKey(formatDocumentKey(kind, from)), reverse: true };
      const numbers: number[] = [];
      for (const bytes of requireEnvironment().getKeys(reverseRange)) {
        if (numbers.length >= limit) break;
        const key = decodeKey(bytes);
        if (key !== end) numbers.push(parseNumber(key));
      }
      return numbers;
    },
    async revision(kind) {
      requireEnvironment();
      return revisions.get(kind) ?? 0;
    },
    async list<T>(kind: DocumentKind, readBody: EntryReader<T>): Promise<Listing<T>> {
      const { start, end } = getKindRange(kind);
      const entries = new Map<string, ListedDocument<T>>();
      const readEntry = (key: string): void => {
        requireEnvironment(); // it may have closed in an earlier turn
        const id = parseId(kind, key);
        const found: DocumentLookup = id === undefined ? { id: '', unreadable: 'unreadable' } : findStored(key, id);
        if (found === undefined) entries.delete(key);
        else entries.set(key, listDocument(found, readBody));
      };
      const changedKeys = new Set(pendingWrites?.keys());
      openLists.add(changedKeys);
      try {
        await workInTurns(listPagedKeys(start, end), readEntry);
        const lateKeys = [...changedKeys].filter((key) => key >= start && key < end);
        lateKeys.forEach(readEntry); // in one turn, so that all documents are those of this moment
        const inOrder = lateKeys.length === 0 ? entries.keys() : [...entries.keys()].sort();
        return collectListing(Array.from(inOrder, (key) => entries.get(key)!)); // a key of the map
      } finally {
        openLists.delete(changedKeys);
      }
    },
    transaction(change, { reserve = false } = {}) {
      const events: CommitEvent[] = [];
      const onDurable = (): void => listeners.call(events);
      const time = now();
      return queue.run((view) => runChange(view, change, { find: findDocument, time, events }), { reserve, onDurable });
    },
    subscribe: listeners.add,
    referencedArtifacts: async () => owners.names(),
    referencedAmong: async (names) => new Set(names.filter(owners.isOwned)),
    async close() {
      await queue.close();
      isClosed = true;
      await database.close();
      await recordClosedDocuments(folder);
    },
  };
}

function openDatabase(folder: string): RootDatabase<Buffer, Buffer> {
  return open<Buffer, Buffer>({
    path: folder,
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    maxDbs: 1,
    // Batches are explicit here. Automatic batches per turn of the event loop leave a promise that nobody awaits. Its
    // rejection (a full disk) would end the process.
    eventTurnBatching: false,
  });
}

/** Returns a stored value in memory of the LMDB reader. It is valid until the next read. */
function readTransient(database: RootDatabase<Buffer, Buffer>, key: string): Buffer | undefined {
  const value = database.getBinaryFast(encodeKey(key));
  return value?.subarray(0, value.length); // the memory of the reader is longer than the value
}

function openValue(id: string, key: string, value: Buffer): DocumentLookup {
  const document = openDocument(id, { key, value, schemaMax: SCHEMA_VERSION });
  return typeof document === 'string' ? { id, unreadable: document } : document;
}

function listIds(kind: DocumentKind, keys: (start: string, end: string) => string[]): string[] {
  const { start, end } = getKindRange(kind);
  return keys(start, end).flatMap((key) => parseId(kind, key) ?? []);
}

function readLastNumber(
  kind: DocumentKind,
  owner: string,
  lastKey: (start: string, end: string) => string | undefined,
): number {
  const { from, until } = createNumberedRange(owner);
  const key = lastKey(formatDocumentKey(kind, from), formatDocumentKey(kind, until));
  return key === undefined ? 0 : parseNumber(key);
}

interface TransactionParts {
  /** Reads a document as of the last commit. */
  readonly find: (key: string, id: string) => DocumentLookup;
  /** Time of the writes, ms since 1970. */
  readonly time: number;
  /** Receives the published events. */
  readonly events: CommitEvent[];
}

/** Runs the body of a transaction. Operations that were not awaited change nothing after its end. */
async function runChange<T>(view: KeyView, change: TransactionBody<T>, parts: TransactionParts): Promise<T> {
  let isOver = false;
  const requireView = (): KeyView => {
    if (isOver) throw new Error('the transaction is over');
    return view;
  };
  try {
    return await change(createTransaction(requireView, parts));
  } finally {
    isOver = true;
  }
}

function createTransaction(open: () => KeyView, { find, time, events }: TransactionParts): DocumentTransaction {
  return {
    async get(kind, id) {
      const view = open();
      const key = formatKey(kind, id);
      if (key === undefined) return undefined;
      if (view.isStored(key)) return find(key, id);
      const value = view.get(key);
      return value === undefined ? undefined : openValue(id, key, value);
    },
    ids: async (kind) => listIds(kind, open().keys),
    lastNumber: async (kind, owner) => readLastNumber(kind, owner, open().lastKey),
    async put(kind, id, body) {
      const view = open();
      const key = formatDocumentKey(kind, id);
      const { value, etag } = sealDocument(key, body, { schema: SCHEMA_VERSION, time });
      view.put(key, value);
      return etag;
    },
    async delete(kind, id) {
      const view = open();
      const key = formatKey(kind, id);
      if (key === undefined) return false;
      const hasExisted = view.get(key) !== undefined;
      if (hasExisted) view.delete(key);
      return hasExisted;
    },
    publish(event) {
      open();
      events.push(event);
    },
  };
}

function collectKinds(keys: Iterable<string>): Set<DocumentKind> {
  const kinds = new Set<DocumentKind>();
  for (const key of keys) {
    const kind = parseKey(key)?.kind;
    if (kind !== undefined) kinds.add(kind);
  }
  return kinds;
}

/**
 * View of the keys in a transaction. It shows its own writes, then the writes of earlier changes of the same commit,
 * then the disk.
 */
interface KeyView {
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
function createLastKeys(read: (start: string, end: string) => string | undefined): LastKeys {
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
