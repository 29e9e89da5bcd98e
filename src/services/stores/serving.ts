import { copyFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Finding, type FindingCode, sortFindings } from '#domain/base/findings.js';
import { type ErrorDetail, Refusal } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import { type Calendars, listSessionsBetween } from '#domain/calendars/calendar.js';
import type { CommitEvents } from '#domain/definition/commit-events.js';
import {
  ActiveMarketDocument,
  DatasetDocument,
  findPendingPrices,
  isManaged,
  refuseWhileLoading,
  type StartImport,
  TABLE_KINDS,
} from '#domain/definition/datasets.js';
import { mayRead } from '#domain/definition/reach.js';
import { createMarketKey, type MarketIdentity } from '#domain/market/market-data.js';
import type { GeneratePayload, GenerateRequest } from '#domain/outputs/jobs.js';
import type { Attempt, JobHandlers, JobKind, JobSystem } from '#jobs/port/job-kind.js';
import type { RefreshMarketOutput } from '#jobs/tasks/markets.js';
import type { ChangeCounts } from '#market/content/changes.js';
import {
  computeMarksWithoutLater,
  computePrefixMark,
  countTableRows,
  type PrefixMark,
} from '#market/content/content-hash.js';
import type { RefreshReport } from '#market/judge/refresh.js';
import type { VersionFile } from '#market/read/folder.js';
import { runMarketTask, sweepSharedFolders } from '#market/serve/market-process.js';
import type { ContentSummary } from '#market/serve/market-tasks.js';
import {
  encodeSnapshot,
  type FailedLoad,
  getCallMarket,
  type Markets,
  onMarket,
  prepareServedMarket,
  readSnapshot,
  redeclareMarket,
  runOffMarket,
  type ServedMarket,
  type ServedMarkets,
} from '#market/serve/served-markets.js';
import { GENERATOR, type SyntheticSpec } from '#market/synthetic/factors.js';
import { type ArtifactRef, type DocumentStore, type DocumentTransaction, parseStored } from '#store/port.js';
import { runUnrestricted } from '#store/reach.js';
import { currentReach, outside } from '../keys/access.js';
import type { Context, StoreMarkets } from '../shared/context.js';
import { writeHashed } from '../shared/documents.js';
import type { Gate } from '../shared/gate.js';
import {
  deleteLeftovers,
  listDatasets,
  type PreparedVersion,
  recordDataVersion,
  requireDataset,
  type SourceContext,
} from '../shared/store-documents.js';
import { type DataHistory, purgeDataVersions } from './data-versions.js';
import {
  createLoadedFields,
  type DatasetActivity,
  type DatasetLoading,
  findAlteredFiles,
  placeFindings,
  recordFailure,
  refuseUnreadableStore,
  type SourceTerms,
  toStoredFindings,
} from './loading.js';

/** Service that makes a market active: in this process only, or in every process that shares the documents. */
export interface Activations {
  /**
   * Build of this engine, recorded in stores that it has read. Absent if several processes serve data that one of them
   * read.
   */
  readonly readBy?: string;
  /**
   * Prepares a market in every process that will serve it. Must be called before the transaction that makes the market
   * active.
   */
  prepare(servedMarket: ServedMarket): Promise<void>;
  /** Makes a prepared market active. It is served after the transaction is on disk. */
  activate(tx: DocumentTransaction, servedMarket: ServedMarket): Promise<void>;
  /** Stores changed declarations of the active market and sends them to all processes. */
  declare(tx: DocumentTransaction, event: CommitEvents['market-declared']): Promise<void>;
  /** Replaces the content of an inactive store with a prepared market. */
  replace(tx: DocumentTransaction, servedMarket: ServedMarket): Promise<void>;
  /**
   * Returns the shared content of a store. Returns undefined if the content must be read from the source.
   * @throws Refusal STORE_UNAVAILABLE, DOCUMENT_UNREADABLE
   */
  shared(document: DatasetDocument): Promise<ServedMarket | undefined>;
  /** Deletes the shared content of a deleted store. */
  forget(tx: DocumentTransaction, datasetId: string): Promise<void>;
  /** Handles the event that this process or another process activated a market. */
  onActivated(event: CommitEvents['market-activated']): void;
  /**
   * Serves the market that the documents name as the active market. If it is already served, the call costs one read.
   * @returns false if the documents name no active market
   * @throws Refusal STORE_UNAVAILABLE, DOCUMENT_UNREADABLE
   */
  follow(): Promise<boolean>;
}

/** Creates the activations of a single process. Its memory holds the market. */
export function createLocalActivations(markets: ServedMarkets, readBy: string): Activations {
  return {
    readBy,
    async prepare() {},
    async activate(tx, servedMarket) {
      tx.publish(markets.activation(servedMarket));
    },
    async declare(tx, event) {
      tx.publish({ type: 'market-declared', ...event });
    },
    async replace(tx, servedMarket) {
      markets.hold(servedMarket);
      tx.publish({ type: 'store-content', market: servedMarket.identity });
    },
    shared: async () => undefined,
    async forget() {},
    onActivated: markets.activate,
    follow: async () => false,
  };
}

/** Id of the document that contains the id of the served market. */
const ACTIVE = 'active';

/** Returns the id of the document that refers to the shared content of a store. Ids of stores contain no slash. */
const formatSharedId = (datasetId: string): string => `store/${datasetId}`;

/** Maximum number of times that the active market may change while markets are fetched. */
const FOLLOWED_MAX = 20;

/**
 * Creates activations for several processes. The columns of a market are stored as an artifact that never changes, and
 * a document refers to the active market. A process that cannot read the source of a store reads the artifact.
 * @param onFailure receives the error if a market that another process activated cannot be fetched
 */
export function createSharedActivations(
  { documents, artifacts, markets }: SourceContext,
  onFailure: (cause: unknown) => void,
): Activations {
  const snapshots = new WeakMap<MarketIdentity, ArtifactRef>();
  let lastFetch: Promise<unknown> = Promise.resolve();

  async function findActiveMarket(
    reader: Pick<DocumentStore, 'get'>,
    id: string,
  ): Promise<ActiveMarketDocument | undefined> {
    const storedDocument = await reader.get('market', id);
    if (storedDocument === undefined) return undefined;
    const active = parseStored(storedDocument, ActiveMarketDocument);
    if (active === undefined)
      throw new Refusal('DOCUMENT_UNREADABLE', 'What market is active cannot be read; activate a data store again.');
    return active;
  }

  const readActive = (reader: Pick<DocumentStore, 'get'>) => findActiveMarket(reader, ACTIVE);

  /** Stores the document that refers to the shared content of a store. */
  async function putSharedMarket(tx: DocumentTransaction, servedMarket: ServedMarket): Promise<ActiveMarketDocument> {
    const snapshot = snapshots.get(servedMarket.identity);
    if (snapshot === undefined) throw new Error('a market was shared that was not prepared');
    const { datasetId, contentHash, adjustment, currency = null } = servedMarket.identity;
    const market = { datasetId, contentHash, adjustment, currency };
    const document: ActiveMarketDocument = { market, loaded_at: servedMarket.loadedAt, snapshot };
    await tx.put('market', formatSharedId(datasetId), document);
    return document;
  }

  const isServed = ({ market }: ActiveMarketDocument): boolean => {
    const servedMarket = markets.served();
    return servedMarket !== undefined && createMarketKey(servedMarket.identity) === createMarketKey(market);
  };

  async function fetchActiveMarket(): Promise<boolean> {
    for (let i = 0; i < FOLLOWED_MAX; i++) {
      const activeDataset = await readActive(documents);
      if (activeDataset === undefined) return false;
      if (isServed(activeDataset)) return true;
      const { datasetId, adjustment, currency, contentHash } = activeDataset.market;
      const servedMarket = markets.served();
      if (servedMarket?.identity.datasetId === datasetId && servedMarket.identity.contentHash === contentHash) {
        markets.declare({ datasetId, adjustment, currency });
        continue;
      }
      const { handle, files } = await readSnapshot(await artifacts.file(activeDataset.snapshot));
      markets.serve(await prepareServedMarket({ ...handle, adjustment, currency }, activeDataset.loaded_at, files));
    }
    return true;
  }

  /** Fetches one market at a time. A caller that arrives during a fetch waits for it and then checks again. */
  async function followActiveMarket(): Promise<boolean> {
    const activeDataset = await readActive(documents);
    if (activeDataset === undefined) return false;
    if (isServed(activeDataset)) return true;
    const ownFetch = lastFetch.then(fetchActiveMarket);
    lastFetch = ownFetch.catch(() => {}); // the error is reported to the caller of `followActiveMarket`
    return ownFetch;
  }

  return {
    async prepare(servedMarket) {
      snapshots.set(servedMarket.identity, await writeHashed(artifacts, await encodeSnapshot(servedMarket)));
    },
    async activate(tx, servedMarket) {
      await tx.put('market', ACTIVE, await putSharedMarket(tx, servedMarket));
      tx.publish(markets.activation(servedMarket));
    },
    async replace(tx, servedMarket) {
      await putSharedMarket(tx, servedMarket);
      markets.hold(servedMarket);
      tx.publish({ type: 'store-content', market: servedMarket.identity });
    },
    async shared({ store_id: datasetId, content_hash: contentHash, adjustment, currency }) {
      const activeDataset = await findActiveMarket(documents, formatSharedId(datasetId));
      if (activeDataset === undefined || activeDataset.market.contentHash !== contentHash) return undefined;
      const { handle, files } = await readSnapshot(await artifacts.file(activeDataset.snapshot));
      return prepareServedMarket({ ...handle, adjustment, currency }, activeDataset.loaded_at, files);
    },
    forget: async (tx, datasetId) => void (await tx.delete('market', formatSharedId(datasetId))),
    async declare(tx, event) {
      const { datasetId, adjustment, currency = null } = event;
      const activeDataset = await readActive(tx);
      if (activeDataset?.market.datasetId === datasetId)
        await tx.put('market', ACTIVE, { ...activeDataset, market: { ...activeDataset.market, adjustment, currency } });
      tx.publish({ type: 'market-declared', ...event });
    },
    onActivated(event) {
      if (markets.find(event.market) !== undefined) markets.activate(event);
      // Another market may be active by now.
      followActiveMarket().catch(onFailure);
    },
    follow: followActiveMarket,
  };
}

/** Codes of findings that report a difference between the new content and the previously served content. */
const CHANGE_CODES: ReadonlySet<string> = new Set<FindingCode>([
  'HISTORY_CHANGED',
  'DATES_ADDED',
  'SPLIT_RESTATED',
  'LATE_BARS',
  'BAR_CORRECTED',
]);

/** Returns true for the code of a finding about a difference from the previously served content. */
export const isChange = (code: string): boolean => CHANGE_CODES.has(code);

const STORED_FINDINGS_MAX = 20;

/**
 * Returns a summary of the served market for the document of its store.
 * @cost a pass over fewer than 64 days and over the tables
 */
export function summariseServed({ market, handle: { digests } }: ServedMarket): Pick<DatasetDocument, 'served'> {
  const last = market.dates.at(-1);
  return digests === undefined || last === undefined ? {} : { served: computePrefixMark(market, digests, last) };
}

/** Content that was read again. */
interface ReloadedContent {
  readonly summary: ContentSummary;
  readonly served: ServedMarket;
  /** True if the market still contains all rows of the earlier served content. */
  readonly hasGrown: boolean;
  /** Number of changed rows compared with the earlier content; null if that content is lost or has the same hash. */
  readonly counts: ChangeCounts | null;
  /** Report of the accepted and the discarded rows; absent or null if all rows were accepted unchanged. */
  readonly report?: RefreshReport | null;
}

/**
 * Returns true if a market contains the earlier served content unchanged. Later days, and securities that were listed
 * on them, may have been added.
 * @cost a pass over the panels if the securities differ, in turns of the event loop; otherwise the cost of
 * `summariseServed`
 */
export async function hasGrown(
  { served: prefixMark, content_hash: hash }: DatasetDocument,
  { market, handle: { digests, contentHash } }: ServedMarket,
): Promise<boolean> {
  if (prefixMark === undefined || digests === undefined || hash === contentHash) return false;
  const now = computePrefixMark(market, digests, prefixMark.day);
  const isSamePrefix = ({ axes, rows, hash: prefixHash }: PrefixMark): boolean =>
    axes === prefixMark.axes && rows === prefixMark.rows && prefixHash === prefixMark.hash;
  return (
    isSamePrefix(now) ||
    (now.axes !== prefixMark.axes && (await computeMarksWithoutLater(market, prefixMark.day)).some(isSamePrefix))
  );
}

/** Returns the document fields of a store that was read again. Findings report how the content changed. */
export function createReloadFields(
  previousDocument: DatasetDocument,
  { summary, hasGrown: isGrown, counts }: ReloadedContent,
  timestamp: string,
): Partial<DatasetDocument> {
  const change = describeChange(previousDocument, summary, { isGrown, counts });
  return {
    ...createLoadedFields(
      { ...summary, warnings: sortFindings([...(change === undefined ? [] : [change]), ...summary.warnings]) },
      timestamp,
    ),
    taken_at_start: null,
  };
}

/**
 * Returns the fields of `createReloadFields` for a start of the service. No person requested the changes, so accepted
 * changes are recorded for the next refresh. Findings about earlier changes remain until something else changes.
 */
function createResumedFields(
  previousDocument: DatasetDocument,
  content: ReloadedContent,
  timestamp: string,
): Partial<DatasetDocument> {
  if (content.report != null)
    return createSettledFields(previousDocument, { ...content, report: content.report }, timestamp);
  const fields = createReloadFields(previousDocument, content, timestamp);
  const { findings = [] } = fields;
  const changes = findings.filter(({ code }) => isChange(code));
  if (changes.length > 0) {
    const accepted = createAcceptedChanges(previousDocument, content, changes);
    return { ...fields, taken_at_start: mergeStartImport(previousDocument.taken_at_start, accepted) };
  }
  return {
    ...fields,
    findings: [...previousDocument.findings.filter(({ code }) => isChange(code)), ...findings],
    taken_at_start: previousDocument.taken_at_start,
  };
}

/** Returns the document fields after a start that accepted the same changes as a refresh. */
function createSettledFields(
  previousDocument: DatasetDocument,
  { summary, report }: ReloadedContent & { readonly report: RefreshReport },
  timestamp: string,
): Partial<DatasetDocument> {
  const findings = report.findings.filter(isWithoutCode(previousDocument.findings));
  const isUnchanged = findings.length === 0 && previousDocument.content_hash === summary.contentHash;
  const { dates_added, identifiers_added, datasets } = report;
  const now = {
    dates_added,
    rows_added: datasets.market.added,
    identifiers_added,
    findings: toStoredFindings([
      ...findings,
      ...findNewWarnings(summary.warnings, [...previousDocument.findings, ...report.findings]),
    ]),
  };
  return {
    ...createLoadedFields(summary, timestamp),
    taken_at_start: isUnchanged
      ? previousDocument.taken_at_start
      : mergeStartImport(previousDocument.taken_at_start, now),
  };
}

function createAcceptedChanges(
  previousDocument: DatasetDocument,
  { summary, served: { market }, counts }: ReloadedContent,
  changes: StartImport['findings'],
): StartImport {
  const lastDay = previousDocument.served?.day ?? Infinity;
  const hasGrown = changes.every(({ code }) => code === 'DATES_ADDED');
  return {
    dates_added: market.dates.reduce((count, day) => (day > lastDay ? count + 1 : count), 0),
    rows_added:
      counts?.bars.added ??
      (hasGrown ? Math.max(0, summary.rows.market - (previousDocument.rows?.['market'] ?? 0)) : 0),
    identifiers_added: Math.max(0, summary.identifiers - (previousDocument.identifiers ?? 0)),
    findings: [
      ...changes,
      ...toStoredFindings(findNewWarnings(summary.warnings, [...previousDocument.findings, ...changes])),
    ],
  };
}

interface FindingKey {
  readonly code: string;
  readonly path: string;
}

export function findNewWarnings(warnings: readonly Finding[], reported: readonly FindingKey[]): readonly Finding[] {
  const reportedKeys = new Set(reported.map(formatKey));
  return warnings.filter((warning) => !reportedKeys.has(formatKey(warning)));
}

const formatKey = ({ code, path }: FindingKey) => JSON.stringify([code, path]);

/** Combines the changes that several starts accepted. */
function mergeStartImport(earlierImport: StartImport | null, now: StartImport): StartImport {
  if (earlierImport === null) return now;
  return {
    dates_added: earlierImport.dates_added + now.dates_added,
    rows_added: earlierImport.rows_added + now.rows_added,
    identifiers_added: earlierImport.identifiers_added + now.identifiers_added,
    findings: [...earlierImport.findings, ...now.findings].slice(-STORED_FINDINGS_MAX),
  };
}

/**
 * Returns the report of a refresh. Adds the changes that starts accepted since the previous refresh, and the data warnings
 * that these caused and that the market still has.
 */
export function addStartImport(
  report: RefreshReport,
  startImport: StartImport | null,
  warnings: readonly Finding[],
): RefreshReport {
  if (startImport === null) return report;
  const remaining = new Set(warnings.map(formatKey));
  const { market } = report.datasets;
  return {
    ...report,
    dates_added: report.dates_added + startImport.dates_added,
    rows_added: report.rows_added + startImport.rows_added,
    identifiers_added: report.identifiers_added + startImport.identifiers_added,
    datasets: { ...report.datasets, market: { ...market, added: market.added + startImport.rows_added } },
    findings: sortFindings([
      ...startImport.findings.filter((finding) =>
        isChange(finding.code)
          ? !isWithheld(finding) && isWithoutCode(report.findings)(finding)
          : remaining.has(formatKey(finding)),
      ),
      ...report.findings,
    ] as Finding[]), // this engine wrote the findings
  };
}

/**
 * Returns true for the finding that a start rejected the changed history of a security. A refresh compares the history
 * again and reports the difference itself.
 */
const isWithheld = ({ code, path }: StartImport['findings'][number]): boolean =>
  code === 'HISTORY_CHANGED' && path.startsWith('market.');

/** Returns a test for findings. It is true if no other finding has the same code and path. */
const isWithoutCode =
  (otherFindings: readonly { readonly code: string; readonly path: string }[]) =>
  ({ code, path }: Pick<Finding, 'path'> & { readonly code: string }): boolean =>
    !otherFindings.some((other) => other.code === code && other.path === path);

function describeChange(
  previousDocument: DatasetDocument,
  summary: ContentSummary,
  { isGrown, counts: changeCounts }: { readonly isGrown: boolean; readonly counts: ChangeCounts | null },
): Finding | undefined {
  if (previousDocument.content_hash === null || previousDocument.content_hash === summary.contentHash) return undefined;
  const prefixMark = previousDocument.served;
  const hashText = `content_hash ${previousDocument.content_hash.slice(0, 12)} before, ${summary.contentHash.slice(0, 12)} now`;
  const rows = TABLE_KINDS.flatMap((table) => {
    const [was, is] = [previousDocument.rows?.[table] ?? 0, summary.rows[table] ?? 0];
    return was === is ? [] : [`${table} ${was} rows before, ${is} now`];
  });
  const countsText = [
    hashText,
    ...rows,
    ...(previousDocument.identifiers === summary.identifiers
      ? []
      : [`${previousDocument.identifiers ?? 0} identifiers before, ${summary.identifiers} now`]),
  ].join('; ');
  if (prefixMark !== undefined && isGrown) {
    const message = `The source has grown since it was last read, with its history up to ${formatDay(prefixMark.day)} unchanged: ${countsText}.`;
    return { severity: 'info', code: 'DATES_ADDED', path: 'market', message };
  }
  const rangeText = prefixMark === undefined ? '' : ` up to ${formatDay(prefixMark.day)}`;
  const message = `The history${rangeText} is not what it was when the source was last read: ${countsText}. ${formatCounts(changeCounts)}What is served is what the source holds now; run again what was computed before.`;
  return { severity: 'warning', code: 'HISTORY_CHANGED', path: 'market', message };
}

function formatCounts(counts: ChangeCounts | null): string {
  if (counts === null) return 'How many of the earlier rows differ is not known. ';
  const { changed, removed, added } = counts;
  return `${changed} ${changed === 1 ? 'row' : 'rows'} changed, ${removed} removed, ${added} added. `;
}

export interface Activation {
  readonly document: DatasetDocument;
  /** Service that makes a market active. It has prepared the market before the transaction starts. */
  readonly served: ServedMarket;
  readonly activations: Pick<Activations, 'activate' | 'readBy'>;
  /**
   * Version to append to the history of the store; null if the last version of the history already has this content.
   */
  readonly version: PreparedVersion | null;
}

export interface Replacement extends Omit<Activation, 'activations'> {
  readonly activations: Pick<Activations, 'replace'>;
}

/**
 * Stores a data store as the active store and makes all other stores inactive. Its market is served after this write is
 * on disk. If the write is refused, the market is not served.
 */
export async function activateDataset(
  tx: DocumentTransaction,
  { document, served, activations, version }: Activation,
): Promise<void> {
  for (const other of await listDatasets(tx))
    if (other.active && other.store_id !== document.store_id)
      await tx.put('store', other.store_id, { ...other, active: false });
  const { read_by: _, ...rest } = document;
  const { readBy } = activations;
  const read = readBy !== undefined && isWhole(document, served) ? { read_by: readBy } : {};
  await tx.put('store', document.store_id, { ...rest, ...summariseServed(served), ...read, active: true });
  await recordVersion(tx, document, version);
  await activations.activate(tx, served);
}

/** Writes the content of a store without changing which store is active. */
export async function replaceDataset(
  tx: DocumentTransaction,
  { document, served, activations, version }: Replacement,
): Promise<void> {
  await tx.put('store', document.store_id, { ...document, ...summariseServed(served) });
  await recordVersion(tx, document, version);
  await activations.replace(tx, served);
}

async function recordVersion(
  tx: DocumentTransaction,
  document: DatasetDocument,
  version: PreparedVersion | null,
): Promise<void> {
  if (version === null) return;
  await recordDataVersion(tx, version, countRows(document));
  await purgeDataVersions(tx, version.datasetId);
}

/** Returns true if the content has all rows of the store's files. A refresh can leave rows out. */
function isWhole({ files }: DatasetDocument, servedMarket: ServedMarket): boolean {
  return files.length > 0 && files.length === servedMarket.files.length;
}

export function countRows({ rows }: Pick<DatasetDocument, 'rows'>): number {
  return Object.values(rows ?? {}).reduce((sum, count) => sum + count, 0);
}

/** Maximum number of times that a store is read if it changes during the read. */
const READS_MAX = 3;

/**
 * @param load reads the content that the document of a store describes
 * @param keptBytesMax maximum total size in bytes of the panels of cached stores; the store that was used last is always
 * kept
 */
export function createStoreMarkets(
  { documents, markets }: SourceContext,
  load: (document: DatasetDocument) => Promise<ServedMarket>,
  keptBytesMax: number,
): StoreMarkets {
  /** Markets by store, least recently used first. */
  const keptMarkets = new Map<string, ServedMarket>();
  /** Contents that are no longer cached but that a running call may still use. */
  const releasedMarkets = new Map<string, WeakRef<ServedMarket>>();
  const pendingReads = new Map<string, Promise<ServedMarket>>();
  /** Promise of the last read. Stores are read one at a time, because each read needs memory and processor time. */
  let lastRead: Promise<unknown> = Promise.resolve();

  function releaseMarket(datasetId: string): void {
    const market = keptMarkets.get(datasetId);
    keptMarkets.delete(datasetId);
    for (const [id, marketRef] of releasedMarkets) if (marketRef.deref() === undefined) releasedMarkets.delete(id);
    if (market !== undefined) releasedMarkets.set(datasetId, new WeakRef(market));
  }

  function keepMarket(market: ServedMarket): void {
    const { datasetId } = market.identity;
    markets.hold(market);
    keptMarkets.delete(datasetId);
    releasedMarkets.delete(datasetId);
    keptMarkets.set(datasetId, market);
    const activeId = markets.served()?.identity.datasetId;
    if (activeId !== undefined) keptMarkets.delete(activeId);
    let bytes = [...keptMarkets.values()].reduce((sum, { handle }) => sum + countBytes(handle), 0);
    for (const [id, { handle }] of keptMarkets) {
      if (bytes <= keptBytesMax || keptMarkets.size === 1) break; // the most recently used store stays
      bytes -= countBytes(handle);
      releaseMarket(id);
    }
  }

  async function requireStored(datasetId: string): Promise<DatasetDocument> {
    const { document } = await runUnrestricted(() => requireDataset(documents, datasetId));
    if (!document.writing && document.content_hash !== null) return document;
    throw new Refusal('STORE_LOADING', `The data store ${datasetId} is being read or written.`);
  }

  /** Returns the content that a document describes, if it is in memory. */
  function findServedContent(document: DatasetDocument): ServedMarket | undefined {
    const { store_id: datasetId, content_hash: contentHash, adjustment, currency } = document;
    const market = keptMarkets.get(datasetId) ?? releasedMarkets.get(datasetId)?.deref();
    if (market?.identity.contentHash === contentHash) return redeclareMarket(market, { adjustment, currency });
    releaseMarket(datasetId);
    releasedMarkets.delete(datasetId);
    return undefined;
  }

  async function read(datasetId: string): Promise<ServedMarket> {
    for (let attempt = 1; ; attempt++) {
      const document = await requireStored(datasetId);
      try {
        return await runOffMarket(() => runUnrestricted(() => load(document)));
      } catch (failure) {
        const isChanged = (await requireStored(datasetId)).content_hash !== document.content_hash;
        if (!isChanged || attempt === READS_MAX) throw failure;
      }
    }
  }

  function readMarket(datasetId: string): Promise<ServedMarket> {
    const pendingRead = pendingReads.get(datasetId);
    if (pendingRead !== undefined) return pendingRead;
    const ownRead = lastRead.then(() => read(datasetId)).finally(() => pendingReads.delete(datasetId));
    lastRead = ownRead.catch(() => {}); // the failure is reported to the callers that wait for the read
    pendingReads.set(datasetId, ownRead);
    return ownRead;
  }

  async function getMarket(datasetId: string): Promise<ServedMarket> {
    const active = markets.served();
    if (active?.identity.datasetId === datasetId) return active;
    if (markets.awaited() === datasetId) throw refuseWhileLoading(datasetId);
    const reach = currentReach();
    if (reach !== undefined && !mayRead(reach, 'store', datasetId)) throw outside(reach, 'store', datasetId);
    for (let attempt = 1; ; attempt++) {
      const servedMarket = findServedContent(await requireStored(datasetId));
      const market = servedMarket ?? (await readMarket(datasetId));
      keepMarket(market);
      // Another call may have started the read, so the content may be older than this call.
      if (servedMarket !== undefined || attempt > READS_MAX) return market;
    }
  }

  return {
    of: getMarket,
    within: async (datasetId, work) => (datasetId == null ? work() : onMarket(await getMarket(datasetId), work)),
    onContent({ market }) {
      const content = markets.find(market);
      if (content !== undefined) keepMarket(content);
    },
    onRemoved: ({ store_id: datasetId }) => releaseMarket(datasetId),
    listKept: () => [...keptMarkets.keys()],
  };
}

function countBytes({ fields }: ServedMarket['handle']): number {
  return fields.reduce((sum, { values }) => sum + values.byteLength, 0);
}

/** Payload of a job that names the store on which the job runs. */
interface StorePayload {
  readonly on_store?: string | undefined;
}

/**
 * Wraps the submission of jobs. A job runs on the store of the call that submits it; default: the store that is active
 * then, whatever store is active when the job starts.
 */
export function addStoreOfCall(jobs: JobSystem, active: Pick<Markets, 'served'>): JobSystem {
  return {
    ...jobs,
    async submit(submission) {
      const storeId = getCallMarket()?.identity.datasetId;
      const { payload, request } = submission;
      if (storeId === undefined)
        return jobs.submit({ ...submission, payload: { ...addActiveStore(active), ...payload } });
      const requestOnStore =
        typeof request === 'object' && request !== null ? { ...request, store_id: storeId } : request;
      return jobs.submit({ ...submission, payload: { ...payload, on_store: storeId }, request: requestOnStore });
    },
  };
}

function addActiveStore(active: Pick<Markets, 'served'>): StorePayload {
  const storeId = active.served()?.identity.datasetId;
  return storeId === undefined ? {} : { on_store: storeId };
}

/**
 * Wraps job kinds so that each attempt reads the market of its store. A job of an
 * earlier release may have no store; it reads the active market.
 */
export function wrapForStores(
  kinds: JobHandlers,
  { stores, markets }: { readonly stores: Pick<StoreMarkets, 'within'>; readonly markets: Pick<Markets, 'settled'> },
): JobHandlers {
  const runOnStoreMarket = async <T>({ on_store: storeId }: StorePayload, work: () => Promise<T>): Promise<T> => {
    if (storeId === undefined) return runOffMarket(work);
    await markets.settled(); // The store may be the one that was served before a restart.
    return runOffMarket(() => stores.within(storeId, work));
  };
  const wrapKind = <P extends StorePayload>(kind: JobKind<P>): JobKind<P> => ({
    ...kind,
    run: (payload, attempt) => runOnStoreMarket(payload, () => kind.run(payload, attempt)),
    ...(kind.runParts && {
      runParts: (payload: P, parts: readonly number[], attempt: Attempt) =>
        runOnStoreMarket(payload, () => kind.runParts!(payload, parts, attempt)),
    }),
  });
  const wrappedKinds = Object.entries(kinds as unknown as Record<string, JobKind<StorePayload>>).map(([name, kind]) => [
    name,
    wrapKind(kind),
  ]);
  return Object.fromEntries(wrappedKinds) as JobHandlers; // Each kind keeps its name.
}

/** Context of data stores with their markets, which are read from the places of their data. */
export interface StoreContext extends SourceContext, Pick<Context, 'stores'> {
  readonly activations: Activations;
  readonly loading: DatasetLoading;
  readonly versions: DataHistory;
}

/** Context of the operations that change the registered stores. At most one of them works on a store at a time. */
export interface StoreWork extends StoreContext {
  readonly activity: DatasetActivity;
  /** Limits the number of concurrent readers. */
  readonly readers: Gate;
  /** Limits the number of concurrent uploads. */
  readonly uploads: Gate;
  /** Aborted when the service stops. */
  readonly closing: AbortSignal;
}

/**
 * Handles the events of commits about stores: serves another market, copies contents, and removes a folder that was replaced.
 */
export function followDatasetEvents(context: StoreContext): void {
  const { documents, markets, stores, activations, versions, folders } = context;
  documents.subscribe('market-activated', (event) =>
    runOffMarket(() => {
      activations.onActivated(event);
      versions.onContent(event);
    }),
  );
  documents.subscribe('market-declared', markets.declare);
  documents.subscribe('store-content', (event) =>
    runOffMarket(() => {
      stores.onContent(event);
      versions.onContent(event);
    }),
  );
  documents.subscribe('store-removed', stores.onRemoved);
  documents.subscribe('folder-replaced', ({ store_id: datasetId, folder }) => {
    folders.remove(folder, datasetId).catch(() => {}); // the next start removes remaining folders
  });
}

/** Returns the document fields that the next version of a store changes. */
export const createRefreshFields = ({
  handle,
  report,
  identifiers,
}: RefreshMarketOutput): Pick<DatasetDocument, 'identifiers' | 'start' | 'end' | 'content_hash'> => ({
  identifiers,
  start: report.start,
  end: report.end,
  content_hash: handle.contentHash,
});

/** Returns true if a file is not part of the market table. Its rows can be accepted without the bars. */
export const isOtherTable = ({ dataset: table }: VersionFile): boolean => table !== 'market';

/**
 * Returns the files that are read again only after a change. A file with rows that were not accepted is not among them.
 */
export function selectReusableFiles(
  files: readonly VersionFile[],
  { left_out: leftOmittedBars, rejected_total: rejectedCount }: RefreshReport,
): readonly VersionFile[] {
  if (rejectedCount > 0) return files.filter((file) => isOtherTable(file) && file.dataset !== 'corporate_actions');
  return leftOmittedBars === null ? files : files.filter(isOtherTable);
}

/** Returns the document of a synthetic store. It is stored before the data exists. */
export function createWritingDataset({ store_id, name, created_at, request }: GeneratePayload): DatasetDocument {
  return {
    store_id,
    name,
    kind: 'synthetic',
    managed: true,
    active: false,
    writing: true,
    location: null,
    source: 'synthetic',
    tables: {},
    mapping: null,
    derived_actions: null,
    taken_at_start: null,
    adjustment: 'none',
    currency: request.currency,
    created_at,
    last_loaded_at: null,
    last_refreshed_at: null,
    identifiers: null,
    start: null,
    end: null,
    size_bytes: null,
    content_hash: null,
    rows: null,
    files: [],
    error: null,
    findings: [],
    synthetic: { generator: GENERATOR, request: { ...request } },
  };
}

/** Removes the document of a store if its data was never completed. */
export async function deleteUnwritten(documents: DocumentStore, datasetId: string): Promise<void> {
  await documents.transaction(
    async (tx) => {
      const storedDocument = await tx.get('store', datasetId);
      if (parseStored(storedDocument, DatasetDocument)?.writing === true) await tx.delete('store', datasetId);
    },
    { reserve: true },
  );
}

/** Returns the input of the generator: the request and the sessions of its calendar. */
export function createSyntheticSpec(request: GenerateRequest, calendars: Calendars): SyntheticSpec {
  const calendar = calendars.get(request.calendar);
  if (calendar === undefined) throw new Refusal('CALENDAR_NOT_COVERED', `There is no calendar ${request.calendar}.`);
  const sessions = listSessionsBetween(calendar.sessions, request.start, request.end);
  return { ...request, exchange: calendar.code, sessions };
}

/**
 * Creates the function that generates the files of a synthetic store again and replaces its folder. It returns false, and
 * changes nothing, if the files are not exactly those that the service wrote: after a change of the generator or of the
 * calendar.
 */
export function createRegeneration({ folders, calendars }: SourceContext) {
  return async (store: SourceTerms): Promise<boolean> => {
    const { store_id: datasetId, location, synthetic, files = [] } = store;
    if (!synthetic || location === null || files.length === 0 || synthetic['generator'] !== GENERATOR) return false;
    const folder = await folders.create(datasetId);
    try {
      const spec = createSyntheticSpec(synthetic['request'] as GenerateRequest, calendars); // this service wrote the request
      const result = await runMarketTask('generate', { spec, folder }, { load: null });
      if (result.kind === 'refused' || findAlteredFiles(store, result.summary.files).length > 0) return false;
      await folders.remove(location, datasetId);
      await folders.receive(basename(location), datasetId, (draft) => copyData(folder, draft));
      return true;
    } finally {
      await folders.remove(folder, datasetId);
    }
  };
}

/** Copies the files of a folder, except the mark. */
async function copyData(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) if (!name.startsWith('.')) await copyFile(join(from, name), join(to, name));
}

/** Accepted content of a source. */
export interface SettledSource {
  readonly summary: ContentSummary;
  readonly served: ServedMarket;
  /** Report of the accepted and the discarded rows; null if all rows were accepted unchanged. */
  readonly report: RefreshReport | null;
}

type SettledStore = Pick<DatasetDocument, 'store_id' | 'kind' | 'content_hash' | 'changed_prices'>;

/**
 * Applies the rules of a refresh to a source that was read again. A security with a changed history keeps its served
 * data. If the served content is lost, all rows of the source are accepted.
 */
async function settleSource(
  { store_id: datasetId, kind, content_hash: hash, changed_prices: changedPrices = [] }: SettledStore,
  read: Pick<SettledSource, 'summary' | 'served'>,
  { jobs, versions, calendarsInUse, timestamp }: StoreContext,
  signal: AbortSignal,
): Promise<SettledSource> {
  const { summary, served } = read;
  const isSameContent = hash === null || hash === summary.contentHash;
  const servedMarket = isSameContent || isManaged(kind) ? undefined : await versions.last(served);
  if (servedMarket === undefined) return { ...read, report: null };
  const options = {
    until: null,
    full: false,
    isWhole: true,
    ...(changedPrices.length > 0 && { accepted: changedPrices }),
    unchangedTables: [],
    dividendErrors: summary.dividendErrors ?? [],
  };
  const calendars = await calendarsInUse(datasetId, true);
  const input = { held: servedMarket.handle, fresh: served.handle, options, calendars };
  const { handle, report, identifiers, warnings } = await jobs.query('refresh-market', input, signal);
  const market = await prepareServedMarket(handle, timestamp(), selectReusableFiles(served.files, report));
  return {
    summary: {
      ...summary,
      contentHash: handle.contentHash,
      identifiers,
      start: market.market.dates[0]!,
      end: market.market.dates.at(-1)!,
      rows: countTableRows(market.market),
      warnings: sortFindings([...report.findings, ...(summary.readWarnings ?? []), ...warnings]),
    },
    served: market,
    report,
  };
}

/** Work on stores that a start performs once. */
export function createDatasetResumption(context: StoreWork) {
  const { documents, activity, markets, activations, loading, closing, versions, timestamp } = context;

  /** Marks the previously served store as loading. Called before the first request. */
  async function announce(): Promise<void> {
    const active = (await listDatasets(documents)).find((store) => store.active);
    if (active === undefined) return;
    markets.expect(active.store_id);
    activity.resumes(active.store_id, markets.settled());
  }

  /**
   * Removes what a crash left behind, and serves the previously served store.
   * @param keepsServed true to serve the copy of the store's content, if there is one, and to ignore changes of its
   * source
   */
  async function resume(keepsServed: boolean): Promise<void> {
    let failure: FailedLoad | undefined;
    try {
      await removeLeftovers(context);
      const active = (await listDatasets(documents)).find((store) => store.active);
      const isServed = markets.served() !== undefined || (await isFollowed());
      const isKept =
        active !== undefined &&
        !isServed &&
        ((keepsServed && (await serveCopy(active))) || (await serveUnchangedStore(active)));
      if (isKept) return;
      if (active !== undefined && !isServed) failure = await reloadMarket(active);
      else if (active !== undefined) copyServedMarket(active);
    } finally {
      markets.settle(failure);
    }
  }

  function copyServedMarket({ store_id: datasetId, kind }: DatasetDocument): void {
    const servedMarket = markets.served();
    if (servedMarket?.identity.datasetId === datasetId) versions.copyUsed(servedMarket, kind);
  }

  /** Returns true if the shared active market is served. If it cannot be fetched, it is read from its source. */
  async function isFollowed(): Promise<boolean> {
    try {
      return await activations.follow();
    } catch (failure) {
      if (failure instanceof Refusal) return false;
      throw failure;
    }
  }

  /** Serves the copy of a store's content. Returns false if there is no copy. @param files files of the content */
  async function serveCopy({ kind, ...active }: DatasetDocument, files: ServedMarket['files'] = []): Promise<boolean> {
    const { store_id: datasetId, content_hash: contentHash, adjustment, currency } = active;
    if (isManaged(kind) || contentHash === null) return false;
    const copy = await versions.last({ identity: { datasetId, contentHash, adjustment, currency } });
    if (copy?.identity.contentHash !== contentHash) return false;
    markets.serve({ ...copy, files });
    return true;
  }

  /**
   * Serves the content that this build has read from an unchanged folder. Returns false if the folder must be read
   * again, for example because the content lacks changed prices.
   */
  async function serveUnchangedStore(active: DatasetDocument): Promise<boolean> {
    if ((active.changed_prices ?? []).length > 0) return false;
    if (active.read_by === undefined || active.read_by !== activations.readBy) return false;
    const files = await loading.unchanged(active);
    return files !== undefined && serveCopy(active, files);
  }

  /** Serves the previously served store. A failure is returned and stored; the next start tries again. */
  async function reloadMarket(active: DatasetDocument): Promise<FailedLoad | undefined> {
    const createFailure = (error: ErrorDetail): FailedLoad => ({ datasetId: active.store_id, error });
    activity.reading.add(active.store_id);
    try {
      const outcome = await loading.read(active, { serve: true, willBeActive: true, signal: closing });
      const error = outcome.kind === 'refused' ? recordFailure(outcome.findings, 'location').toDetail() : null;
      const startImport =
        outcome.kind === 'refused' ? undefined : await acceptSource(active, outcome.summary, outcome.served!); // the read was requested with panels
      await documents.transaction(async (tx) => {
        const { document } = await requireDataset(tx, active.store_id);
        if (startImport === undefined) await tx.put('store', active.store_id, { ...document, error });
        // Another store may have been activated during the read; its document is then the active one.
        else if (document.active && markets.served() === undefined) {
          const { reloaded, version } = startImport;
          const fields = createResumedFields(document, reloaded, timestamp());
          const { served } = reloaded;
          const after = { ...document, ...fields, ...findPendingPrices(document, active) };
          await activateDataset(tx, { document: after, served, activations, version });
        }
      });
      return error === null ? undefined : createFailure(error);
    } catch (failure) {
      if (closing.aborted) return undefined;
      if (!(failure instanceof Refusal)) throw failure;
      await documents.transaction(async (tx) =>
        tx.put('store', active.store_id, {
          ...(await requireDataset(tx, active.store_id)).document,
          error: failure.toDetail(),
        }),
      );
      return createFailure(failure.toDetail());
    } finally {
      activity.reading.delete(active.store_id);
    }
  }

  async function acceptSource(active: DatasetDocument, summary: ContentSummary, servedMarket: ServedMarket) {
    const isGrown = await hasGrown(active, servedMarket);
    const read = { summary, served: servedMarket };
    const settledSource = isGrown ? { ...read, report: null } : await settleSource(active, read, context, closing);
    const version = await versions.prepare(settledSource.served, { source: 'reload', kind: active.kind });
    await activations.prepare(settledSource.served);
    return { reloaded: { ...settledSource, hasGrown: isGrown, counts: version?.rows ?? null }, version };
  }

  return { announce, resume };
}

/** Removes data and folders of stores without a document. A crash leaves them behind. */
async function removeLeftovers({ documents, jobs, folders }: StoreContext): Promise<void> {
  await sweepSharedFolders();
  for (const { store_id, writing } of await listDatasets(documents))
    if (writing && !(await jobs.isLive(`generate:${store_id}`))) await deleteUnwritten(documents, store_id);
  await deleteLeftovers(documents);
  const datasets = await listDatasets(documents);
  // An unreadable document may be the only one that refers to a folder. If any document is unreadable, nothing is
  // removed.
  if (datasets.length === (await documents.ids('store')).length)
    await folders.sweep(new Set(datasets.flatMap(({ location }) => location ?? [])));
}

/**
 * Creates a reader for the content of a store. The content comes from other processes, from its copy, or from its
 * source. If the source has changed and there is no copy, the current content of the source is used.
 * @param isReadOnly true if the service writes nothing
 * @throws Refusal NO_DATA_SOURCE, NOT_SUPPORTED, STORE_UNAVAILABLE
 */
export function createStoreContents(
  { documents, activations, loading, versions, timestamp }: Omit<StoreContext, 'stores'>,
  isReadOnly: boolean,
): (document: DatasetDocument) => Promise<ServedMarket> {
  async function findCopy({ kind, ...document }: DatasetDocument): Promise<ServedMarket | undefined> {
    const { store_id: datasetId, content_hash: contentHash, adjustment, currency } = document;
    if (isManaged(kind) || contentHash === null) return undefined;
    const copy = await versions.last({ identity: { datasetId, contentHash, adjustment, currency } });
    return copy?.identity.contentHash === contentHash ? redeclareMarket(copy, { adjustment, currency }) : undefined;
  }

  async function readSource(document: DatasetDocument): Promise<ServedMarket> {
    const loadOutcome = await loading.read(document, { serve: true }).catch((failure: unknown) => {
      if (!(failure instanceof Refusal) || failure.code !== 'STORE_READ_FAILED') throw failure;
      const { message } = failure;
      const finding = { severity: 'error', code: 'UNREADABLE_FILE', path: 'location', message } as const;
      return { kind: 'refused', findings: [finding] } as const;
    });
    if (loadOutcome.kind === 'refused')
      throw refuseUnreadableStore(document.store_id, placeFindings('location', loadOutcome.findings));
    const servedMarket = loadOutcome.served!; // the read was requested with panels
    if (isReadOnly) return servedMarket;
    const isGrown = await hasGrown(document, servedMarket);
    const version = await versions.prepare(servedMarket, { source: 'reload', kind: document.kind });
    const reloadedContent = {
      summary: loadOutcome.summary,
      served: servedMarket,
      hasGrown: isGrown,
      counts: version?.rows ?? null,
    };
    const isSameContent = document.content_hash === servedMarket.identity.contentHash;
    const fields = isSameContent ? {} : createReloadFields(document, reloadedContent, timestamp());
    await activations.prepare(servedMarket);
    await documents.transaction(async (tx) => {
      const { document: now } = await requireDataset(tx, document.store_id);
      if (now.active || now.content_hash !== document.content_hash) return; // another content was served in the meantime
      const after = { ...now, ...fields, ...findPendingPrices(now, document) };
      await replaceDataset(tx, { document: after, served: servedMarket, activations, version });
    });
    return servedMarket;
  }

  return async (document) =>
    (await activations.shared(document)) ?? (await findCopy(document)) ?? (await readSource(document));
}
