import type { DataVersions as DataVersionList } from '#contract/stores/data-versions.js';
import { versionNumber, type AsKnownOn } from '#domain/documents/as-known-on.js';
import { DataHistoryDocument, DataVersionDocument, type DataSource } from '#domain/documents/data-version-document.js';
import type { Day } from '#domain/days.js';
import { momentOf } from '#domain/moment.js';
import { Refusal } from '#domain/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { KnownReferences } from '#jobs/tasks/references.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { servedMarket, type ServedMarkets } from '#market/serving/served-markets.js';
import { numberedId } from '#store/document-id.js';
import type { ArtifactRef, ArtifactStore, DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';
import { datasetNotFound } from './documents.js';

export interface DataVersionsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'write' | 'file'>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: ServedMarkets;
  readonly timestamp: () => string;
}

/** A content that is to be served, and how that before it is made from it. */
export interface PreparedVersion {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly source: DataSource;
  /** Number of the version that the change goes back to; null where it was not computed. */
  readonly previous: number | null;
  readonly change: ArtifactRef | null;
  readonly rows: { readonly added: number; readonly changed: number; readonly removed: number } | null;
  readonly knownAt: string;
}

/** A served market by its place in the history of its store. */
export interface KnownMarket {
  readonly served: ServedMarket;
  /** Null of a store whose content was served before there were versions. */
  readonly version: number | null;
}

/** Reads a content from its place; undefined where that cannot be read. */
export type ContentReader = () => Promise<ServedMarket | undefined>;

/** The contents of data stores that were served. */
export interface DataVersions {
  /**
   * What a content that is to be served adds to the history of its store; null where it is the last one.
   * @param replaced reads what the store's files hold until now, asked where its last content is not served
   * @cost of a comparison in a thread, where the last content is served or can be read; nothing otherwise
   */
  prepare(market: ServedMarket, source: DataSource, replaced?: ContentReader): Promise<PreparedVersion | null>;
  /** Newest first. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE */
  list(datasetId: string, query: VersionsQuery): Promise<DataVersionList>;
  /**
   * The served store as it was known; as it is where nothing is asked for.
   * @throws Refusal NO_DATA_SOURCE, NO_DATA_KNOWN, VERSION_NOT_FOUND, DOCUMENT_UNREADABLE, OVERLOADED
   */
  at(asKnownOn: AsKnownOn | undefined): Promise<KnownMarket>;
  /**
   * The contents before one of the served store, as far as they can be had again.
   * @param version of the content; null where its versions are not known
   * @throws Refusal NO_DATA_KNOWN, VERSION_NOT_FOUND, DOCUMENT_UNREADABLE
   */
  before(version: number | null): Promise<KnownReferences>;
  /** A DataDifference as JSON. @throws Refusal STORE_NOT_FOUND, STORE_NOT_SERVED, and as `at` */
  difference(datasetId: string, query: DifferenceQuery, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** The version that has a content; null where none has. */
  versionOf(datasetId: string, contentHash: string): Promise<number | null>;
}

export interface VersionsQuery {
  readonly limit: number;
  readonly before?: number | undefined;
}

export interface DifferenceQuery {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

/** Earlier contents that stay in memory for the next who asks. */
const HELD_MAX = 2;

type Reader = Pick<DocumentReader, 'get'>;

export function createDataVersions(dependencies: DataVersionsDependencies): DataVersions {
  const { documents, artifacts, jobs, markets, timestamp } = dependencies;
  /** By key, the one asked for longest ago first. */
  const held = new Map<string, Promise<ServedMarket>>();

  async function prepare(
    market: ServedMarket,
    source: DataSource,
    replaced?: ContentReader,
  ): Promise<PreparedVersion | null> {
    const { datasetId, contentHash } = market.identity;
    const head = await historyOf(documents, datasetId);
    if (head?.content_hash === contentHash) return null;
    const draft = { datasetId, contentHash, source, knownAt: timestamp() };
    const isLast = (content: ServedMarket | undefined): boolean =>
      content?.identity.datasetId === datasetId && content.identity.contentHash === head?.content_hash;
    const served = markets.served();
    const before = head === undefined || isLast(served) ? served : await replaced?.();
    if (head === undefined || !isLast(before)) return { ...draft, previous: null, change: null, rows: null };
    const input = { before: before!.handle, after: market.handle };
    const { bytes, sha256, rows } = await jobs.query('content-change', input);
    return { ...draft, previous: head.latest, change: await artifacts.write(bytes, sha256), rows };
  }

  async function requireVersion(datasetId: string, version: number): Promise<DataVersionDocument> {
    const stored = await documents.get('data-version', numberedId(datasetId, version));
    if (stored === undefined)
      throw new Refusal('VERSION_NOT_FOUND', `The data store ${datasetId} has no version ${version}.`, { version });
    const document = 'unreadable' in stored ? undefined : DataVersionDocument.safeParse(stored.body).data;
    if (document === undefined) throw unreadable(datasetId, version);
    return document;
  }

  /** The newest version that was known at a time. @throws Refusal NO_DATA_KNOWN */
  async function knownAt(datasetId: string, head: DataHistoryDocument, time: string): Promise<DataVersionDocument> {
    const until = momentOf(time);
    let [low, high] = [1, head.latest];
    let found: DataVersionDocument | undefined;
    while (low <= high) {
      const middle = Math.ceil((low + high) / 2);
      const version = await requireVersion(datasetId, middle);
      if (momentOf(version.known_at) <= until) [found, low] = [version, middle + 1];
      else high = middle - 1;
    }
    if (found !== undefined) return found;
    const message = `Nothing of the data store ${datasetId} was known by ${time}: its first version is later.`;
    throw new Refusal('NO_DATA_KNOWN', message, { store_id: datasetId, as_known_on: time });
  }

  async function at(asKnownOn: AsKnownOn | undefined): Promise<KnownMarket> {
    const served = markets.require();
    const { datasetId, contentHash } = served.identity;
    const head = await historyOf(documents, datasetId);
    const latest = head?.content_hash === contentHash ? head.latest : null;
    if (asKnownOn === undefined) return { served, version: latest };
    if (head === undefined || latest === null)
      throw new Refusal('NO_DATA_KNOWN', `No version of the data store ${datasetId} is known.`, {
        store_id: datasetId,
        as_known_on: asKnownOn,
      });
    const number = versionNumber(asKnownOn);
    const found =
      number === undefined
        ? await knownAt(datasetId, head, String(asKnownOn))
        : await requireVersion(datasetId, number);
    if (found.version === latest) return { served, version: latest };
    if (found.version < head.readable_from) throw notKept(datasetId, found.version);
    return { served: await earlier(served, latest, found), version: found.version };
  }

  /** An earlier content, which stays in memory until others are asked for. */
  function earlier(served: ServedMarket, latest: number, wanted: DataVersionDocument): Promise<ServedMarket> {
    const { datasetId, adjustment, currency = null } = served.identity;
    const key = JSON.stringify([datasetId, adjustment, currency, wanted.version, wanted.content_hash]);
    const known = held.get(key) ?? made(served, latest, wanted);
    held.delete(key);
    held.set(key, known);
    known.catch(() => held.delete(key));
    if (held.size > HELD_MAX) held.delete(held.keys().next().value!);
    return known;
  }

  async function made(served: ServedMarket, latest: number, wanted: DataVersionDocument): Promise<ServedMarket> {
    const { datasetId } = served.identity;
    const changes: { readonly path: string; readonly sha256: string }[] = [];
    for (let version = latest; version > wanted.version; version--) {
      const { change } = await requireVersion(datasetId, version);
      if (change === null) throw notKept(datasetId, wanted.version);
      changes.push({ path: await artifacts.file(change), sha256: change.sha256 });
    }
    const { content_hash: contentHash, known_at: loadedAt } = wanted;
    const { handle } = await jobs.query('earlier-market', { last: served.handle, changes, contentHash });
    const market = await servedMarket(handle, loadedAt);
    markets.hold(market);
    return market;
  }

  async function requireStore(datasetId: string): Promise<void> {
    if ((await documents.get('store', datasetId)) === undefined) throw datasetNotFound(datasetId);
  }

  return {
    prepare,
    async list(datasetId, { limit, before }) {
      await requireStore(datasetId);
      const head = await historyOf(documents, datasetId);
      const versions: DataVersionList['versions'] = [];
      const from = Math.min(head?.latest ?? 0, (before ?? Infinity) - 1);
      for (let version = from; version >= 1 && versions.length < limit; version--) {
        const { change: _, ...listed } = await requireVersion(datasetId, version);
        versions.push({ ...listed, readable: version >= head!.readable_from });
      }
      return { versions, total: head?.latest ?? 0 };
    },
    at,
    async before(version) {
      const { datasetId } = markets.require().identity;
      const head = await historyOf(documents, datasetId);
      if (head === undefined || version === null)
        throw new Refusal('NO_DATA_KNOWN', `No version of the data store ${datasetId} is known.`, {
          store_id: datasetId,
        });
      let content = await requireVersion(datasetId, version);
      const knownOn = dayOf(content);
      const earlier: KnownReferences['earlier'][number][] = [];
      while (content.version > head.readable_from && content.change !== null) {
        const { name: artifact, sha256 } = content.change;
        content = await requireVersion(datasetId, content.version - 1);
        earlier.push({ artifact, sha256, knownOn: dayOf(content) });
      }
      return { knownOn, earlier };
    },
    async difference(datasetId, { from, to, limit }, signal) {
      await requireStore(datasetId);
      if (markets.require().identity.datasetId !== datasetId)
        throw new Refusal('STORE_NOT_SERVED', `The data store ${datasetId} is not being served.`);
      const [before, after] = [await at(from), await at(to)];
      const input = { before: before.served.handle, after: after.served.handle, from, to, limit };
      return (await jobs.query('data-difference', input, signal)).bytes;
    },
    async versionOf(datasetId, contentHash) {
      const head = await historyOf(documents, datasetId);
      for (let version = head?.latest ?? 0; version >= 1; version--)
        if ((await requireVersion(datasetId, version)).content_hash === contentHash) return version;
      return null;
    },
  };
}

/** Day at whose end, in UTC, a content was known. */
function dayOf({ known_at: knownAt }: DataVersionDocument): Day {
  return Math.floor(momentOf(knownAt) / DAY_MS);
}

const DAY_MS = 86_400_000;

/** How the payload of a job names the version that was asked for. */
export function versionOf(
  { as_known_on: asked }: { readonly as_known_on?: AsKnownOn | undefined },
  { version }: KnownMarket,
): { readonly data_version?: number } {
  return asked === undefined || version === null ? {} : { data_version: version };
}

/** Adds a content to the history of its store, in the transaction that serves it. @param rows rows of all of it */
export async function recordDataVersion(
  tx: DocumentTransaction,
  prepared: PreparedVersion,
  rows: number,
): Promise<void> {
  const { datasetId, contentHash, source, previous, knownAt } = prepared;
  const head = await historyOf(tx, datasetId);
  if (head?.content_hash === contentHash) return;
  const version = (head?.latest ?? 0) + 1;
  const isChained = head !== undefined && head.latest === previous && prepared.change !== null;
  const counts = prepared.rows ?? { added: rows, changed: 0, removed: 0 };
  // Versions are in the order of their times, whatever the clock does.
  const known_at = head !== undefined && head.known_at > knownAt ? head.known_at : knownAt;
  await tx.put('data-version', numberedId(datasetId, version), {
    version,
    content_hash: contentHash,
    known_at,
    source,
    rows_added: counts.added,
    rows_changed: counts.changed,
    rows_removed: counts.removed,
    change: isChained ? prepared.change : null,
  } satisfies DataVersionDocument);
  await tx.put('data-history', datasetId, {
    latest: version,
    content_hash: contentHash,
    known_at,
    readable_from: isChained ? head.readable_from : version,
  } satisfies DataHistoryDocument);
}

/** Forgets the contents of a store that is deleted. */
export async function forgetDataVersions(tx: DocumentTransaction, datasetId: string): Promise<void> {
  const head = await historyOf(tx, datasetId);
  for (let version = 1; version <= (head?.latest ?? 0); version++)
    await tx.delete('data-version', numberedId(datasetId, version));
  await tx.delete('data-history', datasetId);
}

/** The last version of a store; undefined where it has none. */
export async function historyOf(reader: Reader, datasetId: string): Promise<DataHistoryDocument | undefined> {
  const stored = await reader.get('data-history', datasetId);
  return stored === undefined || 'unreadable' in stored ? undefined : DataHistoryDocument.safeParse(stored.body).data;
}

function notKept(datasetId: string, version: number): Refusal {
  const message = `Version ${version} of the data store ${datasetId} cannot be had again: a later content came while nobody had both.`;
  return new Refusal('NO_DATA_KNOWN', message, { store_id: datasetId, version });
}

function unreadable(datasetId: string, version: number): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `Version ${version} of the data store ${datasetId} cannot be read.`, {
    version,
  });
}
