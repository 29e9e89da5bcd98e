import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import { formatDay, type Day } from '#domain/time/days.js';
import { isManaged, TABLE_KINDS, type DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { refuseWithFindings, type Refusal } from '#domain/refusals/refusal.js';
import type { DatabasePlaces } from '#market/sources/databases/database-place.js';
import type { TableKind } from '#market/tables/table-kinds.js';
import { folderFiles, type TableFiles } from '#market/sources/folder.js';
import { findKnownByBytes, toKnownFiles, selectUnreadFiles, type KnownFile } from '#market/sources/known-files.js';
import type { Locations } from '#market/sources/locations.js';
import type { MarketTerms } from '#market/mapping/mapped-content.js';
import { runMarketTask, type MarketTaskOptions, type MarketTaskResult } from '#market/process/market-process.js';
import type { ContentSummary, MarketTasks } from '#market/process/market-tasks.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { digestFiles, type FileDigest } from '#market/formats/digest-file.js';
import { createProblems, type Problems } from '#market/tables/problems.js';
import { prepareServedMarket } from '#market/serving/served-markets.js';
import { placeFindings } from './refused-data.js';
import type { StoreFiles } from './store-files.js';

/** Reading modes of a store's source. */
export type Source = Pick<
  DatasetDocument,
  'store_id' | 'kind' | 'location' | 'tables' | 'adjustment' | 'currency' | 'mapping' | 'kept' | 'price_overrides'
>;

export interface LoadOptions {
  /** Load into shared memory, or only read and check. */
  readonly serve: boolean;
  readonly onProgress?: MarketTaskOptions['onProgress'];
  readonly signal?: AbortSignal;
}

export type Loaded =
  | { readonly kind: 'loaded'; readonly summary: ContentSummary; readonly served: ServedMarket | undefined }
  | Refused;

export interface Refused {
  readonly kind: 'refused';
  readonly findings: readonly Finding[];
}

type Accepted = Extract<MarketTaskResult, { readonly kind: 'accepted' }>;

export interface AdditionOptions extends Omit<LoadOptions, 'serve'> {
  /** Last stored day. Reading only new files suffices if all their bars are later. */
  readonly lastDay: Day;
  /** Files that the version to be extended was read from. */
  readonly known: readonly KnownFile[];
}

/** Data of a source that is new to a version of its store. */
export interface Addition {
  /** Summary of all files and of the rows that were read. */
  readonly summary: ContentSummary;
  readonly handle: MarketHandle;
  /** True if all bars of the source were read, including those of stored days. */
  readonly isWhole: boolean;
  /** Tables that were not read because no file of them was added, removed or changed. */
  readonly unchangedTables: readonly TableKind[];
  /** All files that can be identified. */
  readonly files: readonly KnownFile[];
}

export interface DatasetLoadingDependencies {
  readonly locations: Locations;
  readonly databases: DatabasePlaces;
  readonly files: Pick<StoreFiles, 'here'>;
  /** Calendars that stored indices are on. */
  readonly calendarsInUse: () => Promise<UsedCalendars>;
  readonly timestamp: () => string;
}

export interface DatasetLoading {
  /**
   * Returns the files of a folder with the same content as when a store was read from it; undefined if it differs.
   * @cost 1 ms a MiB of files of the same names and sizes
   */
  unchanged(store: Source & Pick<DatasetDocument, 'files'>): Promise<readonly KnownFile[] | undefined>;
  /** Reads a store from its place. @throws Refusal STORE_READ_FAILED, NOT_SUPPORTED */
  read(source: Source, options: LoadOptions): Promise<Loaded>;
  /**
   * Reads the additions to a store's source: new files, and tables that may have changed. Reads the whole market if bars of
   * stored days may have changed, and always from a database.
   * @throws Refusal STORE_READ_FAILED, NOT_SUPPORTED
   */
  readAddition(source: Source, options: AdditionOptions): Promise<Refused | ({ readonly kind: 'added' } & Addition)>;
}

export function createDatasetLoading({
  locations,
  databases,
  files: storeFiles,
  calendarsInUse,
  timestamp,
}: DatasetLoadingDependencies): DatasetLoading {
  async function createListedFiles(
    { location, tables, mapping }: Source,
    problems: Problems,
  ): Promise<TableFiles | undefined> {
    const resolved = await locations.resolve(location ?? '', 'folder');
    if ('path' in resolved) return folderFiles(resolved.path, { tables, mapping }, locations, problems);
    problems.error(resolved.problem);
    return undefined;
  }

  /** Reads some files of a folder, which must all exist, without others, when they are read. */
  async function readFiles(
    source: Source,
    listed: TableFiles,
    input: MarketTasks['readFiles'],
    options: MarketTaskOptions,
  ): Promise<MarketTaskResult> {
    const result = await runMarketTask('readFiles', { ...input, isOwn: isManaged(source.kind) }, options);
    if (result.kind === 'refused') return result;
    const problems = createProblems();
    const now = await createListedFiles(source, problems);
    for (const label of listChangedLabels(listed, now))
      problems.error({
        code: 'UNREADABLE_FILE',
        path: label,
        message: 'The file appeared or disappeared while the folder was read.',
      });
    return problems.errors > 0 ? { kind: 'refused', findings: problems.findings() } : result;
  }

  /** Reports all problems of a folder whose listing is refused, including those of the files found. */
  async function refusedWhole(
    terms: MarketTerms,
    files: TableFiles | undefined,
    problems: Problems,
    options: MarketTaskOptions,
  ): Promise<Refused> {
    if (files !== undefined && TABLE_KINDS.some((table) => files[table].length > 0)) {
      const read = await runMarketTask('readFiles', { files, terms }, { ...options, load: null });
      if (read.kind === 'refused') problems.take(read.findings);
    }
    return { kind: 'refused', findings: problems.findings() };
  }

  async function readFolder(
    source: Source,
    options: MarketTaskOptions,
  ): Promise<MarketTaskResult & { readonly known?: readonly KnownFile[] }> {
    const problems = createProblems();
    const listedAt = Date.parse(timestamp());
    const files = await createListedFiles(source, problems);
    if (files === undefined || problems.errors > 0) return refusedWhole(termsOf(source), files, problems, options);
    const result = await readFiles(source, files, { files, terms: termsOf(source) }, options);
    problems.take(result.kind === 'refused' ? result.findings : result.summary.warnings);
    if (result.kind === 'refused') return { kind: 'refused', findings: problems.findings() };
    return {
      ...result,
      summary: { ...result.summary, warnings: problems.findings() },
      known: toKnownFiles(files, result.summary.files, listedAt),
    };
  }

  async function readDatabase(source: Source, options: MarketTaskOptions): Promise<MarketTaskResult> {
    const { location, tables } = source;
    const resolved = await databases.resolve(location ?? '');
    if ('problem' in resolved) return { kind: 'refused', findings: [{ severity: 'error', ...resolved.problem }] };
    return runMarketTask('readDatabase', { place: resolved.place, tables, terms: termsOf(source) }, options);
  }

  async function folderAddition(
    source: Source,
    { lastDay, known }: AdditionOptions,
    options: MarketTaskOptions,
  ): ReturnType<DatasetLoading['readAddition']> {
    const problems = createProblems();
    const listedAt = Date.parse(timestamp());
    const files = await createListedFiles(source, problems);
    if (files === undefined || problems.errors > 0) return refusedWhole(termsOf(source), files, problems, options);
    const unread = selectUnreadFiles(
      files,
      known,
      await findKnownByBytes(files, known, listedAt),
      createDerivedTables(source),
    );
    const add = (
      unchangedTables: readonly TableKind[],
      unchanged: readonly KnownFile[],
      { isWhole, read }: { readonly isWhole: boolean; readonly read: Accepted },
    ) => {
      const digests = inOrder(files, [...unchanged, ...read.summary.files]);
      const bytes = digests.reduce((sum, file) => sum + file.bytes, 0);
      const readWarnings = [...problems.findings(), ...(read.summary.readWarnings ?? [])];
      return {
        kind: 'added' as const,
        summary: { ...read.summary, files: digests, bytes, readWarnings },
        handle: read.handle!, // it was to be loaded
        isWhole,
        unchangedTables: [...unchangedTables, ...(read.summary.unchangedTables ?? [])],
        files: [...unchanged, ...toKnownFiles(files, read.summary.files, listedAt)],
      };
    };
    const terms = termsOf(source);
    // Joined or derived columns of a mapping require the whole source.
    const isPart =
      source.mapping === null &&
      !unread.isMarketChanged &&
      unread.unchanged.some(({ dataset: table }) => table === 'market');
    const part = isPart
      ? await readFiles(source, files, { files: unread.files, isPart, known: unread.digests, terms }, options)
      : undefined;
    if (part?.kind === 'accepted' && (part.summary.start ?? Infinity) > lastDay)
      return add(unread.unchangedTables, unread.unchanged, { isWhole: false, read: part });
    // Errors are reported for the whole folder, because one file may have a column that another lacks, and two files
    // the same bar.
    const isRefused = part?.kind === 'refused';
    const input = isRefused
      ? { files, terms }
      : { files: { ...unread.files, market: files.market }, known: unread.digests, terms };
    const read = await readFiles(source, files, input, options);
    if (read.kind === 'refused') return read;
    const unchanged = isRefused ? [] : unread.unchanged.filter(({ dataset: table }) => table !== 'market');
    return add(isRefused ? [] : unread.unchangedTables, unchanged, { isWhole: true, read });
  }

  const optionsFor = async (
    source: Source,
    serve: boolean,
    { onProgress, signal }: Pick<LoadOptions, 'onProgress' | 'signal'>,
  ): Promise<MarketTaskOptions> => ({
    calendars: await calendarsInUse(),
    load: serve ? { datasetId: source.store_id, adjustment: source.adjustment, currency: source.currency } : null,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
  });

  return {
    async unchanged({ files: digests, ...source }) {
      if (source.kind !== 'folder') return undefined;
      const listedAt = Date.parse(timestamp());
      const list = await createListedFiles(source, createProblems());
      const files = TABLE_KINDS.flatMap((table) => list?.[table] ?? []);
      const known = new Map(digests.map((digest) => [digest.label, digest]));
      const isSame = ({ label, bytes, sha256 }: Partial<FileDigest>): boolean => {
        const digest = known.get(label ?? '');
        return digest?.bytes === bytes && (sha256 === undefined || digest?.sha256 === sha256);
      };
      if (list === undefined || files.length !== known.size || !files.every(isSame)) return undefined;
      const found: FileDigest[] = [];
      await digestFiles(files, found).catch(() => found.splice(0)); // The reader reports unreadable files.
      return found.length === files.length && found.every(isSame) ? toKnownFiles(list, digests, listedAt) : undefined;
    },
    async read(source, { serve, ...rest }) {
      const options = await optionsFor(source, serve, rest);
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
      const options = await optionsFor(source, true, addition);
      if (source.kind !== 'database') return folderAddition(await storeFiles.here(source), addition, options);
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

/** Tables derived from the market are as old as the market, regardless of their files. */
const createDerivedTables = ({ mapping }: Source): readonly TableKind[] =>
  mapping === null || mapping.adjusted_close === null ? [] : ['corporate_actions'];

/** Terms on which the market of a source is read. */
const termsOf = ({ mapping, adjustment, price_overrides: overrides }: Source): MarketTerms => ({
  mapping,
  adjustment,
  ...(overrides && { overrides }),
});

/** Labels of files that only one of two listings of a folder has; one that cannot be listed any more has none. */
function listChangedLabels(before: TableFiles, now: TableFiles | undefined): string[] {
  const labelsOf = (files: TableFiles | undefined) =>
    new Set(TABLE_KINDS.flatMap((table) => files?.[table].map(({ label }) => label) ?? []));
  const [old, current] = [labelsOf(before), labelsOf(now)];
  return [...[...old].filter((label) => !current.has(label)), ...[...current].filter((label) => !old.has(label))];
}

/** Digests in the order of their files. */
function inOrder(
  files: TableFiles,
  digests: readonly { readonly label: string; readonly bytes: number; readonly sha256: string }[],
) {
  const digestOf = new Map(digests.map(({ label, bytes, sha256 }) => [label, { label, bytes, sha256 }]));
  return TABLE_KINDS.flatMap((table) => files[table].flatMap(({ label }) => digestOf.get(label) ?? []));
}

/** Fields of a store's document that a load changes. */
export function createLoadedFields(summary: ContentSummary, at: string): Partial<DatasetDocument> {
  return {
    last_loaded_at: at,
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

/** Findings as documents hold them. */
export const toStoredFindings = (findings: readonly Finding[]): DatasetDocument['findings'] =>
  findings.map((finding) => ({ ...finding, accepted: finding.accepted == null ? null : [...finding.accepted] }));

/** Returns the failure of a job whose data was refused. @param field of the store that names its location */
export function failRead(findings: readonly Finding[], field: 'location' | 'source'): Refusal {
  return refuseWithFindings('data store', placeFindings(field, findings), 'STORE_READ_FAILED');
}
