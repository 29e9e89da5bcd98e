import { z } from 'zod';

/** Kinds of document whose every state is kept as a version. */
export const VERSIONED_KINDS = [
  'index',
  'strategy',
  'constraint-set',
  'template',
  'watchlist',
  'plugin',
  'store',
  'schedule',
] as const;
export type VersionedKind = (typeof VERSIONED_KINDS)[number];

/** A document that has versions, by kind and id. */
export interface Subject {
  readonly kind: VersionedKind;
  readonly id: string;
}

/** What a write made of a document. */
export const VERSION_ACTIONS = ['created', 'updated', 'restored', 'deleted'] as const;
export type VersionAction = (typeof VERSION_ACTIONS)[number];

/** Longest note of a write, in characters: a sentence or two, stored with every version. */
export const NOTE_LENGTH_MAX = 500;

/** Author where no key is asked for, and of what the engine does of itself. */
export const LOCAL_AUTHOR = 'local';

/** Who writes, and why. */
export interface Authorship {
  /** Name of the key; `local` without one. */
  readonly author: string;
  /** Id of the key; null or absent without one. */
  readonly keyId?: string | null;
  /** What the client says about its write; null without a note. */
  readonly note: string | null;
  /** Id of the request; empty for a write that no request asked for. */
  readonly requestId: string;
  /** The earlier version that is brought back. */
  readonly restores?: number;
  /** Whether a deletion removes every version, too. */
  readonly purges?: boolean;
}

/** The engine itself. */
export const NO_REQUEST: Authorship = { author: LOCAL_AUTHOR, note: null, requestId: '' };

/** That a document has a history: written with its first version, and when versions are purged. */
export const HistoryDocument = z.strictObject({
  /** Number of the last version then; versions are numbered from 1 without a gap. */
  latest: z.int().min(1),
  /** Of homes in which each version wrote this record again: ETag of the content that stood then. */
  etag: z.string().nullable().optional(),
  /** The versions up to this number were purged; the log of writes names them, so none is given again. */
  purged: z.int().min(1).optional(),
  /** Author of the first version that there was, where that one made room for later ones. */
  owner: z.strictObject({ author: z.string(), key_id: z.string().optional() }).optional(),
});
export type HistoryDocument = z.infer<typeof HistoryDocument>;

/** One version of a document as it is stored. */
export const VersionDocument = z.strictObject({
  version: z.int().min(1),
  /** SHA-256 of the canonical JSON of the content; for a deletion of what was deleted. */
  etag: z.string(),
  /** Time of the write, ISO-8601 UTC. */
  at: z.string(),
  author: z.string(),
  /** Id of the key that wrote; absent without one. */
  key_id: z.string().optional(),
  note: z.string().nullable(),
  action: z.enum(VERSION_ACTIONS),
  /** Number of the version that was brought back; absent otherwise, and before it was remembered. */
  restored_from: z.int().min(1).optional(),
  request_id: z.string(),
  /** JSON, or where that is long, JSON deflated, in base64; null for a deletion. */
  content: z.string().nullable(),
});
export type VersionDocument = z.infer<typeof VersionDocument>;
