import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Hash before the first entry of a log. */
export const NO_HASH = '0'.repeat(64);

const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/** Published close, or a later statement about a close; it never changes once it is stored. */
export const PublicationEntry = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'Number, from 1 without gaps.' }),
  index_id: z.string(),
  date: z.string().meta({ description: 'Session of the close.' }),
  kind: z.enum(['close', 'restatement']).meta({ description: 'A restatement replaces earlier entries of its date.' }),
  price: z.number().nullable().meta({ description: 'Price return level; null if prices include dividends.' }),
  total: z.number().nullable().meta({ description: 'Total return level.' }),
  net: z.number().nullable().meta({ description: 'Net total return level.' }),
  divisor: z.number().nullable(),
  composition_hash: Hash.meta({
    description: 'SHA-256 of the canonical JSON (RFC 8785) of the index weights at the close, by identifier.',
  }),
  data_hash: z.string().nullable().meta({ description: 'Content hash of the data of the run.' }),
  index_version: z.int().min(1).nullable().meta({ description: 'Version of the definition; null if unknown.' }),
  calendar_version: z.int().min(1).optional().meta({
    description: 'Version of the recorded changes of the calendar that the run used; absent if there were none.',
  }),
  engine: z.string().nullable().meta({ description: 'Version of the engine of the run.' }),
  reason: z.string().nullable().meta({
    description:
      'Reason for a restatement, for a publication without price bars of some constituents, or for a difference from earlier closes that an error policy left unchanged. Null for any other close.',
  }),
  at: z.string().meta({ description: 'Time of the publication, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; local without authentication.' }),
  previous: Hash.meta({ description: 'Hash of the previous entry; 64 zeros in the first.' }),
  hash: Hash.meta({ description: 'SHA-256 of the canonical JSON of the entry without hash and signature.' }),
  key_id: z.string().meta({ description: 'Key of the signature.' }),
  signature: z.string().meta({ description: 'Ed25519 signature of the 32 bytes of hash, in base64.' }),
})).meta({ id: 'PublicationEntry' });
export type PublicationEntry = z.infer<typeof PublicationEntry>;

/** Maximum number of entries per document. A larger publication is stored in several documents. */
export const BATCH_ENTRIES_MAX = 256;

/** Consecutive entries of one publication, as stored. */
export const PublicationBatch = defineObject(() => ({ entries: z.array(PublicationEntry).min(1) }));
export type PublicationBatch = z.infer<typeof PublicationBatch>;

/** Head of the publication log of an index. */
export const PublicationHead = defineObject(() => ({
  seq: z.int().min(1),
  hash: Hash,
  /** Number of documents with entries, numbered from 1. */
  batches: z.int().min(1),
}));
export type PublicationHead = z.infer<typeof PublicationHead>;

/** Signing key of publications, as stored by the service. */
export const SigningKey = defineObject(() => ({
  key_id: z.string(),
  /** Public key, 32 bytes in base64. */
  public_key: z.string(),
  /** Private key, PKCS #8 in DER as base64; empty for a replaced key. */
  private_key: z.string(),
  valid_from: z.string(),
  /** Time at which the key was replaced; null for the current key. */
  valid_until: z.string().nullable(),
}));
export type SigningKey = z.infer<typeof SigningKey>;

/** Public part of a key, for verification. */
export const PublicKey = defineObject(() => ({
  key_id: z.string().meta({ description: 'The first 16 hexadecimal digits of the SHA-256 of the public key.' }),
  public_key: z.string().meta({ description: 'The 32 bytes of an Ed25519 public key, in base64.' }),
  valid_from: z.string().meta({ description: 'Time of its creation, ISO-8601 UTC with offset.' }),
  valid_until: z
    .string()
    .nullable()
    .meta({ description: 'Time from which the key is no longer used; null for the current key.' }),
})).meta({ id: 'PublicKey' });
export type PublicKey = z.infer<typeof PublicKey>;
