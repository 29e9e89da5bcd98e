import type { DataVersionsPayload as DataVersionList } from '#contract/stores.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { type AsKnownOn, parseVersionNumber } from '#domain/base/schema.js';
import { type Day, parseMoment } from '#domain/base/time.js';
import type { CommitEvents } from '#domain/definition/commit-events.js';
import {
  type DataCopy,
  type DataHistoryDocument,
  type DatasetDocument,
  type DataSource,
  DataVersionDocument,
  isManaged,
} from '#domain/definition/datasets.js';
import { PublicationBatch } from '#domain/definition/publication.js';
import type { EarlierContentReferences } from '#jobs/tasks/catalogue.js';
import type { EarlierContentFiles, HashedBytes, HashedFile } from '#jobs/tasks/messages.js';
import { prepareServedMarket, type ServedMarket } from '#market/serve/served-markets.js';
import {
  type ArtifactRef,
  type DocumentKind,
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  formatNumberedId,
  parseStored,
  readStoredBody,
  type UnreadableCause,
} from '#store/port.js';
import type { Context, DataVersions, VersionedMarket } from '../shared/context.js';
import { countSkipped } from '../shared/documents.js';
import { readRun } from '../shared/run-documents.js';
import {
  DELETED_PER_TRANSACTION,
  getFirst,
  type PreparedVersion,
  type PreservedContent,
  readDataset,
  readHistory,
  recordCopy,
  refuseMissingDataset,
  type SourceContext,
} from '../shared/store-documents.js';

/**
 * Copies of the latest contents of stores. They are made for sources that other programs can change, so that the served
 * content remains available after its source has changed.
 */
interface ContentCopies {
  /**
   * Copies a content. Returns null if the content exceeds `MAX_COPIED_CONTENT_BYTES`. If a signal is given, the copy is
   * made in the background while the process has no other work.
   * @throws Refusal STORAGE_FULL, OVERLOADED
   * @cost 3 to 10 ms per megabyte of panels in a thread of the heavy lane, in pieces of some tenths of a second; disk
   * space of one sixth to one half of the panels' bytes, twice that while a copy for a bucket is written; memory for
   * one piece
   */
  of(market: ServedMarket, signal?: AbortSignal): Promise<DataCopy | null>;
  /** Copies a content like `of`. Returns null if there is no disk space, because the content must be served anyway. */
  orNone(market: ServedMarket): Promise<DataCopy | null>;
  /**
   * Stores the change to a later content together with the copy. Returns null if the copy has too many changes or if
   * disk space is low.
   */
  change(copy: DataCopy | null, forth: HashedBytes | null): Promise<ArtifactRef | null>;
  /** Restores the content of a store from its copy. Returns undefined if there is no readable copy. @cost of a load */
  restored(head: DataHistoryDocument, like: Pick<ServedMarket, 'identity'>): Promise<ServedMarket | undefined>;
}

/** Number of changes after which a new copy is made: a quarter of a year with one change per day. */
const CHANGES_DUE = 64;
/**
 * Number of changes after which a copy is deleted if no new copy could be made. A restoration must apply every change.
 */
const CHANGES_MAX = 4 * CHANGES_DUE;

/** A new copy is made when the changes reach this share of the bytes of the copied content. */
const CHANGES_SHARE_DUE = 0.5;

/**
 * Maximum time in ms that one piece waits for other work. Under constant load, a copy of 32 pieces takes eight minutes.
 */
const COPY_TIMEOUT_MS = 15_000;

/** Approximate size of a copy relative to its content. */
const COPY_SIZE_RATIO = 0.5;

function isCopyDue(copy: DataCopy | null): boolean {
  if (copy === null || copy.changes.length >= CHANGES_DUE) return true;
  const bytes = copy.changes.reduce((sum, change) => sum + change.bytes, 0);
  return bytes > CHANGES_SHARE_DUE * copy.content.bytes;
}

function createContentCopies({ artifacts, jobs }: SourceContext): ContentCopies {
  async function createCopy(market: ServedMarket, signal?: AbortSignal): Promise<DataCopy | null> {
    const bytes = market.handle.fields.reduce((sum, { values }) => sum + values.byteLength, 0);
    if (bytes > LIMITS.MAX_COPIED_CONTENT_BYTES) return null;
    const name = await artifacts.claim(COPY_SIZE_RATIO * bytes);
    try {
      const path = await artifacts.file({ name });
      for (let from: number | null = 0; from !== null;) {
        const result: { readonly next: number | null } = await jobs.aside(
          'content-copy',
          { market: market.handle, from, path },
          signal,
          signal === undefined ? 0 : COPY_TIMEOUT_MS,
        ); // Other work runs between the pieces.
        from = result.next;
      }
      return { content: await artifacts.writeFile(path), changes: [] };
    } finally {
      await artifacts.remove([name]).catch(() => {}); // the garbage collector removes the artifact
    }
  }

  const fetchFile = async (ref: ArtifactRef): Promise<HashedFile> => ({
    path: await artifacts.file(ref),
    sha256: ref.sha256,
  });

  return {
    of: createCopy,
    orNone: (market) => ignoreRefusal(() => createCopy(market)),
    async change(copy, forwardChange) {
      if (forwardChange === null || (copy?.changes.length ?? 0) >= CHANGES_MAX) return null;
      return ignoreRefusal(() => artifacts.write(forwardChange.bytes, forwardChange.sha256));
    },
    async restored({ copy, content_hash: contentHash, known_at: knownAt }, { identity }) {
      if (copy === null) return undefined;
      const { datasetId, adjustment, currency = null } = identity;
      const market = await ignoreRefusal(async () => {
        const [content, changes] = [await fetchFile(copy.content), await Promise.all(copy.changes.map(fetchFile))];
        const input = { datasetId, adjustment, currency, content, changes, contentHash };
        const { handle } = await jobs.query('copied-market', input);
        return prepareServedMarket(handle, knownAt);
      });
      return market ?? undefined;
    },
  };
}

async function ignoreRefusal<T>(createValue: () => Promise<T>): Promise<T | null> {
  try {
    return await createValue();
  } catch (failure) {
    if (failure instanceof Refusal) return null;
    throw failure;
  }
}

/** Copies of served contents. They are made in the background by a thread, one at a time. */
interface PendingCopies {
  /** Announces that a content will be served and that other programs can change its source. */
  expect(contentHash: string): void;
  /** Copies an expected content that is served now, or is the content of a store that is not active. */
  onContent(event: CommitEvents['market-activated'] | CommitEvents['store-content']): void;
  /** Adds a content that is already served. */
  add(market: ServedMarket): void;
  /** Returns a content that waits for its copy, or is being copied. */
  find(contentHash: string): ServedMarket | undefined;
  /** Resolves when all waiting copies are complete. Stops copies that take longer than `copyWaitMs`. */
  close(): Promise<void>;
}

/** Maximum number of waiting copies. If there are more, the oldest is dropped until its content is served again. */
const WAITING_MAX = 4;

/** Maximum number of expected contents. Several loads can run before one content is served. */
const EXPECTED_MAX = 16;

function createPendingCopies(
  { documents, artifacts, markets }: SourceContext,
  copies: ContentCopies,
  { copyWaitMs, onCopyFailure }: CopyTerms,
): PendingCopies {
  const expectedHashes = new Set<string>();
  const queue: ServedMarket[] = [];
  const closing = new AbortController();
  let currentMarket: ServedMarket | undefined;
  let queueEnd: Promise<void> = Promise.resolve();

  function add(market: ServedMarket): void {
    const { datasetId } = market.identity;
    // only the latest content of a store is copied
    const earlierPosition = queue.findIndex(({ identity }) => identity.datasetId === datasetId);
    if (earlierPosition >= 0) queue.splice(earlierPosition, 1);
    queue.push(market);
    if (queue.length > WAITING_MAX) queue.shift();
    if (currentMarket === undefined) queueEnd = copyQueue();
  }

  async function copyQueue(): Promise<void> {
    while ((currentMarket = queue.shift()) !== undefined) {
      try {
        await copy(currentMarket);
      } catch (cause) {
        if (!closing.signal.aborted) onCopyFailure(cause);
      }
    }
  }

  async function copy(market: ServedMarket): Promise<void> {
    const { datasetId, contentHash } = market.identity;
    const head = await readHistory(documents, datasetId);
    if (head?.content_hash !== contentHash || !isCopyDue(head.copy)) return;
    const result: DataCopy | null = closing.signal.aborted ? null : await copies.of(market, closing.signal);
    if (result === null) return;
    const isRecorded = await documents.transaction((tx) => recordCopy(tx, { datasetId, contentHash, copy: result }));
    if (!isRecorded) await artifacts.remove([result.content.name]);
  }

  return {
    expect(contentHash) {
      expectedHashes.add(contentHash);
      if (expectedHashes.size > EXPECTED_MAX) expectedHashes.delete(expectedHashes.values().next().value!);
    },
    onContent({ market }) {
      const content = markets.find(market);
      if (content !== undefined && expectedHashes.delete(market.contentHash)) add(content);
    },
    add,
    find: (contentHash) => [currentMarket, ...queue].find((market) => market?.identity.contentHash === contentHash),
    async close() {
      const stopTimer = setTimeout(() => closing.abort(), copyWaitMs);
      await queueEnd;
      clearTimeout(stopTimer);
    },
  };
}

/** Function that reads a content from its location. It returns undefined if the location cannot be read. */
type ContentReader = () => Promise<ServedMarket | undefined>;

interface ContentOrigin {
  readonly source: DataSource;
  /**
   * Kind of the store. Files of imported and synthetic stores belong to the service. No other program changes them, so
   * they are not copied.
   */
  readonly kind: DatasetDocument['kind'];
  /** Reads the content that the store's files have now. Used if the latest content is not served. */
  readonly replaced?: ContentReader;
}

/** Service that prepares the next version in the history of a store. */
function createContentRecording(
  { documents, artifacts, jobs, markets, timestamp }: SourceContext,
  copies: ContentCopies,
  pending: PendingCopies,
) {
  /**
   * Prepares the version to add to the history of a store. Returns null if the last version already has this content.
   */
  async function prepare(
    market: ServedMarket,
    { source, kind, replaced }: ContentOrigin,
  ): Promise<PreparedVersion | null> {
    const { datasetId, contentHash } = market.identity;
    const head = await readHistory(documents, datasetId);
    const isManagedStore = isManaged(kind);
    if (!isManagedStore) pending.expect(contentHash);
    if (head?.content_hash === contentHash) return null;
    const firstSource = kind === 'synthetic' ? kind : 'import';
    const emptyChange = { previous: null, change: null, rows: null, forth: null };
    const draft = {
      datasetId,
      contentHash,
      source: head === undefined && (source === 'refresh' || source === 'reload') ? firstSource : source,
      knownAt: timestamp(),
      ...emptyChange,
    };
    const previousMarket = head === undefined ? undefined : await findLastContent(head, market, replaced);
    if (head === undefined || previousMarket === undefined) return draft;
    const isCopied = head.copy !== null || pending.find(head.content_hash) !== undefined;
    const input = { before: previousMarket.handle, after: market.handle, isBothWays: !isManagedStore && isCopied };
    const { back, forth, rows } = await jobs.query('content-change', input);
    const change = await artifacts.write(back.bytes, back.sha256);
    return { ...draft, previous: head.latest, change, rows, forth: await copies.change(head.copy, forth) };
  }

  /**
   * Returns the latest content of a store: the served content, its copy, or the content of its files. Returns undefined
   * if none of these is available.
   */
  async function findLastContent(
    head: DataHistoryDocument,
    after: Pick<ServedMarket, 'identity'>,
    readReplaced: ContentReader | undefined,
  ): Promise<ServedMarket | undefined> {
    const isLastContent = (content: ServedMarket | undefined): boolean =>
      content?.identity.datasetId === after.identity.datasetId && content.identity.contentHash === head.content_hash;
    const current = markets.served();
    if (isLastContent(current)) return current;
    const restoredMarket = await copies.restored(head, after);
    if (restoredMarket !== undefined) return restoredMarket;
    const replacedMarket = await readReplaced?.();
    return isLastContent(replacedMarket) ? replacedMarket : undefined;
  }

  /**
   * Copies the latest content of a store that is not served. Returns null if the store has no content or already has a
   * copy.
   */
  async function preserve(datasetId: string, contentReader: ContentReader): Promise<PreservedContent | null> {
    const head = await readHistory(documents, datasetId);
    if (head === undefined || head.copy !== null) return null;
    const content = await contentReader();
    if (content?.identity.contentHash !== head.content_hash) return null;
    const copy = await copies.orNone(content);
    return copy === null ? null : { datasetId, contentHash: head.content_hash, copy };
  }

  return { prepare, preserve, findLastContent };
}

/** Parameter of a request that names a version. */
type VersionPath = 'as_known_on' | 'from' | 'to';

interface MissingVersion {
  readonly version: number;
  readonly head: DataHistoryDocument | undefined;
  readonly path: VersionPath | undefined;
}

function refuseMissingVersion(datasetId: string, { version, head, path }: MissingVersion): Refusal {
  const [first, last] = [getFirst(head), head?.latest];
  const versionRange = last === undefined ? 'none' : `${first} to ${last}`;
  const message = `The data store ${datasetId} has no version ${version}; it has ${versionRange}.`;
  return new Refusal('VERSION_NOT_FOUND', message, {
    version,
    ...(last === undefined ? {} : { first, last }),
    ...(path === undefined ? {} : { path }),
  });
}

/** @param kept number of versions that the store keeps; null if all versions are kept */
function createPurgedRefusal(
  datasetId: string,
  version: number,
  { kept, latest }: { readonly kept: number | null; readonly latest: number },
): Refusal {
  const isForgotten = kept !== null && version <= latest - kept;
  const reason = isForgotten
    ? `it was forgotten, as the store keeps ${kept} (versions_kept)`
    : 'no copy of it was left when a later content came';
  const message = `Version ${version} of the data store ${datasetId} cannot be had again: ${reason}.`;
  const detail = { store_id: datasetId, version, ...(isForgotten ? { versions_kept: kept } : {}) };
  return new Refusal('NO_DATA_KNOWN', message, detail);
}

/** @param firstAt time from which the first version was known */
function createLaterVersionRefusal(datasetId: string, time: string, firstAt: string): Refusal {
  const message = `Nothing of the data store ${datasetId} was known by ${time}: its first version was known at ${firstAt}.`;
  const detail = { store_id: datasetId, as_known_on: time, first_known_on: firstAt, path: 'as_known_on' };
  return new Refusal('NO_DATA_KNOWN', message, detail);
}

function refuseUnreadable(datasetId: string, version: number): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `Version ${version} of the data store ${datasetId} cannot be read.`, {
    version,
  });
}

type Reader = Pick<DocumentReader, 'get'>;

/**
 * Returns a version of a data store, or the reason why the version is unreadable. Returns undefined if there is no
 * version with this number.
 */
async function readStoredVersion(
  reader: Reader,
  datasetId: string,
  version: number,
): Promise<DataVersionDocument | UnreadableCause | undefined> {
  const storedDocument = await reader.get('data-version', formatNumberedId(datasetId, version));
  if (storedDocument === undefined) return undefined;
  return 'unreadable' in storedDocument
    ? storedDocument.unreadable
    : (DataVersionDocument.safeParse(storedDocument.body).data ?? 'invalid');
}

interface ListedQuery {
  readonly head: DataHistoryDocument | undefined;
  readonly limit: number;
  readonly before?: number | undefined;
}

/** Returns versions, newest first, and counts unreadable versions. */
async function listStoredVersions(
  reader: Reader,
  datasetId: string,
  { head, limit, before = Infinity }: ListedQuery,
): Promise<Omit<DataVersionList, 'copy'>> {
  const versions: DataVersionList['versions'] = [];
  const skippedCauses: UnreadableCause[] = [];
  const [latest, first] = [head?.latest ?? 0, getFirst(head)];
  for (let version = Math.min(latest, before - 1); version >= first && versions.length < limit; version--) {
    const result = (await readStoredVersion(reader, datasetId, version)) ?? 'unreadable'; // version numbers have no gap
    if (typeof result === 'string') {
      skippedCauses.push(result);
      continue;
    }
    const { change: _, ...listed } = result;
    versions.push({ ...listed, readable: version >= head!.readable_from });
  }
  return { versions, total: latest - first + 1, ...countSkipped(skippedCauses) };
}

/** Maximum number of earlier contents kept in memory. */
const CACHED_CONTENTS_MAX = 2;

/** Versions of stores, and their contents before the latest content. */
function createEarlierContents({ documents, artifacts, jobs, markets }: SourceContext) {
  /** Contents by key, least recently requested first. */
  const contents = new Map<string, Promise<ServedMarket>>();

  /** Returns a version of a store. @throws Refusal VERSION_NOT_FOUND, DOCUMENT_UNREADABLE */
  async function requireVersion(datasetId: string, version: number, path?: VersionPath): Promise<DataVersionDocument> {
    const storedVersion = await readStoredVersion(documents, datasetId, version);
    if (storedVersion === undefined)
      throw refuseMissingVersion(datasetId, { version, head: await readHistory(documents, datasetId), path });
    if (typeof storedVersion === 'string') throw refuseUnreadable(datasetId, version);
    return storedVersion;
  }

  async function findVersionAt(
    datasetId: string,
    head: DataHistoryDocument,
    time: string,
  ): Promise<DataVersionDocument> {
    const knownAt = parseMoment(time);
    let [low, high] = [getFirst(head), head.latest];
    let storedVersion: DataVersionDocument | undefined;
    while (low <= high) {
      const middle = Math.ceil((low + high) / 2);
      const version = await requireVersion(datasetId, middle);
      if (parseMoment(version.known_at) <= knownAt) [storedVersion, low] = [version, middle + 1];
      else high = middle - 1;
    }
    if (storedVersion !== undefined) return storedVersion;
    throw createLaterVersionRefusal(datasetId, time, (await requireVersion(datasetId, getFirst(head))).known_at);
  }

  async function createLostVersionRefusal(datasetId: string, version: number): Promise<Refusal> {
    const latestVersion = (await readHistory(documents, datasetId))?.latest ?? version;
    return createPurgedRefusal(datasetId, version, {
      kept: (await requireStore(documents, datasetId))?.versions_kept ?? null,
      latest: latestVersion,
    });
  }

  function getContent(
    servedMarket: ServedMarket,
    latestVersion: number,
    version: DataVersionDocument,
  ): Promise<ServedMarket> {
    const { datasetId, adjustment, currency = null } = servedMarket.identity;
    const key = JSON.stringify([datasetId, adjustment, currency, version.version, version.content_hash]);
    const content = contents.get(key) ?? readContent(servedMarket, latestVersion, version);
    contents.delete(key);
    contents.set(key, content);
    content.catch(() => contents.delete(key));
    if (contents.size > CACHED_CONTENTS_MAX) contents.delete(contents.keys().next().value!);
    return content;
  }

  async function readContent(
    servedMarket: ServedMarket,
    latestVersion: number,
    requestedVersion: DataVersionDocument,
  ): Promise<ServedMarket> {
    const { datasetId } = servedMarket.identity;
    const changes: { readonly path: string; readonly sha256: string }[] = [];
    for (let version = latestVersion; version > requestedVersion.version; version--) {
      const { change } = await requireVersion(datasetId, version);
      if (change === null) throw await createLostVersionRefusal(datasetId, requestedVersion.version);
      changes.push({ path: await artifacts.file(change), sha256: change.sha256 });
    }
    const { content_hash: contentHash, known_at: loadedAt } = requestedVersion;
    const { handle } = await jobs.query('earlier-market', { last: servedMarket.handle, changes, contentHash });
    const market = await prepareServedMarket(handle, loadedAt);
    markets.hold(market);
    return market;
  }

  return {
    requireVersion,
    /** Returns the newest version that was known at a time. @throws Refusal NO_DATA_KNOWN */
    knownAt: findVersionAt,
    /** Returns an earlier content. It stays in memory until other contents are requested. */
    content: getContent,
    refuseLost: createLostVersionRefusal,
  };
}

/** Returns the document of a store; undefined if it is unreadable. @throws Refusal STORE_NOT_FOUND */
async function requireStore(documents: DocumentStore, datasetId: string): Promise<DatasetDocument | undefined> {
  const storedDocument = await documents.get('store', datasetId);
  if (storedDocument === undefined) throw refuseMissingDataset(datasetId);
  return readStoredBody(storedDocument, readDataset);
}

/** Copies of served contents. A copy that fails is made by the next read of its content. */
export interface CopyTerms {
  /** Maximum time in ms that `close` waits for copies of served contents. */
  readonly copyWaitMs: number;
  /** Receives the reason why a served content could not be copied. */
  readonly onCopyFailure: (cause: unknown) => void;
}

export interface DataHistory extends DataVersions {
  /**
   * Prepares a new version with the current content of a store. Returns null if the latest version has the same
   * content. If other programs can change the source, the content is copied after it is served.
   * @cost a comparison in a worker thread, if the latest content can be read
   */
  prepare(market: ServedMarket, origin: ContentOrigin): Promise<PreparedVersion | null>;
  /**
   * Copies the latest content of a store that is not served before its files are replaced. Returns null if the store
   * was never served or already has a copy.
   */
  preserve(datasetId: string, content: ContentReader): Promise<PreservedContent | null>;
  /**
   * Returns the latest content of a store: the served content, or its copy. Returns undefined if there is neither.
   * @cost of a load if the content is not served
   */
  last(market: Pick<ServedMarket, 'identity'>): Promise<ServedMarket | undefined>;
  /** Called when a content is stored. Copies the content if other programs can change its source. */
  onContent: PendingCopies['onContent'];
  /** Copies a content that is already served, if a copy is needed. */
  copyUsed(market: ServedMarket, kind: DatasetDocument['kind']): void;
  /** Resolves when every waiting copy is complete or was given up. */
  close(): Promise<void>;
}

export function createDataVersions(context: SourceContext, terms: CopyTerms): DataHistory {
  const { documents, jobs, markets } = context;
  const copies = createContentCopies(context);
  const pendingCopies = createPendingCopies(context, copies, terms);
  const { prepare, preserve, findLastContent } = createContentRecording(context, copies, pendingCopies);
  const earlierContents = createEarlierContents(context);
  const { requireVersion } = earlierContents;

  async function findMarket(
    asKnownOn: AsKnownOn | undefined,
    path: VersionPath = 'as_known_on',
  ): Promise<VersionedMarket> {
    const servedMarket = markets.require();
    const { datasetId, contentHash } = servedMarket.identity;
    const head = await readHistory(documents, datasetId);
    const latestVersion = head?.content_hash === contentHash ? head.latest : null;
    if (asKnownOn === undefined) return { served: servedMarket, version: latestVersion };
    if (head === undefined || latestVersion === null)
      throw new Refusal('NO_DATA_KNOWN', `No version of the data store ${datasetId} is known.`, {
        store_id: datasetId,
        as_known_on: asKnownOn,
      });
    const number = parseVersionNumber(asKnownOn);
    const storedVersion =
      number === undefined
        ? await earlierContents.knownAt(datasetId, head, String(asKnownOn))
        : await requireVersion(datasetId, number, path);
    if (storedVersion.version === latestVersion) return { served: servedMarket, version: latestVersion };
    if (storedVersion.version < head.readable_from)
      throw await earlierContents.refuseLost(datasetId, storedVersion.version);
    return {
      served: await earlierContents.content(servedMarket, latestVersion, storedVersion),
      version: storedVersion.version,
    };
  }

  function getState(
    head: DataHistoryDocument | undefined,
    store: DatasetDocument | undefined,
  ): DataVersionList['copy'] {
    if (head === undefined) return null;
    if (head.copy !== null) return 'made';
    if (store === undefined || isManaged(store.kind)) return null;
    return pendingCopies.find(head.content_hash) === undefined ? 'missing' : 'pending';
  }

  return {
    prepare,
    preserve,
    async last(market) {
      const { datasetId, contentHash } = market.identity;
      // Looked up first: the copy may be complete when the history has been read.
      const pendingContent = pendingCopies.find(contentHash);
      const head = await readHistory(documents, datasetId);
      if (head === undefined) return undefined;
      return head.content_hash === contentHash && pendingContent?.identity.datasetId === datasetId
        ? pendingContent
        : findLastContent(head, market, undefined);
    },
    onContent: pendingCopies.onContent,
    copyUsed(market, kind) {
      if (!isManaged(kind)) pendingCopies.add(market);
    },
    async list(datasetId, query) {
      const store = await requireStore(documents, datasetId);
      const head = await readHistory(documents, datasetId);
      return { ...(await listStoredVersions(documents, datasetId, { head, ...query })), copy: getState(head, store) };
    },
    at: findMarket,
    servedAt: async (asKnownOn) => (asKnownOn === undefined ? markets.require() : (await findMarket(asKnownOn)).served),
    async before(version) {
      const { datasetId } = markets.require().identity;
      const head = await readHistory(documents, datasetId);
      if (head === undefined || version === null)
        throw new Refusal('NO_DATA_KNOWN', `No version of the data store ${datasetId} is known.`, {
          store_id: datasetId,
        });
      // The first content of a store counts as known from the start of its history.
      const getDay = (content: DataVersionDocument): Day =>
        content.version === getFirst(head) ? BEFORE_HISTORY : computeVersionDay(content);
      let content = await requireVersion(datasetId, version);
      const knownOn = getDay(content);
      const references: EarlierContentReferences['earlier'][number][] = [];
      while (content.version > head.readable_from && content.change !== null) {
        const { name: artifact, sha256 } = content.change;
        content = await requireVersion(datasetId, content.version - 1);
        references.push({ artifact, sha256, knownOn: getDay(content) });
      }
      return { knownOn, earlier: references };
    },
    async difference(datasetId, { from, to, limit, appended }, signal) {
      await requireStore(documents, datasetId);
      const [before, after] = [await findMarket(from, 'from'), await findMarket(to, 'to')];
      const input = {
        before: before.served.handle,
        after: after.served.handle,
        from,
        to,
        limit,
        isAppendedListed: appended,
      };
      return (await jobs.query('data-difference', input, signal)).bytes;
    },
    async findVersion(datasetId, contentHash) {
      const head = await readHistory(documents, datasetId);
      for (let version = head?.latest ?? 0; version >= getFirst(head); version--)
        if ((await requireVersion(datasetId, version)).content_hash === contentHash) return version;
      return null;
    },
    close: pendingCopies.close,
  };
}

/** Returns the day on which a content became known. The content counts as known at the end of that day in UTC. */
function computeVersionDay({ known_at: knownAt }: DataVersionDocument): Day {
  return Math.floor(parseMoment(knownAt) / DAY_MS);
}

const DAY_MS = 86_400_000;

const BEFORE_HISTORY: Day = -(2 ** 31);

/** Returns the version as a member of a job's payload. */
export function selectVersion(
  { as_known_on: requestedTime }: { readonly as_known_on?: AsKnownOn | undefined },
  { version }: VersionedMarket,
): { readonly data_version?: number } {
  return requestedTime === undefined || version === null ? {} : { data_version: version };
}

/** Returns the contents that were known before a version, as files on this machine. @throws Refusal NO_DATA_KNOWN */
export async function listVersionFilesBefore(
  { artifacts, dataVersions }: Context,
  version: number | null,
): Promise<EarlierContentFiles> {
  const { knownOn, earlier } = await dataVersions.before(version);
  const files = earlier.map(async ({ artifact, ...content }) => ({
    ...content,
    path: await artifacts.file({ name: artifact }),
  }));
  return { knownOn, earlier: await Promise.all(files) };
}

/**
 * Removes old contents of a store beyond the number to keep, but keeps their metadata. Each content is reconstructed
 * from the next one. Therefore the oldest content that a stored run or a published close uses is kept, with all later
 * contents. Removes up to `DELETED_PER_TRANSACTION` contents, oldest first.
 * @returns true if there are more contents to drop
 * @cost of a read of every stored run and published close, if there is something to drop
 */
export async function purgeDataVersions(tx: DocumentTransaction, datasetId: string): Promise<boolean> {
  const storedDocument = await tx.get('store', datasetId);
  const dataset = readStoredBody(storedDocument, readDataset);
  const head = await readHistory(tx, datasetId);
  if (head === undefined || dataset?.versions_kept == null) return false;
  const firstKept = head.latest - dataset.versions_kept + 1;
  if (firstKept <= head.readable_from) return false;
  const last = await findFirstReferencedVersion(tx, { datasetId, head, before: firstKept });
  if (last <= head.readable_from) return false;
  const firstVersion = Math.min(last, head.readable_from + DELETED_PER_TRANSACTION);
  for (let version = head.readable_from + 1; version <= firstVersion; version++) {
    const document = await readVersion(tx, datasetId, version);
    if (document !== undefined)
      await tx.put('data-version', formatNumberedId(datasetId, version), { ...document, change: null });
  }
  await tx.put('data-history', datasetId, { ...head, readable_from: firstVersion } satisfies DataHistoryDocument);
  return firstVersion < last;
}

interface Span {
  readonly datasetId: string;
  readonly head: DataHistoryDocument;
  /** First version that is kept. All later versions are kept as well. */
  readonly before: number;
}

/**
 * Returns the oldest version that a document uses. If no document uses a version, returns the first version to keep.
 */
async function findFirstReferencedVersion(tx: DocumentTransaction, { datasetId, head, before }: Span): Promise<number> {
  const versions = new Map<string, number>();
  for (let version = before - 1; version >= head.readable_from; version--) {
    const document = await readVersion(tx, datasetId, version);
    if (document !== undefined) versions.set(document.content_hash, version);
  }
  let firstReference = before;
  const addReference = (hash: string | null): void => {
    firstReference = Math.min(firstReference, (hash === null ? undefined : versions.get(hash)) ?? before);
  };
  for (const kind of ['run', 'kept-run'] as const)
    for await (const body of readBodies(tx, kind)) {
      const run = readRun(body);
      if (run?.store_id !== datasetId) continue;
      // Such a run used every earlier content for its decisions.
      if ((run.request as { readonly as_known?: unknown }).as_known !== undefined) return head.readable_from;
      addReference(run.store_content_hash);
    }
  for await (const body of readBodies(tx, 'publication'))
    for (const entry of PublicationBatch.safeParse(body).data?.entries ?? []) addReference(entry.data_hash);
  return firstReference;
}

async function* readBodies(tx: DocumentTransaction, kind: DocumentKind): AsyncGenerator<unknown> {
  for (const id of await tx.ids(kind)) {
    const storedDocument = await tx.get(kind, id);
    if (storedDocument !== undefined && !('unreadable' in storedDocument)) yield storedDocument.body;
  }
}

async function readVersion(
  tx: DocumentTransaction,
  datasetId: string,
  version: number,
): Promise<DataVersionDocument | undefined> {
  const storedDocument = await tx.get('data-version', formatNumberedId(datasetId, version));
  return parseStored(storedDocument, DataVersionDocument);
}
