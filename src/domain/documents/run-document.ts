import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { FULL_RUN_REASON_NAMES } from './full-run-reasons.js';
import { CurrencyCode } from '../schema/shape.js';
import { MatrixFiles } from '../risk/matrix-files.js';
import { Adjustment } from './dataset-document.js';

const fileFields = { name: z.string(), bytes: z.int().min(0), sha256: z.string() };
const Artifact = z.strictObject(fileFields);

/**
 * Document of a run of an index or a strategy, stored under the id of that document. Its results are stored separately
 * as bytes.
 */
export const RunDocument = defineObject(() => ({
  run_id: z.string(),
  /** Id of the tracked index. */
  index_id: z.string(),
  name: z.string(),
  /** Capture time, ISO-8601 UTC with offset. Null in runs that were stored before capture times were introduced. */
  run_at: z.string().nullable(),
  /** First and last date of the run. */
  start: z.string(),
  end: z.string(),
  /** Rebalances that breaches triggered, including a pending one; absent if breaches trigger none. */
  called: z.array(z.strictObject({ decision: z.string(), effective: z.string() })).optional(),
  run_hash: z.string(),
  /** Data store of the run and its declared price basis; absent in runs of earlier versions. */
  store_id: z.string().optional(),
  adjustment: Adjustment.optional(),
  store_content_hash: z.string(),
  /** Version of the data; absent in runs from before versions were introduced, null if unknown. */
  store_version: z.int().nullable().optional(),
  /** Requested version of the data; absent if the last version was used. */
  as_known_on: z.int().optional(),
  /** Currency declared by the store; null if it declared none, absent in runs of earlier versions. */
  declared_currency: CurrencyCode.nullable().optional(),
  engine_version: z.string(),
  /** Version of the index or strategy; absent in runs from before versions were introduced. */
  index_version: z.int().nullable().optional(),
  /** Version of the recorded changes of the calendar; absent without changes. */
  calendar_version: z.int().min(1).optional(),
  /** Last date of the stored run that this run extends; null or absent for a full run. */
  extended_from: z.string().nullable().optional(),
  /** Reason for a full run although a stored run exists; null or absent otherwise. */
  full_run_reason: z.enum(FULL_RUN_REASON_NAMES).nullable().optional(),
  request: z.unknown(),
  /**
   * Request as sent, before the terms of the strategy were added. Absent in runs of an index and in older runs of
   * strategies.
   */
  asked: z.unknown().optional(),
  artifacts: z.strictObject({
    /** Result as JSON with its snapshots, for runs up to version 0.3.0. */
    result: z
      .strictObject({ ...fileFields, inset: z.strictObject({ ...fileFields, at: z.int().min(0) }).optional() })
      .optional(),
    /** Record of the run as JSON, for runs whose columns do not contain it. */
    record: Artifact.optional(),
    /** Overview of the run as JSON, for runs whose columns do not contain it. */
    overview: Artifact.optional(),
    columns: Artifact,
    /** Earlier files with segments of the columns, for an extended run. */
    begun: z.array(Artifact).optional(),
    /** The only earlier file, in runs of versions that permitted a single one. */
    base: Artifact.optional(),
    /** Checkpoint from which the run can be extended. */
    checkpoint: Artifact.optional(),
    /** Plan from which the run can be repeated. */
    plan: Artifact.optional(),
    /** Matrices of the stored risk models in the plan, by id; absent without risk models. */
    models: z.record(z.string(), MatrixFiles).optional(),
  }),
}));
export type RunDocument = z.infer<typeof RunDocument>;
