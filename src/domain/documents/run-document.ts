import { z } from 'zod';
import { FULL_RUN_REASON_NAMES } from './full-run-reasons.js';
import { CurrencyCode } from '../schema/shape.js';
import { Adjustment } from './dataset-document.js';

const file = { name: z.string(), bytes: z.int().min(0), sha256: z.string() };
const Artifact = z.strictObject(file);

/**
 * What is remembered of the latest run of an index or a strategy; kept under its id. Its results lie beside it as
 * bytes.
 */
export const RunDocument = z.strictObject({
  run_id: z.string(),
  /** The tracked index. */
  index_id: z.string(),
  name: z.string(),
  /** Capture time, ISO-8601 UTC with offset; null on records written before stamping. */
  run_at: z.string().nullable(),
  /** First and last date of the run. */
  start: z.string(),
  end: z.string(),
  /** Rebalances that breaches called for, with one that is still to come; absent where no breach calls for any. */
  called: z.array(z.strictObject({ decision: z.string(), effective: z.string() })).optional(),
  run_hash: z.string(),
  /**
   * The store it was made on, and the price basis that it declared; absent in runs stored before they were remembered.
   */
  store_id: z.string().optional(),
  adjustment: Adjustment.optional(),
  store_content_hash: z.string(),
  /** Version of the data; absent in runs stored before there were versions, null where it was not known. */
  store_version: z.int().nullable().optional(),
  /** The version, where it was asked for; absent where the last one was. */
  as_known_on: z.int().optional(),
  /** Currency that the store declared; null where it declared none, absent in runs stored before it could. */
  declared_currency: CurrencyCode.nullable().optional(),
  engine_version: z.string(),
  /** Version of the index or strategy; absent in runs stored before there were versions. */
  index_version: z.int().nullable().optional(),
  /** Last date of the stored run that it extends; null or absent for a run made whole. */
  extended_from: z.string().nullable().optional(),
  /** Reason for a full run despite a stored one; null or absent otherwise. */
  full_run_reason: z.enum(FULL_RUN_REASON_NAMES).nullable().optional(),
  request: z.unknown(),
  /**
   * The request as it was sent, before a strategy filled it in; absent in runs of an index, and of strategies before it
   * was remembered.
   */
  asked: z.unknown().optional(),
  artifacts: z.strictObject({
    /** The result as JSON with snapshots that belong into it, of runs up to version 0.3.0. */
    result: z.strictObject({ ...file, inset: z.strictObject({ ...file, at: z.int().min(0) }).optional() }).optional(),
    /** The record as JSON, of runs whose columns do not have it. */
    record: Artifact.optional(),
    /** The overview as JSON, of the same runs. */
    overview: Artifact.optional(),
    columns: Artifact,
    /** Earlier files with segments of the columns, of an extended run. */
    begun: z.array(Artifact).optional(),
    /** The only one of them, in runs from before there could be several. */
    base: Artifact.optional(),
    /** Checkpoint to extend the run from. */
    checkpoint: Artifact.optional(),
    /** The plan it was made from, so that it can be made again. */
    plan: Artifact.optional(),
    /** The matrices of the stored risk models of the plan, by id; absent where it has none. */
    models: z.record(z.string(), Artifact).optional(),
  }),
});
export type RunDocument = z.infer<typeof RunDocument>;
