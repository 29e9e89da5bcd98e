import { z } from 'zod';
import { LIMITS } from '../base/limits.js';
import { isStoreUnavailable, Refusal } from '../base/refusals.js';
import { CurrencyCode, defineObject, Id, IsoDate } from '../base/schema.js';
import { isCurrency } from '../market/rates.js';
import { DerivedActions, Mapping } from './mapping.js';
import { LOCAL_AUTHOR } from './versions.js';

/** Maximum number of overrides per store: overrides are corrections, not a source of prices. */
export const OVERRIDES_MAX = 1000;
export const OVERRIDE_REASON_MAX = 500;

/** Close that a person set to override the close of the source. */
export const PriceOverride = defineObject(() => ({
  identifier: z.string().meta({ description: 'Security.' }),
  date: z.string().meta({ description: 'Session of the price.' }),
  price: z.number().meta({ description: 'CLOSE that replaces the CLOSE of the source.' }),
  source_price: z
    .number()
    .nullable()
    .meta({ description: 'CLOSE of the source at the time of the override; null if there was none.' }),
  reason: z.string().meta({ description: 'Reason, including the source of the price.' }),
  author: z.string().meta({ description: 'Name of the key; `local` without authentication.' }),
  key_id: z.string().nullable().meta({ description: 'Id of the key; null without authentication.' }),
  at: z.string().meta({ description: 'Time of the override, ISO-8601 UTC with offset.' }),
  approval_id: z
    .int()
    .nullable()
    .default(null)
    .meta({ description: 'Approval of the decision; null if it needed none.' }),
  approved_by: z.array(z.string()).default([]).meta({ description: 'Names of the people who approved the decision.' }),
})).meta({ id: 'PriceOverride' });
export type PriceOverride = z.infer<typeof PriceOverride>;

/** Price of a store whose override changed after the store was read. */
const ChangedPrice = defineObject(() => ({ identifier: z.string(), date: z.string(), at: z.string() }));
type ChangedPrice = z.infer<typeof ChangedPrice>;

interface ChangedPrices {
  readonly changed_prices?: readonly ChangedPrice[] | undefined;
}

/**
 * Returns the changed prices that the served content of a store lacks.
 * @param changedPrices document of the store when the content was read
 */
export function findPendingPrices(
  stored: ChangedPrices,
  changedPrices: ChangedPrices,
): { changed_prices?: ChangedPrice[] } {
  if (stored.changed_prices === undefined) return {};
  const appliedPrices = changedPrices.changed_prices ?? [];
  const isApplied = ({ identifier, date, at }: ChangedPrice): boolean =>
    appliedPrices.some((other) => other.identifier === identifier && other.date === date && other.at === at);
  return { changed_prices: stored.changed_prices.filter((change) => !isApplied(change)) };
}

/** Kinds of data stores, by the origin of their content. */
export const DATASET_KINDS = ['folder', 'database', 'imported', 'synthetic'] as const;
export type DatasetKind = (typeof DATASET_KINDS)[number];

/** Returns true if the service owns the files of a store of this kind. */
export const isManaged = (kind: DatasetKind): boolean => kind === 'imported' || kind === 'synthetic';

export const AdjustmentSpec = z
  .enum(['none', 'splits', 'total'])
  .meta({ description: 'Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.' });

export const DeclaredCurrency = CurrencyCode.refine(isCurrency, {
  error: 'must be a code of ISO 4217, such as GBP, or a minor unit, such as GBX for pence',
})
  .nullable()
  .meta({
    description:
      'Currency of securities without a CURRENCY: an ISO 4217 code, or a minor unit such as GBX (pence). Null if the store has no default currency.',
  });

/** Kinds of tables of a dataset, in the order of reading and reporting. */
export const TABLE_KINDS = ['market', 'reference', 'corporate_actions', 'universes', 'series'] as const;

/** Names of tables, for tables whose name differs from their kind. */
export const TableNamesSpec = z.partialRecord(z.enum(TABLE_KINDS), z.string().min(1).max(200));

const ErrorDetailBody = defineObject(() => ({
  code: z.string(),
  message: z.string(),
  detail: z.record(z.string(), z.unknown()).nullable(),
}));
const FindingBody = z.looseObject({
  severity: z.enum(['error', 'warning', 'info']),
  code: z.string(),
  message: z.string(),
  path: z.string(),
});

/** Name of a file that the engine created in a folder. */
const RetainedFileName = z.string().regex(/^[\w-][\w.-]{0,254}$/);
const RetainedArtifact = defineObject(() => ({ name: z.string(), bytes: z.int(), sha256: z.string() }));

const StartImport = defineObject(() => ({
  dates_added: z.int(),
  /** Number of new bars; 0 if the previous content is lost and history changed. */
  rows_added: z.int(),
  identifiers_added: z.int(),
  findings: z.array(FindingBody),
}));
export type StartImport = z.infer<typeof StartImport>;

/** Stored form of a data store. It has additional fields that the API does not serve. */
export const DatasetDocument = defineObject(() => ({
  store_id: Id,
  name: z.string(),
  kind: z.enum(DATASET_KINDS),
  managed: z.boolean(),
  /** True for the store that is loaded at a start. */
  active: z.boolean(),
  /** True while the generated data are incomplete. */
  writing: z.boolean(),
  /** Real path of the folder, or database URL with its password; null without a location. */
  location: z.string().nullable(),
  /** Source of refreshes; null without a source. */
  source: z.string().nullable(),
  tables: TableNamesSpec,
  adjustment: AdjustmentSpec,
  /** Declared currency. Null if none was declared, and in stores of earlier versions. */
  currency: CurrencyCode.nullable().default(null),
  /** Mapping of the source. Null if the market is read without a mapping, absent in documents of earlier versions. */
  mapping: Mapping.nullable().default(null),
  derived_actions: DerivedActions.nullable().default(null),
  /** Number of versions that remain readable, including the last; null or absent: all versions. */
  versions_kept: z.int().min(1).nullable().optional(),
  /** Closes that override those of the source; absent if there were never any. */
  price_overrides: z.array(PriceOverride).max(OVERRIDES_MAX).optional(),
  /** Closes whose overrides changed since the content was read; absent if there were never any. */
  changed_prices: z.array(ChangedPrice).optional(),
  created_at: z.string(),
  last_loaded_at: z.string().nullable(),
  last_refreshed_at: z.string().nullable(),
  identifiers: z.int().nullable(),
  start: z.string().nullable(),
  end: z.string().nullable(),
  size_bytes: z.int().nullable(),
  content_hash: z.string().nullable(),
  rows: z.record(z.string(), z.int()).nullable(),
  files: z.array(z.strictObject({ label: z.string(), bytes: z.int(), sha256: z.string() })),
  error: ErrorDetailBody.nullable(),
  findings: z.array(FindingBody),
  /**
   * Last served content up to its last day, identified by `computePrefixMark`. Absent if no content was served, and in
   * documents of earlier versions.
   */
  served: z.strictObject({ day: z.int(), axes: z.string(), rows: z.int(), hash: z.string() }).optional(),
  /** Build of the engine that last read the content; absent in documents of earlier versions. */
  read_by: z.string().optional(),
  /**
   * Files of the folder as artifacts. Present if several processes share them; each process then has a copy of the
   * folder. Absent if only one process uses the store.
   */
  kept: z.array(z.strictObject({ name: RetainedFileName, artifact: RetainedArtifact })).optional(),
  /**
   * Changes of the source that were found when the service started and that no refresh or load has reported yet. A
   * start reads the current source. Null without changes, absent in documents of earlier versions.
   */
  taken_at_start: StartImport.nullable().default(null),
  /** Request from which the synthetic data were created. */
  synthetic: z.record(z.string(), z.unknown()).nullable(),
}));
export type DatasetDocument = z.infer<typeof DatasetDocument>;

/** Fields of a store that a client declares; the other fields describe the content and its location. */
const DECLARED_FIELDS = [
  'store_id',
  'name',
  'kind',
  'source',
  'tables',
  'adjustment',
  'currency',
  'mapping',
  'synthetic',
] as const satisfies readonly (keyof DatasetDocument)[];

export type DeclaredDataset = Pick<DatasetDocument, (typeof DECLARED_FIELDS)[number]> &
  Partial<Pick<DatasetDocument, 'versions_kept' | 'price_overrides'>>;

/**
 * Returns the declared part of a store without the password of its source. Versions remain stored after a password has
 * changed, so they must not contain it.
 * @param body stored document; absent fields of later versions become null
 */
export function readDeclaration(body: unknown): DeclaredDataset {
  const document = body as Partial<DatasetDocument>;
  const fields = DECLARED_FIELDS.map((field) => [field, document[field] ?? null]);
  const { source, versions_kept: versionsKept, price_overrides: overrides } = document;
  return {
    ...Object.fromEntries(fields),
    ...(typeof source === 'string' && { source: removePassword(source) }),
    // Omitted if all versions are kept, so that older stores get no additional version.
    ...(versionsKept == null ? {} : { versions_kept: versionsKept }),
    ...(overrides === undefined ? {} : { price_overrides: overrides }),
  } as DeclaredDataset; // Every field has the type that it has in the document of the store.
}

const HIDDEN_PASSWORD = '***';

/** Returns a connection URL without its password; paths are unchanged. */
export function removePassword(location: string): string {
  if (!location.includes('://') || !URL.canParse(location)) return location;
  const url = new URL(location);
  if (url.password === '') return location;
  url.password = HIDDEN_PASSWORD;
  return url.href;
}

/** Returns true if a location is a connection URL whose password was removed. */
export const hidesPassword = (location: string): boolean =>
  URL.canParse(location) && new URL(location).password === HIDDEN_PASSWORD;

/** Market that all processes of a cluster serve, with the artifact of its columns. */
export const ActiveMarketDocument = defineObject(() => ({
  market: z.strictObject({
    datasetId: z.string(),
    contentHash: z.string(),
    adjustment: AdjustmentSpec,
    currency: z.string().nullable(),
  }),
  loaded_at: z.string(),
  snapshot: z.strictObject({ name: z.string(), bytes: z.int(), sha256: z.string() }),
}));
export type ActiveMarketDocument = z.infer<typeof ActiveMarketDocument>;

/** Origins of a version of the data. `reload`: the source had changed when it was read at a start or an activation. */
export const DATA_SOURCES = ['import', 'append', 'replace', 'refresh', 'reload', 'repair', 'synthetic'] as const;
export type DataSource = (typeof DATA_SOURCES)[number];

const Artifact = defineObject(() => ({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }));

/** Version of the content of a data store; stored under the id of the store and its number. */
export const DataVersionDocument = defineObject(() => ({
  version: z.int().min(1),
  content_hash: z.string(),
  /** Time at which the content became known to the service. */
  known_at: z.string(),
  source: z.enum(DATA_SOURCES),
  rows_added: z.int().min(0),
  rows_changed: z.int().min(0),
  rows_removed: z.int().min(0),
  author: z.string().default(LOCAL_AUTHOR),
  note: z.string().nullable().default(null),
  request_id: z.string().default(''),
  /** Change from this content back to the previous one; null if no process had both contents. */
  change: Artifact.nullable(),
}));
export type DataVersionDocument = z.infer<typeof DataVersionDocument>;

/** Copy of the last content of a data store. It is kept if the original source has changed. */
export const DataCopy = defineObject(() => ({
  /** Complete content. */
  content: Artifact,
  /** Changes from `content` to the latest content, earliest first. */
  changes: z.array(Artifact),
}));
export type DataCopy = z.infer<typeof DataCopy>;

/** Last version of a data store; stored under its id. */
export const DataHistoryDocument = defineObject(() => ({
  latest: z.int().min(1),
  content_hash: z.string(),
  known_at: z.string(),
  /** First version that can still be read. Each later version refers to the previous one. */
  readable_from: z.int().min(1),
  /**
   * Copy of the content. Null if the files of the service already have the latest content, or if there was no space for
   * a copy.
   */
  copy: DataCopy.nullable().default(null),
  /** Highest version of a deleted store with the same id; absent if there was none. */
  forgotten: z.int().min(1).optional(),
}));
export type DataHistoryDocument = z.infer<typeof DataHistoryDocument>;

/** Record that remains for the id of a deleted store, because version numbers are never reused. */
export const ForgottenHistory = DataHistoryDocument.pick({ forgotten: true }).required();
export type ForgottenHistory = z.infer<typeof ForgottenHistory>;

/** Table in a request. Its rows are checked when they are read, and each problem is reported at its row. */
export interface ImportTable {
  readonly index: readonly unknown[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/**
 * Formats of the content of an import and of its template. `csv` is the earlier name of `csv.zip` and also means a
 * single file.
 */
export const IMPORT_FORMATS = ['xlsx', 'csv.zip', 'csv'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** Fields of an import that are checked before its data are read. */
export const ImportHeader = defineObject(() => ({
  name: z.string().min(1).max(200),
  store_id: Id.optional().meta({
    description: 'Id of the store. Default: the name in lower case, with other characters replaced by dashes.',
  }),
  format: z.enum(IMPORT_FORMATS).default('xlsx').meta({
    description:
      'Format of the content: an Excel workbook, a zip archive of CSV files, or a zip archive of workbooks with one sheet each. With csv, the content can also be a single CSV file.',
  }),
  adjustment: AdjustmentSpec.default('none'),
  currency: DeclaredCurrency.optional().meta({
    description: 'Currency of securities without a CURRENCY. An append does not change the currency of the store.',
  }),
  mapping: Mapping.nullable()
    .default(null)
    .meta({ description: 'Mapping of a market that does not follow the template.' }),
  activate: z.boolean().default(false).meta({ description: 'Activate the store immediately.' }),
  on_exists: z
    .enum(['refuse', 'replace', 'append'])
    .default('refuse')
    .meta({ description: 'Action if the id is already used. append adds new rows to an imported store.' }),
}));
export type ImportHeader = z.infer<typeof ImportHeader>;

/** Formats of a table in the body of an import, by media type. */
export const TABLE_FORMATS = {
  'application/vnd.apache.parquet': 'parquet',
  'application/vnd.apache.arrow.stream': 'arrow',
} as const;
export type TableFormat = (typeof TABLE_FORMATS)[keyof typeof TABLE_FORMATS];

const { shape } = ImportHeader;

/** Query parameters of an import whose body is a table. */
export const ImportQuery = defineObject(() => ({
  name: shape.name.optional().meta({ description: 'Id of the store. Required if the body is a table.' }),
  store_id: shape.store_id,
  dataset: z.enum(TABLE_KINDS).optional().meta({ description: 'Kind of the table. Default: market.' }),
  adjustment: AdjustmentSpec.optional(),
  currency: z.string().optional().meta({ description: 'Currency of securities without a CURRENCY.' }),
  mapping: z.string().max(100_000).optional().meta({ description: 'Mapping of the table, as JSON.' }),
  activate: z.boolean().optional().meta({ description: 'Activate the store immediately.' }),
  on_exists: shape.on_exists
    .unwrap()
    .optional()
    .meta({ description: 'Action if the id is already used. Tables other than the market are appended.' }),
}));
export type ImportQuery = z.infer<typeof ImportQuery>;

const isTable = (value: unknown): boolean => {
  const table = value as Partial<ImportTable> | null;
  return (
    typeof table === 'object' &&
    table !== null &&
    Object.keys(table).every((key) => key === 'index' || key === 'columns' || key === 'data') &&
    Array.isArray(table.index) &&
    Array.isArray(table.columns) &&
    table.columns.every((column) => typeof column === 'string') &&
    Array.isArray(table.data) &&
    table.data.every((row) => Array.isArray(row))
  );
};

export const ImportBody = defineObject(() => ({
  ...ImportHeader.shape,
  content: z.string().min(1).nullable().default(null),
  tables: z
    .record(
      z.string(),
      z.custom<ImportTable>(isTable, { error: 'must be an object of index, columns and data, whose rows are arrays' }),
    )
    .nullable()
    .default(null),
}));
export type ImportBody = z.infer<typeof ImportBody>;

const StoreName = z.string().min(1).max(200);

export const GenerateSyntheticRequest = defineObject(() => ({
  store_id: Id.optional().meta({ description: 'Default: derived from the seed, for example synthetic-42-1.' }),
  name: StoreName.optional(),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(42)
    .meta({ description: 'Seed of the random numbers. Equal requests give equal data on every platform.' }),
  assets: z
    .int()
    .min(1)
    .max(5000)
    .default(50)
    .meta({
      description: `Number of securities at the start, without later listings. The number of securities times the number of sessions must be at most ${LIMITS.MAX_SYNTHETIC_BARS}.`,
    }),
  start: IsoDate.default('2015-01-01'),
  end: IsoDate.optional().meta({ description: 'Last date. Default: the end of the last complete calendar year.' }),
  calendar: z.string().min(1).default('XNYS').meta({ description: 'Exchange, as a MIC.' }),
  currency: CurrencyCode.default('USD'),
  sectors: z.int().min(1).max(11).default(8),
  market_return: z
    .number()
    .min(-0.5)
    .max(1)
    .default(0.07)
    .meta({ description: 'Expected annual return of the market.' }),
  market_volatility: z.number().min(0).max(2).default(0.16),
  specific_volatility: z.number().min(0).max(2).default(0.25),
  dividend_yield: z.number().min(0).max(0.5).default(0.02).meta({ description: 'Paid quarterly.' }),
  splits_per_year: z.number().min(0).max(5).default(0.03).meta({ description: 'Probability for each security.' }),
  delistings_per_year: z.number().min(0).max(1).default(0.01).meta({ description: 'Per asset.' }),
  listings_per_year: z.number().min(0).max(1).default(0.01).meta({ description: 'Per asset.' }),
  missing_rate: z.number().min(0).max(0.9).default(0).meta({ description: 'Fraction of the bars that is removed.' }),
  activate: z.boolean().default(true).meta({ description: 'True activates the store when it is complete.' }),
})).meta({ id: 'GenerateSyntheticRequest' });
export type GenerateSyntheticRequest = z.infer<typeof GenerateSyntheticRequest>;

/** Returns the refusal of a request that needs data of a store which is still being read after a restart. */
export function refuseWhileLoading(datasetId: string): Refusal {
  return new Refusal('STORE_UNAVAILABLE', describeLoading(datasetId), createDetail(datasetId));
}

/** Returns the refusal of a change of a store that has not been read yet. */
export function refuseWhileResuming(datasetId: string): Refusal {
  return new Refusal('STORE_LOADING', describeLoading(datasetId), createDetail(datasetId));
}

const describeLoading = (datasetId: string) =>
  `The data store ${datasetId} is being read after a restart; retry in a few seconds.`;

const createDetail = (datasetId: string) => ({ store_id: datasetId, status: 'loading' });

/**
 * Returns true if a failure is a refusal of `refuseWhileLoading` or `refuseWhileResuming`. Nothing was changed then,
 * and the request may succeed once the store is loaded.
 */
export function isDatasetLoading(failure: unknown): boolean {
  const isEither = isStoreUnavailable(failure) || (failure instanceof Refusal && failure.code === 'STORE_LOADING');
  return isEither && (failure as Refusal).detail?.['status'] === 'loading';
}
