import { z } from 'zod';
import { LOCAL_AUTHOR } from './version-document.js';

/** What made a content; `reload`: the source had another one when a start or an activation read it. */
export const DATA_SOURCES = ['import', 'append', 'replace', 'refresh', 'reload', 'repair', 'synthetic'] as const;
export type DataSource = (typeof DATA_SOURCES)[number];

const Artifact = z.strictObject({ name: z.string(), bytes: z.int().min(0), sha256: z.string() });

/** A content of a data store that was served; kept under the id of the store and its number. */
export const DataVersionDocument = z.strictObject({
  version: z.int().min(1),
  content_hash: z.string(),
  /** Time from which it was known, ISO-8601 UTC. */
  known_at: z.string(),
  source: z.enum(DATA_SOURCES),
  rows_added: z.int().min(0),
  rows_changed: z.int().min(0),
  rows_removed: z.int().min(0),
  author: z.string().default(LOCAL_AUTHOR),
  note: z.string().nullable().default(null),
  request_id: z.string().default(''),
  /** How the content before is made from this one; null where nobody had both. */
  change: Artifact.nullable(),
});
export type DataVersionDocument = z.infer<typeof DataVersionDocument>;

/** From which the last content of a data store is made where its source has another one by now. */
export const DataCopy = z.strictObject({
  /** A whole content. */
  content: Artifact,
  /** Changes from it to the last content, the earliest first. */
  changes: z.array(Artifact),
});
export type DataCopy = z.infer<typeof DataCopy>;

/** The last version of a data store; kept under its id. */
export const DataHistoryDocument = z.strictObject({
  latest: z.int().min(1),
  content_hash: z.string(),
  known_at: z.string(),
  /** First version that can be had again: from it to the last, each knows the one before. */
  readable_from: z.int().min(1),
  /** Null where the files of the service have the last content, and where there was no room for a copy. */
  copy: DataCopy.nullable().default(null),
  /** Versions up to this number were of stores that were deleted; absent where there were none. */
  forgotten: z.int().min(1).optional(),
});
export type DataHistoryDocument = z.infer<typeof DataHistoryDocument>;

/** What stays under the id of a store that is deleted: none of its numbers is given again. */
export const ForgottenHistory = DataHistoryDocument.pick({ forgotten: true }).required();
export type ForgottenHistory = z.infer<typeof ForgottenHistory>;
