import { z } from 'zod';
import { DerivedActions, Mapping } from './mapping.js';
import { CurrencyCode, Id } from '../schema/shape.js';

/**
 * A data store as the engine remembers it. Not a client's document: its fields are what the wire shows, and what only
 * the engine needs beside them.
 */
export const DATASET_KINDS = ['folder', 'database', 'imported', 'synthetic'] as const;
export type DatasetKind = (typeof DATASET_KINDS)[number];

/** Whether the files of a store are the service's own. */
export const isManaged = (kind: DatasetKind): boolean => kind === 'imported' || kind === 'synthetic';

export const Adjustment = z
  .enum(['none', 'splits', 'total'])
  .meta({ description: 'Price basis of CLOSE: as traded, divided by later splits, or by splits and dividends.' });

/** Currency that a store declares. */
export const DeclaredCurrency = CurrencyCode.nullable().meta({
  description: 'Currency of the prices of names that have no CURRENCY of their own; null for none declared.',
});

/** The tables of a dataset, in the order in which they are read and reported. */
export const TABLE_KINDS = ['market', 'reference', 'corporate_actions', 'universes', 'series'] as const;

/** Names of tables that a dataset holds under other names than their kind. */
export const TableNames = z.partialRecord(z.enum(TABLE_KINDS), z.string().min(1).max(200));

const ErrorDetailBody = z.strictObject({
  code: z.string(),
  message: z.string(),
  detail: z.record(z.string(), z.unknown()).nullable(),
});
const FindingBody = z.looseObject({
  severity: z.enum(['error', 'warning', 'info']),
  code: z.string(),
  message: z.string(),
  path: z.string(),
});

/** Of a file of a folder that the engine made. */
const KeptName = z.string().regex(/^[\w-][\w.-]{0,254}$/);
const KeptArtifact = z.strictObject({ name: z.string(), bytes: z.int(), sha256: z.string() });

const TakenAtStart = z.strictObject({
  dates_added: z.int(),
  /** Bars that were not served before; 0 where that content is lost and history is another. */
  rows_added: z.int(),
  identifiers_added: z.int(),
  findings: z.array(FindingBody),
});
export type TakenAtStart = z.infer<typeof TakenAtStart>;

export const DatasetDocument = z.strictObject({
  store_id: Id,
  name: z.string(),
  kind: z.enum(DATASET_KINDS),
  managed: z.boolean(),
  /** The store to serve: loaded again at start. */
  active: z.boolean(),
  /** Generated data that is not complete yet. */
  writing: z.boolean(),
  /** Real path of the folder, or the database URL with its password; null for what has no place yet. */
  location: z.string().nullable(),
  /** Source of refreshes; null without one. */
  source: z.string().nullable(),
  tables: TableNames,
  adjustment: Adjustment,
  /** Null where it is not declared, as in stores of earlier versions. */
  currency: CurrencyCode.nullable().default(null),
  /** Null where the market is written as it is read; absent from documents of earlier versions. */
  mapping: Mapping.nullable().default(null),
  derived_actions: DerivedActions.nullable().default(null),
  /** Contents that can be had again, the last included; all of them where it is null or absent. */
  versions_kept: z.int().min(1).nullable().optional(),
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
   * What was served of it last: the content up to its last day, as `prefixMark` tells it. Absent while it never was,
   * and in documents of earlier versions.
   */
  served: z.strictObject({ day: z.int(), axes: z.string(), rows: z.int(), hash: z.string() }).optional(),
  /** Build of the engine that read what is served of it last; absent from documents of earlier versions. */
  read_by: z.string().optional(),
  /**
   * Files of its folder as artifacts, where several processes share them: the folder of a home is a copy then. Absent
   * from stores of one home.
   */
  kept: z.array(z.strictObject({ name: KeptName, artifact: KeptArtifact })).optional(),
  /**
   * What starts took of its source since a refresh or a load told of it: a start reads the source as it is. Null where
   * they found it as it was; absent from documents of earlier versions.
   */
  taken_at_start: TakenAtStart.nullable().default(null),
  /** The request that synthetic data was made by. */
  synthetic: z.record(z.string(), z.unknown()).nullable(),
});
export type DatasetDocument = z.infer<typeof DatasetDocument>;

/** Fields of a store that a client declares; all others tell what was read of it, and where the engine keeps that. */
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

/** What was declared of a store: the part of it that has versions. */
export type DeclaredDataset = Pick<DatasetDocument, (typeof DECLARED_FIELDS)[number]> &
  Partial<Pick<DatasetDocument, 'versions_kept'>>;

/**
 * The declared part of a store, without the password of its source: a version outlives the password that it was written
 * with.
 * @param body a stored document; fields of later versions of the engine are null where it has none
 */
export function declaredOf(body: unknown): DeclaredDataset {
  const document = body as Partial<DatasetDocument>;
  const fields = DECLARED_FIELDS.map((field) => [field, document[field] ?? null]);
  const { source, versions_kept: kept } = document;
  return {
    ...Object.fromEntries(fields),
    ...(typeof source === 'string' && { source: withoutPassword(source) }),
    // Left out where all are kept: a store of before it could be said has no other version by it.
    ...(kept == null ? {} : { versions_kept: kept }),
  } as DeclaredDataset; // Each of the fields, as the store's document has it.
}

const HIDDEN_PASSWORD = '***';

/** A connection URL without its password; a path is left as it is. */
export function withoutPassword(location: string): string {
  if (!location.includes('://') || !URL.canParse(location)) return location;
  const url = new URL(location);
  if (url.password === '') return location;
  url.password = HIDDEN_PASSWORD;
  return url.href;
}

/** Whether a place is a connection URL whose password was taken out. */
export const hidesPassword = (location: string): boolean =>
  URL.canParse(location) && new URL(location).password === HIDDEN_PASSWORD;
