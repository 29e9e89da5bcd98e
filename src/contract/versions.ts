import { z } from 'zod';
import { defineObject, Id } from '#domain/base/schema.js';
import {
  NOTE_LENGTH_MAX,
  VERSION_ACTIONS,
  VERSIONED_DOCUMENTS,
  type VersionedKind,
} from '#domain/definition/versions.js';
import type { ErrorCode } from '#domain/base/refusals.js';
import { SavedIndex } from './indices/definitions.js';
import { skippedFields } from './payloads.js';
import { SavedConstraintSet } from './optimise.js';
import { SavedReportTemplate } from './reports.js';
import type { Scope } from './route.js';
import { ProcedurePayload } from './governance.js';
import { DataStore } from './stores.js';
import { SavedStrategy } from './strategies.js';
import { closuresFamily } from './calendars.js';
import { Client } from './clients.js';
import { Plugin } from './plugins.js';
import { Schedule } from './schedules.js';
import { Watchlist } from './watchlists.js';

export const DocumentVersion = defineObject(() => ({
  version: z
    .int()
    .min(1)
    .meta({ description: 'Number of the version, from 1 without gaps. A deletion also has a number.' }),
  etag: z.string().meta({ description: 'SHA-256 of the content; for a deletion, of the deleted content.' }),
  at: z.string().meta({ description: 'Time of the write, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; `local` without keys.' }),
  key_id: z
    .string()
    .nullable()
    .meta({ description: 'Id of the key, or `sub:` and the subject of the token; null without authentication.' }),
  note: z
    .string()
    .nullable()
    .meta({
      description: `X-Change-Note of the write, at most ${NOTE_LENGTH_MAX} characters; null if there is none.`,
    }),
  action: z.enum(VERSION_ACTIONS).meta({ description: 'Effect of the write on the document.' }),
  restored_from: z.int().min(1).nullable().meta({
    description: 'Number of the restored version; null for other writes.',
  }),
  request_id: z.string().meta({ description: 'X-Request-Id of the write; empty for writes of the engine.' }),
})).meta({ id: 'DocumentVersion' });
export type DocumentVersion = z.infer<typeof DocumentVersion>;

export const VersionList = defineObject(() => ({
  versions: z.array(DocumentVersion).meta({ description: 'Newest first.' }),
  total: z.int().min(1).meta({ description: 'Number of stored versions, listed or not.' }),
  ...skippedFields,
})).meta({ id: 'VersionList' });
export type VersionList = z.infer<typeof VersionList>;

export const DocumentChangePayload = defineObject(() => ({
  path: z.string().meta({ description: 'JSON pointer into the document after the preceding changes.' }),
  op: z.enum(['add', 'remove', 'replace']).meta({ description: 'Operation, as in JSON Patch (RFC 6902).' }),
  before: z.unknown().meta({ description: 'Previous value; null for an addition.' }),
  after: z.unknown().meta({ description: 'New value; null for a removal.' }),
})).meta({ id: 'DocumentChange' });

export const VersionDifference = defineObject(() => ({
  from: z.int().min(1).meta({ description: 'Number of the first version.' }),
  to: z.int().min(1).meta({ description: 'Number of the second version.' }),
  changes: z
    .array(DocumentChangePayload)
    .meta({ description: 'Changes that lead from the first to the second version, in order.' }),
  sentences: z
    .strictObject({
      removed: z.array(z.string()).meta({ description: 'Sentences that only the first version contains.' }),
      added: z.array(z.string()).meta({ description: 'Sentences that only the second version contains.' }),
    })
    .meta({ description: 'Changes of the methodology, only for indices.' }),
})).meta({ id: 'VersionDifference' });
export type VersionDifference = z.infer<typeof VersionDifference>;

const VersionedDocument = z
  .looseObject({})
  .meta({ id: 'VersionedDocument', description: 'Document as it was stored, with its fields at that time.' });

const listQuery = defineObject(() => ({
  limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of versions.' }),
  before: z.int().min(1).optional().meta({ description: 'Only versions with a smaller number.' }),
}));

const differenceQuery = defineObject(() => ({
  from: z.int().min(1).meta({ description: 'Number of the first version.', example: 1 }),
  to: z.int().min(1).meta({ description: 'Number of the second version.', example: 1 }),
}));

const VersionNumber = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be a whole number from 1')
  .meta({ description: 'Number of the version.', example: '1' });

/** Terms of the version routes of a document family. */
interface Family<P extends z.ZodRawShape, S extends z.ZodType> {
  readonly kind: VersionedKind;
  /** Path of a document, for example `/indices/{index_id}`. */
  readonly path: string;
  readonly params: P;
  readonly tag: string;
  /** Noun for a document of the family. */
  readonly word: string;
  /** Scope required for a write. */
  readonly scope: Scope;
  readonly missing: ErrorCode;
  /** Schema of the response to a restoration. It equals the response to a write. */
  readonly saved: S;
  /** Error codes of a restoration. They equal those of a write. */
  readonly errors?: readonly ErrorCode[];
}

function defineList<P extends z.ZodRawShape, S extends z.ZodType>({ path, params, tag, word, missing }: Family<P, S>) {
  return {
    method: 'GET',
    path: `${path}/versions`,
    scope: 'read',
    tag,
    summary: `Lists the versions of the ${word}, with author, time and note.`,
    description: 'Deletions are versions as well. The versions of a deleted document are kept until they are purged.',
    params: z.strictObject(params),
    query: listQuery,
    success: { status: 200, description: 'Versions, newest first.', schema: VersionList },
    errors: [missing, 'DOCUMENT_UNREADABLE'],
  } as const;
}

function createReadingRoute<P extends z.ZodRawShape, S extends z.ZodType>({
  path,
  params,
  tag,
  word,
  missing,
}: Family<P, S>) {
  return {
    method: 'GET',
    path: `${path}/versions/{version}`,
    scope: 'read',
    tag,
    summary: `Returns one version of the ${word}.`,
    params: z.strictObject({ ...params, version: VersionNumber }),
    success: {
      status: 200,
      description: 'The document, with its ETag and the number in X-Version.',
      schema: VersionedDocument,
    },
    errors: [missing, 'VERSION_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  } as const;
}

function createDifferenceRoute<P extends z.ZodRawShape, S extends z.ZodType>({
  path,
  params,
  tag,
  word,
  missing,
}: Family<P, S>) {
  return {
    method: 'GET',
    path: `${path}/versions/diff`,
    scope: 'read',
    tag,
    summary: `Lists the changes of the ${word} between two versions.`,
    params: z.strictObject(params),
    query: differenceQuery,
    success: { status: 200, description: 'The changes.', schema: VersionDifference },
    errors: [missing, 'VERSION_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  } as const;
}

function createRestorationRoute<P extends z.ZodRawShape, S extends z.ZodType>(family: Family<P, S>) {
  const { path, params, tag, word, scope, missing, saved, errors = [] } = family;
  return {
    method: 'POST',
    path: `${path}/versions/{version}/restore`,
    scope,
    tag,
    summary: `Restores a version of the ${word}.`,
    description:
      'A restore is a write. The service validates the version against the stored documents, applies If-Match and creates a new version. Restoring the current version changes nothing.',
    params: z.strictObject({ ...params, version: VersionNumber }),
    versioned: true,
    conditional: true,
    success: { status: 200, description: 'The document as stored.', schema: saved },
    errors: [
      missing,
      'VERSION_NOT_FOUND',
      'VERSION_NOT_RESTORABLE',
      'DOCUMENT_UNREADABLE',
      'PRECONDITION_FAILED',
      ...errors,
    ],
  } as const;
}

/** Families of documents with versions, by the name in their operations. */
const FAMILIES = {
  Index: {
    ...VERSIONED_DOCUMENTS.index,
    kind: 'index',
    path: '/indices/{index_id}',
    params: { index_id: Id },
    tag: 'indices',
    scope: 'write',
    saved: SavedIndex,
  },
  Strategy: {
    ...VERSIONED_DOCUMENTS.strategy,
    kind: 'strategy',
    path: '/strategies/{strategy_id}',
    params: { strategy_id: Id },
    tag: 'strategies',
    scope: 'write',
    saved: SavedStrategy,
  },
  ConstraintSet: {
    ...VERSIONED_DOCUMENTS['constraint-set'],
    kind: 'constraint-set',
    path: '/optimise/constraint-sets/{constraint_set_id}',
    params: { constraint_set_id: Id },
    tag: 'optimise',
    scope: 'write',
    saved: SavedConstraintSet,
  },
  Template: {
    ...VERSIONED_DOCUMENTS.template,
    kind: 'template',
    path: '/reports/templates/{template_id}',
    params: { template_id: Id },
    tag: 'reports',
    scope: 'write',
    saved: SavedReportTemplate,
  },
  Watchlist: {
    ...VERSIONED_DOCUMENTS.watchlist,
    kind: 'watchlist',
    path: '/data/watchlists/{watchlist_id}',
    params: { watchlist_id: Id },
    tag: 'watchlists',
    scope: 'write',
    saved: Watchlist,
  },
  Plugin: {
    ...VERSIONED_DOCUMENTS.plugin,
    kind: 'plugin',
    path: '/plugins/{plugin_id}',
    params: { plugin_id: Id },
    tag: 'plugins',
    scope: 'admin',
    saved: Plugin,
    errors: ['VALIDATION_FAILED', 'OVERLOADED'],
  },
  Client: {
    ...VERSIONED_DOCUMENTS.client,
    kind: 'client',
    path: '/clients/{client_id}',
    params: { client_id: Id },
    tag: 'clients',
    scope: 'publish',
    saved: Client,
    errors: ['VALIDATION_FAILED'],
  },
  Schedule: {
    ...VERSIONED_DOCUMENTS.schedule,
    kind: 'schedule',
    path: '/schedules/{schedule_id}',
    params: { schedule_id: Id },
    tag: 'schedules',
    scope: 'write',
    saved: Schedule,
    errors: ['VALIDATION_FAILED'],
  },
  Closures: { ...closuresFamily, kind: 'closures' },
  Procedure: {
    ...VERSIONED_DOCUMENTS.procedure,
    kind: 'procedure',
    path: '/procedures/{procedure_id}',
    params: { procedure_id: Id },
    tag: 'governance',
    scope: 'write',
    saved: ProcedurePayload,
    errors: [],
  },
  Store: {
    ...VERSIONED_DOCUMENTS.store,
    kind: 'store',
    path: '/data/stores/{store_id}/document',
    params: { store_id: Id },
    tag: 'stores',
    word: 'declaration of a data store',
    scope: 'data',
    saved: DataStore,
    errors: ['STORE_LOADING', 'STORE_REFRESHING', 'FOLDER_REGISTERED', 'NOT_SUPPORTED'],
  },
} as const satisfies Readonly<Record<string, Family<z.ZodRawShape, z.ZodType>>>;

type Families = typeof FAMILIES;
type Created<F extends { readonly params: z.ZodRawShape; readonly saved: z.ZodType }> = {
  readonly list: ReturnType<typeof defineList<F['params'], F['saved']>>;
  readonly diff: ReturnType<typeof createDifferenceRoute<F['params'], F['saved']>>;
  readonly get: ReturnType<typeof createReadingRoute<F['params'], F['saved']>>;
  readonly restore: ReturnType<typeof createRestorationRoute<F['params'], F['saved']>>;
};
type VersionRoutes = { readonly [N in keyof Families as `list${N}Versions`]: Created<Families[N]>['list'] } & {
  readonly [N in keyof Families as `diff${N}Versions`]: Created<Families[N]>['diff'];
} & { readonly [N in keyof Families as `get${N}Version`]: Created<Families[N]>['get'] } & {
  readonly [N in keyof Families as `restore${N}Version`]: Created<Families[N]>['restore'];
};

/** Version routes of all document families with versions (`VERSIONED_KINDS`). */
export const versionRoutes = Object.fromEntries(
  Object.entries(FAMILIES).flatMap(([name, family]) => [
    [`list${name}Versions`, defineList<z.ZodRawShape, z.ZodType>(family)],
    [`diff${name}Versions`, createDifferenceRoute<z.ZodRawShape, z.ZodType>(family)],
    [`get${name}Version`, createReadingRoute<z.ZodRawShape, z.ZodType>(family)],
    [`restore${name}Version`, createRestorationRoute<z.ZodRawShape, z.ZodType>(family)],
  ]),
) as unknown as VersionRoutes; // four routes of each family

/** Names of the families in the operations, with their kinds and the parameters that contain the ids. */
export const VERSIONED_FAMILIES = Object.entries(FAMILIES).map(([name, { kind, params }]) => ({
  name,
  kind: kind satisfies VersionedKind as VersionedKind,
  parameter: Object.keys(params)[0]!,
}));
