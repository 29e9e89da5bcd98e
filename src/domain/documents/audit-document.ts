import { z } from 'zod';
import { NO_HASH } from './publication-document.js';
import { VERSION_ACTIONS } from './version-document.js';

/** Documents whose every write is audited: what people write, and what runs and publications leave behind. */
export const AUDITED_KINDS = [
  'index',
  'strategy',
  'constraint-set',
  'template',
  'watchlist',
  'plugin',
  'store',
  'schedule',
  'judgement',
  'run',
  'optimisation-run',
  'risk-model',
  'render',
  'publication',
  'data-version',
  'signing-key',
  'key',
] as const;
export type AuditedKind = (typeof AUDITED_KINDS)[number];

/** What entries are about: those documents; jobs that are cancelled, keys that are refused, and reads that are logged. */
export const AUDIT_KINDS = [...AUDITED_KINDS, 'job', 'authentication', 'read'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/**
 * `purged`: the versions went, too. Of a data store as it is declared, `loaded`: its content is another one; `activated`:
 * it is the one that is served.
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
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/** One write of one document; never changed once it is stored. */
export const AuditEntry = z
  .strictObject({
    seq: z.int().min(1).meta({ description: 'From 1, without a gap.' }),
    at: z.string().meta({ description: 'Time of the write, ISO-8601 UTC with offset.' }),
    author: z.string().meta({
      description:
        'Name of the key, of the result of a job of that which asked for it; `local` where none is asked for.',
    }),
    key_id: z
      .string()
      .optional()
      .meta({ description: 'Id of that key, or subject of the token; absent where none is asked for.' }),
    request_id: z.string().meta({ description: 'The request; empty for a write of the service itself.' }),
    note: z.string().nullable().meta({ description: 'What the client said of its write.' }),
    action: z.enum(AUDIT_ACTIONS).meta({ description: 'What became of the document.' }),
    kind: z.enum(AUDIT_KINDS).meta({ description: 'Kind of the document, or what else was done.' }),
    id: z.string().meta({
      description:
        'Its id; of a run that of the index, of a publication with a number, of a data version that of the store; an address whose key was refused, a path that was read.',
    }),
    run_id: z.string().optional().meta({ description: 'Of a run; absent of other kinds.' }),
    version: z.int().nullable().meta({ description: 'The version that was made; null of kinds without versions.' }),
    etag: z.string().nullable().meta({ description: 'SHA-256 of what was written; null of what is gone.' }),
    previous: Hash.meta({ description: 'Hash of the entry before; 64 zeros in the first.' }),
    hash: Hash.meta({ description: 'SHA-256 of the canonical JSON of the entry without hash.' }),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Where the log of writes ends. */
export const AuditHead = z
  .strictObject({
    seq: z.int().min(0).meta({ description: 'Number of the last entry; 0 of an empty log.' }),
    hash: Hash.meta({ description: 'Hash of the last entry.' }),
  })
  .meta({ id: 'AuditHead' });
export type AuditHead = z.infer<typeof AuditHead>;

/** The end of the log as it is stored, with what is known of its signatures; absent in homes of before. */
export const StoredAuditHead = AuditHead.extend({
  /** Number of the last entry that is signed. */
  sealed: z.int().min(1).optional(),
  /** How many signatures there are. */
  seals: z.int().min(1).optional(),
  /** Hash of the last of them; absent in homes that were sealed before signatures were chained. */
  seal_hash: Hash.optional(),
}).meta({ id: 'StoredAuditHead' });
export type StoredAuditHead = z.infer<typeof StoredAuditHead>;

/** A signature of the log up to one of its entries: what is before cannot be written again without the key. */
export const AuditSeal = z
  .strictObject({
    seq: z.int().min(1).meta({ description: 'Number of the last entry that it covers.' }),
    entry_hash: Hash.meta({ description: 'Hash of that entry, which depends on all before it.' }),
    previous: Hash.optional().meta({
      description: 'Hash of the seal before; 64 zeros in the first; absent in those made before seals were chained.',
    }),
    at: z.string().meta({ description: 'Time of the signature, ISO-8601 UTC with offset.' }),
    hash: Hash.meta({ description: 'SHA-256 of the canonical JSON of the seal without hash and signature.' }),
    key_id: z.string().meta({ description: 'Key that signed it: those of published logs.' }),
    signature: z.string().meta({ description: 'Ed25519 over the 32 bytes of hash, in base64.' }),
  })
  .meta({ id: 'AuditSeal' });
export type AuditSeal = z.infer<typeof AuditSeal>;

export const NO_AUDIT: AuditHead = { seq: 0, hash: NO_HASH };
