import type { DataVersions as DataVersionList } from '#contract/stores/data-versions.js';
import { parseVersionNumber, type AsKnownOn } from '#domain/schema/as-known-on.js';
import type { DataVersionDocument, DataHistoryDocument } from '#domain/documents/data-version-document.js';
import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Day } from '#domain/time/days.js';
import { parseMoment } from '#domain/time/moment.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { EarlierContentReferences } from '#jobs/tasks/references.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { createContentCopies } from './content-copies.js';
import type { VersionPath } from './data-version-refusals.js';
import { getFirst, readHistory, type PreparedVersion, type PreservedContent } from '../stored/data-history.js';
import { listStoredVersions } from './listed-versions.js';
import { createContentRecording, type ContentOrigin, type ContentReader } from './content-recording.js';
import { createEarlierContents, requireStore } from './earlier-contents.js';
import { createPendingCopies, type PendingCopies } from './pending-copies.js';

export interface DataVersionsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'write' | 'file' | 'claim' | 'writeFile' | 'remove'>;
  readonly jobs: Pick<Jobs, 'query' | 'aside'>;
  readonly markets: ServedMarkets;
  readonly timestamp: () => string;
  /** Maximum time in ms that `close` waits for copies of served contents. */
  readonly copyWaitMs: number;
  /** Receives the reason why a served content could not be copied. */
  readonly onCopyFailure: (cause: unknown) => void;
}

/** Served market with its position in the history of its store. */
export interface VersionedMarket {
  readonly served: ServedMarket;
  /** Number of the version; null if the content was served before versions existed. */
  readonly version: number | null;
}

/** Contents of data stores that have been served. */
export interface DataVersions {
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
  /** Lists versions, newest first. @throws Refusal STORE_NOT_FOUND */
  list(datasetId: string, query: VersionsQuery): Promise<DataVersionList>;
  /**
   * Returns the served store as it was known at a time. Without a time, returns the current content.
   * @throws Refusal NO_DATA_SOURCE, NO_DATA_KNOWN, VERSION_NOT_FOUND, DOCUMENT_UNREADABLE, OVERLOADED
   */
  at(asKnownOn: AsKnownOn | undefined): Promise<VersionedMarket>;
  /** Returns the market of `at` without the version. If no date is given, nothing is read. */
  servedAt(asKnownOn: AsKnownOn | undefined): Promise<ServedMarket>;
  /**
   * Returns the earlier contents of the served store that are available. The first content counts as known from the
   * start of the history.
   * @param version version of the content; null if the version is unknown
   * @throws Refusal NO_DATA_KNOWN, VERSION_NOT_FOUND, DOCUMENT_UNREADABLE
   */
  before(version: number | null): Promise<EarlierContentReferences>;
  /**
   * Compares two versions of the store whose market this call uses. Returns a DataDifference as JSON. @throws Refusal
   * STORE_NOT_FOUND, and the refusals of `at`
   */
  difference(datasetId: string, query: DifferenceQuery, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the version that has this content; null if there is none. */
  findVersion(datasetId: string, contentHash: string): Promise<number | null>;
  /** Resolves when every waiting copy is complete or was given up. */
  close(): Promise<void>;
}

export interface VersionsQuery {
  readonly limit: number;
  readonly before?: number | undefined;
}

export interface DifferenceQuery {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
  /** True to list values of appended bars, too. */
  readonly appended: boolean;
}

export function createDataVersions(dependencies: DataVersionsDependencies): DataVersions {
  const { documents, jobs, markets } = dependencies;
  const copies = createContentCopies(dependencies);
  const pendingCopies = createPendingCopies({ ...dependencies, copies, onFailure: dependencies.onCopyFailure });
  const { prepare, preserve, findLastContent } = createContentRecording({
    ...dependencies,
    copies,
    pending: pendingCopies,
  });
  const earlierContents = createEarlierContents(dependencies);
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

/** Day before the beginning of all histories. */
const BEFORE_HISTORY: Day = -(2 ** 31);

/** Returns the version as a member of a job's payload. */
export function selectVersion(
  { as_known_on: requestedTime }: { readonly as_known_on?: AsKnownOn | undefined },
  { version }: VersionedMarket,
): { readonly data_version?: number } {
  return requestedTime === undefined || version === null ? {} : { data_version: version };
}
