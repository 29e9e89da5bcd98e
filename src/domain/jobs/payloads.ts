import { z } from 'zod';
import type { RecordedClosures } from '../calendars/closures.js';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { TreatmentSpec } from '../documents/index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { OptimisationRequest } from '../documents/optimisation-request.js';
import { RiskModelRequest } from '../risk/risk-model-document.js';
import { RiskValidationRequest } from '../risk/validation/risk-validation-request.js';
import { addDefaultsToDocuments, addDefaultsToDocument, addDefaultsToPlan } from '../checks/plan-defaults.js';
import { restoreTreatment } from '../backtest/run-file/settings.js';
import type { PlannedModels } from '../documents/used-models.js';
import type { GenerateSyntheticRequest } from '../documents/synthetic-request.js';
import type { ReportTemplateDocument } from '../reports/template-document.js';
import type { CommonTerms } from '../personal/batch-common.js';
import { BatchAccounts } from '../personal/batch-parts.js';
import type { AccountBacktestRequest } from '../personal/backtest-request.js';
import type { SimulationRequest } from '../simulation/simulation.js';
import type { SweepFolds } from '../sweeps/fold-terms.js';
import type { RankingName } from '../sweeps/rankings.js';
import type { Patch, SweepBase } from '../sweeps/variants.js';

/**
 * Creates the schema of an object in a payload. Payloads are the inputs of an attempt of a job, except the market, as
 * JSON. They are stored with the job and read by the process that runs it. Documents and requests were validated on
 * submission and are trusted here. For payloads stored by earlier versions, the schemas add the defaults of those
 * versions.
 */
const defineObjectPayload = <T>() => z.custom<T>((value) => typeof value === 'object' && value !== null);

const plan = defineObjectPayload<BacktestPlan>().transform(addDefaultsToPlan);
const documents = defineObjectPayload<BacktestPlan['documents']>().transform(addDefaultsToDocuments);
const treatment = defineObjectPayload<TreatmentSpec>().transform((stored) =>
  'entry_stale_sessions' in stored ? stored : restoreTreatment(stored),
);

/** Data store of the job; absent for the active store. */
const storeFields = { on_store: z.string().optional() };
/** Data store, and version of its data; absent for the last version. */
const dataVersion = { ...storeFields, data_version: z.int().optional() };

export const BacktestPayload = z.object({
  plan,
  /** Request as sent; present if a strategy completed it. */
  asked: z.unknown().optional(),
  engine_version: z.string(),
  /** Version of the index or strategy; absent in jobs from before versions were introduced. */
  index_version: z.int().nullable().optional(),
  ...dataVersion,
});
export type BacktestPayload = Readonly<z.infer<typeof BacktestPayload>>;

/** Id of the requested run; absent for the latest run. */
const runReference = { which_run: z.string().optional() };

export const ReplayPayload = z.object({
  ...storeFields,
  run_id: z.string(),
  ...runReference,
  /** Hash of the run to replay. A later run with an equal id is a different input. */
  run_hash: z.string(),
  engine_version: z.string(),
});
export type ReplayPayload = Readonly<z.infer<typeof ReplayPayload>>;

export const RunDifferencePayload = z.object({
  ...storeFields,
  run_id: z.string(),
  /** Ids of the two runs. */
  from: z.string(),
  to: z.string(),
  engine_version: z.string(),
});
export type RunDifferencePayload = Readonly<z.infer<typeof RunDifferencePayload>>;

export const SweepPayload = z.object({
  sweep_id: z.string(),
  base: defineObjectPayload<SweepBase>().transform((base) => ({
    ...base,
    document: addDefaultsToDocument(base.document),
  })),
  /** Id of the stored base index; null for a document in the request. */
  stored_id: z.string().nullable().default(null),
  /** Variants as a list of patches, or as a grid. */
  patches: defineObjectPayload<readonly Patch[]>().nullable().default(null),
  grid: defineObjectPayload<Readonly<Record<string, readonly unknown[]>>>().nullable().default(null),
  /** True if some variants have not been checked. */
  is_unchecked: z.boolean().default(false),
  /** Further documents to which the variants refer. */
  documents,
  /** Stored risk models that the variants use; absent if there are none. */
  models: defineObjectPayload<PlannedModels>().optional(),
  rank_by: z.custom<RankingName>((value) => typeof value === 'string'),
  partitions: z.int(),
  folds: defineObjectPayload<SweepFolds>().nullable().default(null),
  ...dataVersion,
  engine_version: z.string(),
});
export type SweepPayload = Readonly<z.infer<typeof SweepPayload>>;

export const RerunPayload = z.object({
  ...storeFields,
  rerun_id: z.string(),
  /** Ids of indices and strategies, in order. */
  ids: z.array(z.string()).readonly(),
  /** Ids and shared documents that the client may use. Null if the client is not restricted. */
  reach: z.object({ prefixes: z.array(z.string()), shared: z.array(z.string()) }).nullable(),
  engine_version: z.string(),
});
export type RerunPayload = Readonly<z.infer<typeof RerunPayload>>;

export const SimulationPayload = z.object({
  ...storeFields,
  run_id: z.string(),
  ...runReference,
  request: defineObjectPayload<SimulationRequest>(),
  calendar: z.string(),
  /** Future sessions, YYYY-MM-DD, [horizon]. */
  dates: z.array(z.string()).readonly(),
});
export type SimulationPayload = Readonly<z.infer<typeof SimulationPayload>>;

export const OptimisationPayload = z.object({
  ...storeFields,
  run_id: z.string(),
  /** Index, and every document to which it refers. */
  documents,
  /** Stored risk models that the documents and the request use; absent if there are none. */
  models: defineObjectPayload<PlannedModels>().optional(),
  constraints: defineObjectPayload<readonly ConstraintRow[]>(),
  request: OptimisationRequest,
});
export type OptimisationPayload = Readonly<z.infer<typeof OptimisationPayload>>;

export const StudyPayload = z.object({
  ...storeFields,
  study_id: z.string(),
  /** Indices of the runs, and every document to which they refer. */
  documents,
  /** Stored risk models that the documents and the requests use. */
  models: defineObjectPayload<PlannedModels>(),
  /** Rows of the constraint sets. */
  sets: defineObjectPayload<Readonly<Record<string, readonly ConstraintRow[]>>>(),
  requests: z.array(OptimisationRequest).readonly(),
  /** Content of the data on which all runs are computed. */
  content_hash: z.string(),
  engine_version: z.string(),
});
export type StudyPayload = Readonly<z.infer<typeof StudyPayload>>;

export const BatchPayload = z.object({
  batch_id: z.string(),
  terms: defineObjectPayload<CommonTerms>(),
  /** Parent index, and every document to which it refers. */
  documents,
  models: defineObjectPayload<PlannedModels>(),
  /**
   * Accounts as sent, one JSON line each. They are checked when they are solved. The file is removed with the input of
   * the job.
   */
  accounts: BatchAccounts,
  ...dataVersion,
  engine_version: z.string(),
});
export type BatchPayload = Readonly<z.infer<typeof BatchPayload>>;

export const AccountBacktestPayload = z.object({
  backtest_id: z.string(),
  index_id: z.string(),
  request: defineObjectPayload<Omit<AccountBacktestRequest, 'backtest_id'>>(),
  /** Parent index, and every document to which it refers. */
  documents,
  models: defineObjectPayload<PlannedModels>(),
  ...dataVersion,
  engine_version: z.string(),
});
export type AccountBacktestPayload = Readonly<z.infer<typeof AccountBacktestPayload>>;

export const RiskModelPayload = z.object({
  ...dataVersion,
  model_id: z.string(),
  request: RiskModelRequest,
  /** Requested securities, ascending and without duplicates. Null means the securities of the run. */
  identifiers: z.array(z.string()).readonly().nullable(),
  run: z
    .object({
      run_id: z.string(),
      calendar: z.string(),
      closures: defineObjectPayload<RecordedClosures>().optional(),
      currency: z.string(),
      treatment,
    })
    .readonly()
    .nullable(),
});
export type RiskModelPayload = Readonly<z.infer<typeof RiskModelPayload>>;

export const RiskValidationPayload = z.object({
  ...dataVersion,
  model_id: z.string(),
  request: RiskValidationRequest,
  /** Model at the time of submission: its securities and the settings of its estimate. */
  model: z.object({ asset_ids: z.array(z.string()).readonly(), request: RiskModelRequest }).readonly(),
  /** Sessions and currency of the model. Null means all days of its securities. */
  terms: z
    .object({
      calendar: z.string(),
      closures: defineObjectPayload<RecordedClosures>().optional(),
      currency: z.string(),
      treatment,
    })
    .readonly()
    .nullable(),
  /** Index whose held weights form the portfolio. */
  index_id: z.string().nullable(),
});
export type RiskValidationPayload = Readonly<z.infer<typeof RiskValidationPayload>>;

/** Report to render: its template at the time of submission, with every block bound. */
export const RenderPayload = z.object({
  ...storeFields,
  render_id: z.string(),
  template: defineObjectPayload<ReportTemplateDocument>(),
  /** Index of a built-in report; null for a stored template. */
  index_id: z.string().nullable(),
  /** Runs to show instead of the latest ones, by index; absent if there are none. */
  run_ids: z.record(z.string(), z.string()).optional(),
});
export type RenderPayload = Readonly<z.infer<typeof RenderPayload>>;

export const LoadPayload = z.object({ store_id: z.string() });
export type LoadPayload = Readonly<z.infer<typeof LoadPayload>>;

export const RefreshPayload = z.object({
  store_id: z.string(),
  /** Last day to import; null: the latest available day. */
  until: z.string().nullable(),
  full: z.boolean(),
  /** Absent in payloads of earlier versions, like `fail_on`. */
  dry_run: z.boolean().default(false),
  /** Codes of findings for which the refresh is rejected. */
  fail_on: z.array(z.string()).default([]),
  /**
   * Refresh of a day of a schedule: its date, and the securities that only a check of the day holds back; absent for
   * other refreshes.
   */
  day: z.object({ date: z.string(), held: z.array(z.string()).readonly() }).optional(),
});
export type RefreshPayload = Readonly<z.infer<typeof RefreshPayload>>;

/**
 * Request in which all defaults that depend on the date are filled in. A later attempt therefore generates an identical
 * market.
 */
export type GenerateRequest = Omit<GenerateSyntheticRequest, 'store_id' | 'name' | 'end'> & { readonly end: string };

export const GeneratePayload = z.object({
  store_id: z.string(),
  name: z.string(),
  created_at: z.string(),
  request: defineObjectPayload<GenerateRequest>(),
});
export type GeneratePayload = Readonly<z.infer<typeof GeneratePayload>>;
