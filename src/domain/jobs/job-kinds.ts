import type { z } from 'zod';
import {
  AccountBacktestPayload,
  BacktestPayload,
  BatchPayload,
  GeneratePayload,
  LoadPayload,
  OptimisationPayload,
  RefreshPayload,
  RenderPayload,
  ReplayPayload,
  RerunPayload,
  RiskModelPayload,
  RiskValidationPayload,
  RunDifferencePayload,
  SimulationPayload,
  StudyPayload,
  SweepPayload,
} from './payloads.js';

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
export type DeletionPolicy = 'forget' | 'keep';

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

/** All kinds of jobs, in the order of the API. The build fails if a kind has no handler (`src/cli/compose.ts`). */
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
      const { runs } = request as { readonly runs: number }; // submitted by `src/services/optimisation/studies.ts`
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
} as const;

/** Returns the id of an optimisation in a study. */
export const createOptimisationId = (studyId: string, position: number): string => `${studyId}-${position + 1}`;

export type JobKindName = keyof typeof JOB_KIND_CATALOGUE;

/** Payload of an attempt of a kind of job. */
export type JobPayload<K extends JobKindName> =
  (typeof JOB_KIND_CATALOGUE)[K] extends JobKindEntry<infer P, 'tasks' | 'served-market' | null> ? P : never;

// Object.keys returns plain strings; the keys are those of the catalogue.
export const JOB_KINDS = Object.keys(JOB_KIND_CATALOGUE) as [JobKindName, ...JobKindName[]];

/** Kinds whose jobs run in parts. */
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
