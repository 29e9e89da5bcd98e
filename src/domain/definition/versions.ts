import { z } from 'zod';
import type { ErrorCode } from '../base/refusals.js';
import { defineObject } from '../base/schema.js';
import { NO_HASH } from './publication.js';

/** Declaration of a kind of document. */
interface DocumentTerms {
  /** Noun in messages. */
  readonly word: string;
  readonly missing: ErrorCode;
  /** Parameter of routes that contains the id. Null if any client may read and write the documents by their ids. */
  readonly parameter: string | null;
}

/**
 * Kinds of documents of which every state is kept as a version. Storage, audit log, access, messages and version routes
 * derive from these declarations.
 */
export const VERSIONED_DOCUMENTS = {
  index: { word: 'index', missing: 'INDEX_NOT_FOUND', parameter: 'index_id' },
  strategy: { word: 'strategy', missing: 'STRATEGY_NOT_FOUND', parameter: 'strategy_id' },
  'constraint-set': { word: 'constraint set', missing: 'CONSTRAINT_SET_NOT_FOUND', parameter: 'constraint_set_id' },
  template: { word: 'report template', missing: 'TEMPLATE_NOT_FOUND', parameter: 'template_id' },
  watchlist: { word: 'watchlist', missing: 'WATCHLIST_NOT_FOUND', parameter: 'watchlist_id' },
  plugin: { word: 'plug-in', missing: 'PLUGIN_NOT_FOUND', parameter: 'plugin_id' },
  store: { word: 'data store', missing: 'STORE_NOT_FOUND', parameter: 'store_id' },
  closures: { word: 'calendar', missing: 'CALENDAR_NOT_FOUND', parameter: null },
  schedule: { word: 'schedule', missing: 'SCHEDULE_NOT_FOUND', parameter: 'schedule_id' },
  procedure: { word: 'procedure', missing: 'PROCEDURE_NOT_FOUND', parameter: 'procedure_id' },
  client: { word: 'client', missing: 'CLIENT_NOT_FOUND', parameter: 'client_id' },
} as const satisfies Readonly<Record<string, DocumentTerms>>;
export type VersionedKind = keyof typeof VERSIONED_DOCUMENTS;

/** All kinds of documents with versions, in the order of responses. */
export const VERSIONED_KINDS = Object.keys(VERSIONED_DOCUMENTS) as [VersionedKind, ...VersionedKind[]]; // the declarations have these names

/** Kinds of documents with versions whose access is limited to their owners, with their terms. */
export const OWNED_DOCUMENTS = VERSIONED_KINDS.flatMap((kind) => {
  const { missing, parameter } = VERSIONED_DOCUMENTS[kind];
  return parameter === null ? [] : [{ kind, missing, parameter }];
});

/** Document with versions, by kind and id. */
export interface Subject {
  readonly kind: VersionedKind;
  readonly id: string;
}

/** Effect of a write on a document. */
export const VERSION_ACTIONS = ['created', 'updated', 'restored', 'deleted'] as const;
export type VersionAction = (typeof VERSION_ACTIONS)[number];

/** Maximum length of a note in characters: one or two sentences, stored with every version. */
export const NOTE_LENGTH_MAX = 500;

/** Author without authentication, and author of writes by the engine. */
export const LOCAL_AUTHOR = 'local';

/** Author and note of a write. */
export interface Authorship {
  /** Name of the key; `local` if keys are not used. */
  readonly author: string;
  /** Id of the key; null or absent if keys are not used. */
  readonly keyId?: string | null;
  /** Note that the client sent with the write; null without a note. */
  readonly note: string | null;
  /** Id of the request; empty for a write without a request. */
  readonly requestId: string;
  readonly restores?: number;
  /** True if a deletion also removes all versions. */
  readonly purges?: boolean;
}

/** Authorship of writes by the engine. */
export const NO_REQUEST: Authorship = { author: LOCAL_AUTHOR, note: null, requestId: '' };

/**
 * Record that a document has a history. It is written with the first version and whenever versions are deleted
 * permanently.
 */
export const HistoryDocument = defineObject(() => ({
  /** Number of the last version at the time of writing; versions are numbered from 1 without a gap. */
  latest: z.int().min(1),
  /**
   * ETag of the content at the time of writing. Present only if the service that wrote it updated this record with each
   * version.
   */
  etag: z.string().nullable().optional(),
  /** Last purged version. The audit log refers to purged versions, so their numbers are not reused. */
  purged: z.int().min(1).optional(),
  /** Author of the first version, if that version was removed to make space for later versions. */
  owner: z.strictObject({ author: z.string(), key_id: z.string().optional() }).optional(),
}));
export type HistoryDocument = z.infer<typeof HistoryDocument>;

export const VersionDocument = defineObject(() => ({
  version: z.int().min(1),
  /** SHA-256 of the canonical JSON of the content; for a deletion, of the deleted content. */
  etag: z.string(),
  /** Time of the write, ISO-8601 UTC. */
  at: z.string(),
  author: z.string(),
  /** Id of the key of the author; absent if keys are not used. */
  key_id: z.string().optional(),
  note: z.string().nullable(),
  action: z.enum(VERSION_ACTIONS),
  /** Number of the restored version; absent otherwise, and in older documents. */
  restored_from: z.int().min(1).optional(),
  request_id: z.string(),
  /** Content as JSON or, if it is long, as deflated JSON in base64; null for a deletion. */
  content: z.string().nullable(),
}));
export type VersionDocument = z.infer<typeof VersionDocument>;

/** Kinds of documents whose writes are all audited: documents of users, results of runs, and publications. */
export const AUDITED_KINDS = [
  ...VERSIONED_KINDS,
  'judgement',
  'action-decision',
  'approval',
  'paused-kind',
  'run',
  'optimisation-run',
  'risk-model',
  'render',
  'publication',
  'publication-error',
  'data-version',
  'signing-key',
  'key',
] as const;
export type AuditedKind = (typeof AUDITED_KINDS)[number];

/** Subjects of audit entries: audited documents, cancelled jobs, refused keys, and logged reads. */
export const AUDIT_KINDS = [...AUDITED_KINDS, 'job', 'authentication', 'read'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/**
 * Audited actions. `purged`: the versions were deleted as well. For a declared data store, `loaded`: its content
 * changed; `activated`: it became the active store.
 */
const AUDIT_ACTIONS = [...VERSION_ACTIONS, 'purged', 'loaded', 'activated', 'cancelled', 'refused', 'read'] as const;

const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/** Audit entry of a write to one document; it never changes once it is stored. */
export const AuditEntry = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'Number, from 1 without gaps.' }),
  at: z.string().meta({ description: 'Time of the write, ISO-8601 UTC with offset.' }),
  author: z.string().meta({
    description:
      'Name of the key; for the result of a job, name of the key that started it; `local` without authentication.',
  }),
  key_id: z
    .string()
    .optional()
    .meta({ description: 'Id of the key, or `sub:` and the subject of the token; absent without authentication.' }),
  request_id: z.string().meta({ description: 'Id of the request; empty for a write of the service itself.' }),
  note: z.string().nullable().meta({ description: 'Note from the header X-Change-Note.' }),
  action: z.enum(AUDIT_ACTIONS).meta({ description: 'Action on the document.' }),
  kind: z.enum(AUDIT_KINDS).meta({ description: 'Kind of the document, or of the other subject.' }),
  id: z.string().meta({
    description:
      'Id of the subject. For a run, the id of the index; for a publication with a number and for a data version, the id of the index or store. For a refused key, its address; for a read, the path.',
  }),
  run_id: z.string().optional().meta({ description: 'Id of the run; absent for other kinds.' }),
  version: z.int().nullable().meta({ description: 'Version that the write created; null for kinds without versions.' }),
  etag: z.string().nullable().meta({ description: 'SHA-256 of the written content; null for a deletion.' }),
  previous: Hash.meta({ description: 'Hash of the previous entry; 64 zeros in the first.' }),
  hash: Hash.meta({ description: 'SHA-256 of the canonical JSON of the entry without hash.' }),
})).meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditHead = defineObject(() => ({
  seq: z.int().min(0).meta({ description: 'Number of the last entry; 0 for an empty log.' }),
  hash: Hash.meta({ description: 'Hash of the last entry.' }),
})).meta({ id: 'AuditHead' });
export type AuditHead = z.infer<typeof AuditHead>;

/** Stored head of the log, with information on its signatures. Absent in the folders of earlier versions. */
export const StoredAuditHead = defineObject(() => ({
  ...AuditHead.shape,
  /** Number of the last signed entry. */
  sealed: z.int().min(1).optional(),
  /** Number of signatures. */
  seals: z.int().min(1).optional(),
  /** Hash of the last signature. */
  seal_hash: Hash.optional(),
})).meta({ id: 'StoredAuditHead' });
export type StoredAuditHead = z.infer<typeof StoredAuditHead>;

/** Signature of the log up to one entry. Without its key, nobody can change earlier entries unnoticed. */
export const AuditSeal = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'Number of the last entry that the seal covers.' }),
  entry_hash: Hash.meta({ description: 'Hash of that entry, which depends on all earlier entries.' }),
  previous: Hash.optional().meta({
    description:
      'Hash of the previous seal; 64 zeros in the first seal; absent in seals of earlier versions, which were not chained.',
  }),
  at: z.string().meta({ description: 'Time of the signature, ISO-8601 UTC with offset.' }),
  hash: Hash.meta({ description: 'SHA-256 of the canonical JSON of the seal without hash and signature.' }),
  key_id: z.string().meta({ description: 'Key of the signature, as for published logs.' }),
  signature: z.string().meta({ description: 'Ed25519 signature of the 32 bytes of hash, in base64.' }),
})).meta({ id: 'AuditSeal' });
export type AuditSeal = z.infer<typeof AuditSeal>;

export const NO_AUDIT: AuditHead = { seq: 0, hash: NO_HASH };
