import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { DerivedActions, Mapping } from './mapping.js';
import { ChangedPrice, OVERRIDES_MAX, PriceOverride } from './price-override.js';
import { isCurrency } from '../market/currency-codes.js';
import { CurrencyCode, Id } from '../schema/shape.js';

/** Kinds of data stores, by the origin of their content. */
export const DATASET_KINDS = ['folder', 'database', 'imported', 'synthetic'] as const;
export type DatasetKind = (typeof DATASET_KINDS)[number];

/** Returns true if the service owns the files of a store of this kind. */
export const isManaged = (kind: DatasetKind): boolean => kind === 'imported' || kind === 'synthetic';

export const Adjustment = z
  .enum(['none', 'splits', 'total'])
  .meta({ description: 'Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.' });

/** Currency that a store declares. */
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
export const TableNames = z.partialRecord(z.enum(TABLE_KINDS), z.string().min(1).max(200));

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
  tables: TableNames,
  adjustment: Adjustment,
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

/** Declared part of a store, which has versions. */
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
