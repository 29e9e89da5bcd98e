import { z } from 'zod';
import type { SimulationRequest } from '../analytics/simulation.js';
import { restoreTreatment } from '../backtest/run-file/header.js';
import { LIMITS } from '../base/limits.js';
import type { RecordedClosures } from '../calendars/calendar.js';
import type { BacktestPlan, PlannedModels } from '../definition/backtest-plan.js';
import type { ConstraintRow } from '../definition/constraint-class.js';
import type { GenerateSyntheticRequest } from '../definition/datasets.js';
import type { TreatmentSpec } from '../definition/index-document.js';
import { addDefaultsToDocument, addDefaultsToDocuments, addDefaultsToPlan } from '../definition/index-validation.js';
import { OptimisationRequest } from '../definition/optimisation-requests.js';
import type { AccountBacktestRequest } from '../personal/account.js';
import { BatchAccounts, type CommonTerms } from '../personal/batch.js';
import { RiskModelRequest, RiskValidationRequest, StoredArtifact } from '../risk/risk-models.js';
import type { DifferenceQuestion } from '../studies/differences.js';
import type { Patch, RankingName, SweepBase, SweepFolds } from '../studies/sweep.js';
import type { ReportTemplateDocument } from './report-templates.js';

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

export const DifferencesPayload = z.object({
  ...storeFields,
  run_id: z.string(),
  ...runReference,
  request: defineObjectPayload<DifferenceQuestion>(),
  engine_version: z.string(),
});
export type DifferencesPayload = Readonly<z.infer<typeof DifferencesPayload>>;

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

/** Artifact with the requests of a long study, one JSON line each. */
const RequestsFile = z.object({ file: StoredArtifact });
export type RequestsFile = Readonly<z.infer<typeof RequestsFile>>;

export const StudyPayload = z.object({
  ...storeFields,
  study_id: z.string(),
  /** Indices of the runs, and every document to which they refer. */
  documents,
  /** Stored risk models that the documents and the requests use. */
  models: defineObjectPayload<PlannedModels>(),
  sets: defineObjectPayload<Readonly<Record<string, readonly ConstraintRow[]>>>(),
  /** A short study has its requests as a list, a long study has a file. The file is removed with the input of the job. */
  requests: z.union([z.array(OptimisationRequest).readonly(), RequestsFile]),
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

/**
 * Subject of a job, and the member of the job that names it. `ident` is the second half of the id of the job, `request`
 * is `index_id` in its request. Strategies count as indices.
 */
export type JobSubject =
  | { readonly of: 'index'; readonly named: 'ident' | 'request'; readonly onDeletion: DeletionPolicy }
  | { readonly of: 'dataset'; readonly named: 'ident'; readonly onDeletion: DeletionPolicy };

/**
 * Effect on jobs when their subject is deleted. `forget`: the jobs are cancelled and deleted in the same transaction.
 * `keep`: the jobs remain.
 */
type DeletionPolicy = 'forget' | 'keep';

/** Function that returns ids of results. Its inputs are the second half of the id of a job, and its request. */
export type ResultIds = (ident: string, request: unknown) => readonly string[];

/**
 * Properties of a kind of job that all parts of the service use. `createJobKind` creates the handler of a kind by its name.
 */
interface JobKindEntry<P, M extends 'tasks' | 'served-market' | null> {
  /** Queue and threads of the job: `light` jobs run while `heavy` jobs do. */
  readonly lane: 'heavy' | 'light';
  /** Subject of the job. Null for a job without a document; such a job survives any deletion. */
  readonly subject: JobSubject | null;
  /** Schema of the stored JSON payload of the job. */
  readonly payload: z.ZodType<P>;
  /** Returns the second half of the id of a job. A job replaces an earlier job with an equal id. */
  key(payload: P): string;
  /**
   * Memory of a process to which an attempt is bound: its tasks share memory there, or it replaces the market of the
   * process. Null if tasks may run in any process that has the artifacts and the market.
   */
  readonly sharedMemory: M;
  /**
   * Returns the ids of the documents `optimisation-run` that contain the results of a succeeded job. They are deleted
   * with the job. Absent if the job itself refers to its results.
   */
  readonly resultIds?: ResultIds;
  /** True if the job runs in parts. Its input refers to the outputs of the parts until it ends. */
  readonly inParts?: true;
}

const defineKind = <P, const M extends 'tasks' | 'served-market' | null>(entry: JobKindEntry<P, M>) => entry;
const runSubject = { of: 'index', named: 'ident', onDeletion: 'forget' } as const;
/** Properties of the kinds that change a dataset. */
const datasetSubject = {
  lane: 'light',
  subject: { of: 'dataset', named: 'ident', onDeletion: 'forget' },
  sharedMemory: 'served-market',
} as const;

/** All kinds of jobs, in the order of the API. The build fails if a kind has no handler (`src/cli/compose/compose.ts`). */
export const JOB_KIND_CATALOGUE = {
  backtest: defineKind({
    lane: 'heavy',
    subject: runSubject,
    payload: BacktestPayload,
    key: ({ plan }) => plan.runId,
    sharedMemory: null,
  }),
  optimise: defineKind({
    lane: 'heavy',
    subject: null,
    payload: OptimisationPayload,
    key: ({ run_id }) => run_id,
    sharedMemory: null,
    resultIds: (runId) => [runId],
  }),
  render: defineKind({
    lane: 'light',
    subject: null,
    payload: RenderPayload,
    key: ({ render_id }) => render_id,
    sharedMemory: null,
  }),
  risk: defineKind({
    lane: 'heavy',
    subject: null,
    payload: RiskModelPayload,
    key: ({ model_id }) => model_id,
    sharedMemory: null,
    inParts: true,
  }),
  validate: defineKind({
    lane: 'heavy',
    subject: null,
    payload: RiskValidationPayload,
    key: ({ model_id }) => model_id,
    sharedMemory: null,
  }),
  sync: defineKind({ ...datasetSubject, payload: RefreshPayload, key: ({ store_id }) => store_id }),
  load: defineKind({ ...datasetSubject, payload: LoadPayload, key: ({ store_id }) => store_id }),
  refresh: defineKind({ ...datasetSubject, payload: RefreshPayload, key: ({ store_id }) => store_id }),
  generate: defineKind({ ...datasetSubject, payload: GeneratePayload, key: ({ store_id }) => store_id }),
  sweep: defineKind({
    lane: 'heavy',
    subject: { of: 'index', named: 'request', onDeletion: 'forget' },
    payload: SweepPayload,
    key: ({ sweep_id }) => sweep_id,
    sharedMemory: null,
    inParts: true,
  }),
  batch: defineKind({
    lane: 'heavy',
    subject: null,
    payload: BatchPayload,
    key: ({ batch_id }) => batch_id,
    sharedMemory: null,
    inParts: true,
  }),
  account: defineKind({
    lane: 'heavy',
    subject: { of: 'index', named: 'request', onDeletion: 'forget' },
    payload: AccountBacktestPayload,
    key: ({ backtest_id }) => backtest_id,
    sharedMemory: null,
  }),
  rerun: defineKind({
    lane: 'heavy',
    subject: null,
    payload: RerunPayload,
    key: ({ rerun_id }) => rerun_id,
    sharedMemory: null,
    inParts: true,
  }),
  study: defineKind({
    lane: 'heavy',
    subject: null,
    payload: StudyPayload,
    key: ({ study_id }) => study_id,
    sharedMemory: null,
    inParts: true,
    resultIds: (studyId, request) => {
      const { runs } = request as { readonly runs: number }; // submitted by `src/services/optimise/studies.ts`
      return Array.from({ length: runs }, (_, position) => createOptimisationId(studyId, position));
    },
  }),
  simulate: defineKind({
    lane: 'heavy',
    subject: runSubject,
    payload: SimulationPayload,
    key: ({ run_id }) => run_id,
    sharedMemory: null,
    inParts: true,
  }),
  replay: defineKind({
    lane: 'heavy',
    subject: runSubject,
    payload: ReplayPayload,
    key: ({ run_id }) => run_id,
    sharedMemory: null,
  }),
  diff: defineKind({
    lane: 'heavy',
    subject: runSubject,
    payload: RunDifferencePayload,
    key: ({ run_id }) => run_id,
    sharedMemory: 'tasks',
  }),
  differences: defineKind({
    lane: 'heavy',
    subject: runSubject,
    payload: DifferencesPayload,
    key: ({ run_id }) => run_id,
    sharedMemory: 'tasks',
  }),
} as const;

export const createOptimisationId = (studyId: string, position: number): string => `${studyId}-${position + 1}`;

export type JobKindName = keyof typeof JOB_KIND_CATALOGUE;

export type JobPayload<K extends JobKindName> =
  (typeof JOB_KIND_CATALOGUE)[K] extends JobKindEntry<infer P, 'tasks' | 'served-market' | null> ? P : never;

// Object.keys returns plain strings; the keys are those of the catalogue.
export const JOB_KINDS = Object.keys(JOB_KIND_CATALOGUE) as [JobKindName, ...JobKindName[]];

export const KINDS_IN_PARTS: ReadonlySet<string> = new Set(
  JOB_KINDS.filter((kind) => 'inParts' in JOB_KIND_CATALOGUE[kind]),
);

/**
 * Returns the kinds whose jobs are deleted with their subject. Arguments are the kind of subject and the member that
 * names it.
 */
export function listKindsDeletedWith(subjectKind: JobSubject['of'], named: JobSubject['named']): JobKindName[] {
  return JOB_KINDS.filter((kind) => {
    const subject: JobSubject | null = JOB_KIND_CATALOGUE[kind].subject;
    return subject?.of === subjectKind && subject.named === named && subject.onDeletion === 'forget';
  });
}

/** Number and timing of retries of a kind of job. */
export interface RetryPolicy {
  /** Maximum number of attempts that end because their thread crashed. */
  readonly crashes: number;
  /** Maximum number of attempts whose process ended, stopped responding or lost its connection. */
  readonly losses: number;
  /** Maximum number of attempts that a process returned to the queue without a failure. */
  readonly releases: number;
  /**
   * Delay in seconds before the second retry after one cause. The first retry is immediate. After crashes each further
   * delay is twice as long.
   */
  readonly backoff: number;
  /** Maximum delay before a retry, in seconds. */
  readonly 'backoff-max': number;
  /** Age after which a job is not retried, in seconds since its submission; 0: no limit. */
  readonly deadline: number;
}

interface RetryMember {
  readonly otherwise: number;
  readonly min: number;
  readonly max: number;
}

/** Members of a policy, with their defaults and ranges. */
const RETRY_MEMBERS: Readonly<Record<keyof RetryPolicy, RetryMember>> = {
  crashes: { otherwise: LIMITS.MAX_ATTEMPTS, min: 1, max: 1000 },
  // Limits attempts whose process was killed or unreachable. After twenty of them, the job itself probably crashes its
  // machine.
  losses: { otherwise: 20, min: 1, max: 10_000 },
  // Allows a long job on machines that are replaced every hour.
  releases: { otherwise: 1000, min: 1, max: 100_000 },
  backoff: { otherwise: 1, min: 0, max: 3600 },
  'backoff-max': { otherwise: 60, min: 0, max: 86_400 },
  deadline: { otherwise: 0, min: 0, max: 2_592_000 },
};

export type RetryPolicies = (kind: JobKindName) => RetryPolicy;

const MEMBERS = Object.keys(RETRY_MEMBERS) as (keyof RetryPolicy)[]; // the keys of the table above

export const RETRY_DEFAULTS = Object.fromEntries(
  MEMBERS.map((member) => [member, RETRY_MEMBERS[member].otherwise]),
) as unknown as RetryPolicy; // the object has a number for each member

/**
 * Parses policies from the text of a setting: `member=value` for all kinds and `kind.member=value` for one kind,
 * separated by commas.
 * @returns the policies, or a clause that states the required form
 */
export function parseRetryPolicies(text: string): RetryPolicies | string {
  const commonPolicy: Partial<Record<keyof RetryPolicy, number>> = {};
  const policyByKind = new Map<string, Partial<Record<keyof RetryPolicy, number>>>();
  for (const entry of text.split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [, kind, member, value] = /^(?:([a-z]+)\.)?([a-z-]+)=(\d{1,9})$/.exec(entry) ?? [];
    if (member === undefined) return `must be member=value or kind.member=value, with commas: ${entry}`;
    if (kind !== undefined && !(JOB_KINDS as readonly string[]).includes(kind))
      return `must name a kind of job (${JOB_KINDS.join(', ')}): ${entry}`;
    const retryMember = MEMBERS.find((each) => each === member);
    if (retryMember === undefined) return `must name one of ${MEMBERS.join(', ')}: ${entry}`;
    const { min, max } = RETRY_MEMBERS[retryMember];
    if (Number(value) < min || Number(value) > max) return `must be ${min} to ${max} for ${member}: ${entry}`;
    const target = kind === undefined ? commonPolicy : (policyByKind.get(kind) ?? {});
    target[retryMember] = Number(value);
    if (kind !== undefined) policyByKind.set(kind, target);
  }
  return (kind) => ({ ...RETRY_DEFAULTS, ...commonPolicy, ...policyByKind.get(kind) });
}

/** Minimum fraction of a delay after jitter, which spreads the retries of many jobs. */
const JITTER_MIN = 0.5;

/**
 * Returns the delay before a job is retried. Only delays after crashes grow, because the loss of a machine is not a
 * failure of the job.
 * @param endedAttempts number of attempts that ended for this cause, at least 1
 * @param chance random number from 0 to 1
 * @returns milliseconds
 */
export function computeRetryDelayMs(
  policy: RetryPolicy,
  cause: 'crashes' | 'losses' | 'releases',
  endedAttempts: number,
  chance: number,
): number {
  if (endedAttempts < 2) return 0;
  const doublings = cause === 'crashes' ? Math.min(endedAttempts - 2, 30) : 0;
  const seconds = Math.min(policy['backoff-max'], policy.backoff * 2 ** doublings);
  return Math.round(seconds * 1000 * (JITTER_MIN + (1 - JITTER_MIN) * chance));
}
