import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { LOCAL_AUTHOR } from './version-document.js';

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
