import type { CalendarsInUse } from '#domain/calendars/used-calendars.js';
import { formatDay } from '#domain/time/days.js';
import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings, type Refusal } from '#domain/refusals/refusal.js';
import type { DatabaseLocations } from '#market/sources/databases/database-location.js';
import type { VersionFile } from '#market/sources/known-files.js';
import type { Locations } from '#market/sources/locations.js';
import { runMarketTask, type MarketTaskOptions, type MarketTaskResult } from '#market/process/market-process.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { prepareServedMarket } from '#market/serving/served-markets.js';
import { findDamagedFiles } from './damaged-files.js';
import { readFolderAddition, type Addition, type AdditionOptions } from './folder-addition.js';
import { createFolderReading } from './folder-reading.js';
import { placeFindings } from './refused-data.js';
import { createTerms, type LoadOptions, type ReadRefusal, type SourceTerms } from './source-terms.js';
import type { StoreFiles } from './store-files.js';

export type LoadOutcome =
  | { readonly kind: 'loaded'; readonly summary: ContentSummary; readonly served: ServedMarket | undefined }
  | ReadRefusal;

export interface DatasetLoadingDependencies {
  readonly locations: Locations;
  readonly databases: DatabaseLocations;
  readonly files: Pick<StoreFiles, 'here' | 'refetch'>;
  /** Generates the files of a synthetic store again: see `createRegeneration`. */
  readonly regenerate: (source: SourceTerms) => Promise<boolean>;
  /** Returns the calendars of the indices that use a store. */
  readonly calendarsInUse: CalendarsInUse;
  readonly timestamp: () => string;
}

export interface DatasetLoading {
  /**
   * Returns the files of a folder if their content has not changed since the store was read; otherwise undefined.
   * @cost 1 ms per MiB of files with unchanged names and sizes
   */
  unchanged(store: SourceTerms & Pick<DatasetDocument, 'files'>): Promise<readonly VersionFile[] | undefined>;
  /** Reads a store from its source. @throws Refusal STORE_READ_FAILED, NOT_SUPPORTED */
  read(source: SourceTerms, options: LoadOptions): Promise<LoadOutcome>;
  /**
   * Reads what was added to the source of a store: new files, and tables that may have changed. Reads the whole market
   * from a database, and if bars of stored days may have changed.
   * @throws Refusal STORE_READ_FAILED, NOT_SUPPORTED
   */
  readAddition(
    source: SourceTerms,
    options: AdditionOptions,
  ): Promise<ReadRefusal | ({ readonly kind: 'added' } & Addition)>;
}

export function createDatasetLoading({
  locations,
  databases,
  files: storeFiles,
  regenerate,
  calendarsInUse,
  timestamp,
}: DatasetLoadingDependencies): DatasetLoading {
  const folders = createFolderReading({ locations, timestamp });

  async function readDatabase(source: SourceTerms, options: MarketTaskOptions): Promise<MarketTaskResult> {
    const { location, tables } = source;
    const resolvedUrl = await databases.resolve(location ?? '');
    if ('problem' in resolvedUrl) return { kind: 'refused', findings: [{ severity: 'error', ...resolvedUrl.problem }] };
    return runMarketTask('readDatabase', { place: resolvedUrl.place, tables, terms: createTerms(source) }, options);
  }

  /** Reads a folder. Damaged files of a managed store are fetched or generated again, if possible, or refused. */
  async function readFolder(source: SourceTerms, options: MarketTaskOptions): ReturnType<typeof folders.read> {
    const result = await folders.read(source, options);
    if (!isManaged(source.kind)) return result;
    const present = result.kind === 'refused' ? await folders.digest(source) : result.summary.files;
    const damage = findDamagedFiles(source, present);
    if (damage.length === 0) return result;
    const fetched = await storeFiles.refetch(source);
    if (fetched === undefined && !(await regenerate(source))) return { kind: 'refused', findings: damage };
    const again = await folders.read(fetched ?? source, options);
    const isIntact = again.kind !== 'refused' && findDamagedFiles(source, again.summary.files).length === 0;
    if (!isIntact) return { kind: 'refused', findings: damage };
    const repairs = findDamagedFiles(source, present, fetched === undefined ? 'request' : 'artifacts');
    return { ...again, summary: { ...again.summary, warnings: [...repairs, ...again.summary.warnings] } };
  }

  const createOptions = async (
    source: SourceTerms,
    serve: boolean,
    { onProgress, signal, willBeActive }: Pick<LoadOptions, 'onProgress' | 'signal' | 'willBeActive'>,
  ): Promise<MarketTaskOptions> => ({
    calendars: await calendarsInUse(source.store_id, willBeActive),
    load: serve ? { datasetId: source.store_id, adjustment: source.adjustment, currency: source.currency } : null,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
  });

  return {
    unchanged: folders.unchanged,
    async read(source, { serve, ...rest }) {
      const options = await createOptions(source, serve, rest);
      const result =
        source.kind === 'database'
          ? { ...(await readDatabase(source, options)), known: [] }
          : await readFolder(await storeFiles.here(source), options);
      if (result.kind === 'refused') return result;
      return {
        kind: 'loaded',
        summary: result.summary,
        served:
          result.handle === null ? undefined : await prepareServedMarket(result.handle, timestamp(), result.known),
      };
    },
    async readAddition(source, addition) {
      const options = await createOptions(source, true, addition);
      if (source.kind !== 'database')
        return readFolderAddition({ folders, timestamp }, await storeFiles.here(source), addition, options);
      const result = await readDatabase(source, options);
      return result.kind === 'refused'
        ? result
        : {
            kind: 'added',
            summary: result.summary,
            handle: result.handle!,
            isWhole: true,
            unchangedTables: [],
            files: [],
          };
    },
  };
}

/** Returns the fields of a store's document that a load changes. */
export function createLoadedFields(summary: ContentSummary, timestamp: string): Partial<DatasetDocument> {
  return {
    last_loaded_at: timestamp,
    identifiers: summary.identifiers,
    start: summary.start === null ? null : formatDay(summary.start),
    end: summary.end === null ? null : formatDay(summary.end),
    size_bytes: summary.files.length === 0 ? null : summary.bytes,
    content_hash: summary.contentHash,
    rows: { ...summary.rows },
    derived_actions: summary.derived ?? null,
    files: summary.files.map((file) => ({ ...file })),
    findings: toStoredFindings(summary.warnings),
    error: null,
  };
}

/** Converts findings to the format in which documents store them. */
export const toStoredFindings = (findings: readonly Finding[]): DatasetDocument['findings'] =>
  findings.map((finding) => ({ ...finding, accepted: finding.accepted == null ? null : [...finding.accepted] }));

/** Returns the failure of a job whose data was refused. @param field field of the store that contains its location */
export function recordFailure(findings: readonly Finding[], field: 'location' | 'source'): Refusal {
  return refuseWithFindings('data store', placeFindings(field, findings), 'STORE_READ_FAILED');
}
