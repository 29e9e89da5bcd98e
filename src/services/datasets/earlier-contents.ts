import type { DataVersionDocument, DataHistoryDocument } from '#domain/documents/data-version-document.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { parseMoment } from '#domain/time/moment.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { prepareServedMarket, type ServedMarkets } from '#market/serving/served-markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import {
  createLaterVersionRefusal,
  createPurgedRefusal,
  refuseUnreadable,
  refuseMissingVersion,
  type VersionPath,
} from './data-version-refusals.js';
import { getFirst, readHistory } from '../stored/data-history.js';
import { readStoredVersion } from './listed-versions.js';
import { refuseMissingDataset, readDataset } from '../stored/dataset-documents.js';

/** Maximum number of earlier contents kept in memory. */
const CACHED_CONTENTS_MAX = 2;

interface EarlierContentsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'file'>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: ServedMarkets;
}

/** Versions of stores, and their contents before the latest content. */
export interface EarlierContents {
  /** Returns a version of a store. @throws Refusal VERSION_NOT_FOUND, DOCUMENT_UNREADABLE */
  requireVersion(datasetId: string, version: number, path?: VersionPath): Promise<DataVersionDocument>;
  /** Returns the newest version that was known at a time. @throws Refusal NO_DATA_KNOWN */
  knownAt(datasetId: string, head: DataHistoryDocument, time: string): Promise<DataVersionDocument>;
  /** Returns an earlier content. It stays in memory until other contents are requested. */
  content(servedMarket: ServedMarket, latest: number, version: DataVersionDocument): Promise<ServedMarket>;
  /** Returns the refusal for a content that is no longer stored. */
  refuseLost(datasetId: string, version: number): Promise<Refusal>;
}

export function createEarlierContents({
  documents,
  artifacts,
  jobs,
  markets,
}: EarlierContentsDependencies): EarlierContents {
  /** Contents by key, least recently requested first. */
  const contents = new Map<string, Promise<ServedMarket>>();

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

  return { requireVersion, knownAt: findVersionAt, content: getContent, refuseLost: createLostVersionRefusal };
}

/** Returns the document of a store; undefined if it is unreadable. @throws Refusal STORE_NOT_FOUND */
export async function requireStore(documents: DocumentStore, datasetId: string): Promise<DatasetDocument | undefined> {
  const storedDocument = await documents.get('store', datasetId);
  if (storedDocument === undefined) throw refuseMissingDataset(datasetId);
  return readStored(storedDocument, readDataset);
}
