import { z } from 'zod';
import { defineObject } from '../base/schema.js';
import { NO_HASH } from './publication.js';
import { VERSION_ACTIONS, VERSIONED_KINDS } from './versions.js';

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
export const AUDIT_ACTIONS = [
  ...VERSION_ACTIONS,
  'purged',
  'loaded',
  'activated',
  'cancelled',
  'refused',
  'read',
] as const;

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
