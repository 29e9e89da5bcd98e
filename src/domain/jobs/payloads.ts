import { z } from 'zod';
import type { BacktestPlan } from '../documents/backtest-plan.js';
import type { TreatmentSpec } from '../documents/index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { OptimisationRequest } from '../documents/optimisation-request.js';
import { RiskModelRequest } from '../risk/risk-model-document.js';
import { RiskValidationRequest } from '../risk/validation/risk-validation-request.js';
import { documentsWithDefaults, documentWithDefaults, planWithDefaults } from '../checks/plan-defaults.js';
import { runTreatment } from '../backtest/run-file/settings.js';
import type { PlannedModels } from '../documents/used-models.js';
import type { GenerateSyntheticRequest } from '../documents/synthetic-request.js';
import type { ReportTemplateDocument } from '../reports/template-document.js';
import type { SimulationRequest } from '../simulation/simulation.js';
import type { SweepFolds } from '../sweeps/fold-terms.js';
import type { RankingName } from '../sweeps/rankings.js';
import type { Patch, SweepBase } from '../sweeps/variants.js';

/**
 * What an attempt of each kind of job needs besides the market, as JSON: it is stored with the job and read by whichever
 * process runs it. Documents and requests were validated on submission and are trusted here. Where an
 * earlier version stored less, the schema adds what that version meant.
 */
const accepted = <T>() => z.custom<T>((value) => typeof value === 'object' && value !== null);

const plan = accepted<BacktestPlan>().transform(planWithDefaults);
const documents = accepted<BacktestPlan['documents']>().transform(documentsWithDefaults);
const treatment = accepted<TreatmentSpec>().transform((stored) =>
  'entry_stale_sessions' in stored ? stored : runTreatment(stored),
);

/** Version of the data, where another than the last was asked for. */
const dataVersion = { data_version: z.int().optional() };

export const BacktestPayload = z.object({
  plan,
  /** The request as it was sent, where a strategy filled it in. */
  asked: z.unknown().optional(),
  engine_version: z.string(),
  /** Version of the index or strategy; absent in jobs of before there were versions. */
  index_version: z.int().nullable().optional(),
  ...dataVersion,
});
export type BacktestPayload = Readonly<z.infer<typeof BacktestPayload>>;

/** Id of the one run that is asked for; absent for the newest. */
const whichRun = { which_run: z.string().optional() };

export const ReplayPayload = z.object({
  run_id: z.string(),
  ...whichRun,
  /** The run that is replayed, so that a later one under the same id is another input. */
  run_hash: z.string(),
  engine_version: z.string(),
});
export type ReplayPayload = Readonly<z.infer<typeof ReplayPayload>>;

export const RunDifferencePayload = z.object({
  run_id: z.string(),
  /** Ids of the two runs. */
  from: z.string(),
  to: z.string(),
  engine_version: z.string(),
});
export type RunDifferencePayload = Readonly<z.infer<typeof RunDifferencePayload>>;

export const SweepPayload = z.object({
  sweep_id: z.string(),
  base: accepted<SweepBase>().transform((base) => ({ ...base, document: documentWithDefaults(base.document) })),
  /** The stored index that the base is; null for a document of the request. */
  stored_id: z.string().nullable().default(null),
  /** The variants: patches one by one, or a grid. */
  patches: accepted<readonly Patch[]>().nullable().default(null),
  grid: accepted<Readonly<Record<string, readonly unknown[]>>>().nullable().default(null),
  /** Set where some variants have not been checked. */
  is_unchecked: z.boolean().default(false),
  /** Documents that variants reach, besides themselves. */
  documents,
  /** Stored risk models that the variants use; absent where none does. */
  models: accepted<PlannedModels>().optional(),
  rank_by: z.custom<RankingName>((value) => typeof value === 'string'),
  partitions: z.int(),
  folds: accepted<SweepFolds>().nullable().default(null),
  ...dataVersion,
  engine_version: z.string(),
});
export type SweepPayload = Readonly<z.infer<typeof SweepPayload>>;

export const SimulationPayload = z.object({
  run_id: z.string(),
  ...whichRun,
  request: accepted<SimulationRequest>(),
  calendar: z.string(),
  /** Sessions ahead, YYYY-MM-DD, [horizon]. */
  dates: z.array(z.string()).readonly(),
});
export type SimulationPayload = Readonly<z.infer<typeof SimulationPayload>>;

export const OptimisationPayload = z.object({
  run_id: z.string(),
  /** The index and every document it reaches. */
  documents,
  /** Stored risk models that the documents and the request use; absent where none does. */
  models: accepted<PlannedModels>().optional(),
  constraints: accepted<readonly ConstraintRow[]>(),
  request: OptimisationRequest,
});
export type OptimisationPayload = Readonly<z.infer<typeof OptimisationPayload>>;

export const RiskModelPayload = z.object({
  ...dataVersion,
  model_id: z.string(),
  request: RiskModelRequest,
  /** Names asked for, ascending and each once; null takes those of the run. */
  identifiers: z.array(z.string()).readonly().nullable(),
  run: z
    .object({
      run_id: z.string(),
      calendar: z.string(),
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
  /** The model as it was when the job was accepted: its names, and how it was estimated. */
  model: z.object({ asset_ids: z.array(z.string()).readonly(), request: RiskModelRequest }).readonly(),
  /** Whose sessions and currency the model has; null on the days of its names. */
  terms: z.object({ calendar: z.string(), currency: z.string(), treatment }).readonly().nullable(),
  /** Index whose held weights are a portfolio. */
  index_id: z.string().nullable(),
});
export type RiskValidationPayload = Readonly<z.infer<typeof RiskValidationPayload>>;

/** A report to render: its template as it was when the job was accepted, every block bound. */
export const RenderPayload = z.object({
  render_id: z.string(),
  template: accepted<ReportTemplateDocument>(),
  /** Index of a built-in, null for a stored template. */
  index_id: z.string().nullable(),
  /** Runs that are shown instead of the newest, by index; absent without any. */
  run_ids: z.record(z.string(), z.string()).optional(),
});
export type RenderPayload = Readonly<z.infer<typeof RenderPayload>>;

export const LoadPayload = z.object({ store_id: z.string() });
export type LoadPayload = Readonly<z.infer<typeof LoadPayload>>;

export const RefreshPayload = z.object({
  store_id: z.string(),
  /** Last day to bring in, null for the latest there is. */
  until: z.string().nullable(),
  full: z.boolean(),
  /** Absent from payloads of earlier versions, as the next. */
  dry_run: z.boolean().default(false),
  /** Codes of findings that reject it. */
  fail_on: z.array(z.string()).default([]),
});
export type RefreshPayload = Readonly<z.infer<typeof RefreshPayload>>;

/** The request with every default that depends on the day it was made filled in: a later attempt makes the same market. */
export type GenerateRequest = Omit<GenerateSyntheticRequest, 'store_id' | 'name' | 'end'> & { readonly end: string };

export const GeneratePayload = z.object({
  store_id: z.string(),
  name: z.string(),
  created_at: z.string(),
  request: accepted<GenerateRequest>(),
});
export type GeneratePayload = Readonly<z.infer<typeof GeneratePayload>>;
