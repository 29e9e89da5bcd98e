import type { z } from 'zod';
import {
  BacktestPayload,
  GeneratePayload,
  LoadPayload,
  OptimisationPayload,
  RefreshPayload,
  RenderPayload,
  ReplayPayload,
  RiskModelPayload,
  RiskValidationPayload,
  RunDifferencePayload,
  SimulationPayload,
  SweepPayload,
} from './payloads.js';

/**
 * What a job is about, and where it names that: `ident` is the second half of the job's id, `request` is
 * `index_id` of its request. Strategies count as indices.
 */
export type JobSubject =
  | { readonly of: 'index'; readonly named: 'ident' | 'request'; readonly onDeletion: OnDeletion }
  | { readonly of: 'dataset'; readonly named: 'ident'; readonly onDeletion: OnDeletion };

/** `forget`: deletion of the subject cancels the job and deletes it in the same transaction. `keep`: it stays. */
export type OnDeletion = 'forget' | 'keep';

/** What every part of the service has to know of one kind of job. Its handler is made by `jobKind` with its name. */
interface JobKindEntry<P, M extends 'tasks' | 'served-market' | null> {
  /** `light` jobs are answered while `heavy` ones run: each lane has its own queue and threads. */
  readonly lane: 'heavy' | 'light';
  /** Null: it is about no one document, and outlives any deletion. */
  readonly subject: JobSubject | null;
  /** How its payload is read from the JSON that is stored. */
  readonly payload: z.ZodType<P>;
  /** Second half of the job's id: jobs with the same one replace each other. */
  key(payload: P): string;
  /**
   * What ties an attempt to the memory of one process: its tasks work on one piece of it, or it replaces the market that
   * the process serves. Null: each of its tasks may run wherever the artifacts and the market are.
   */
  readonly sharedMemory: M;
  /** Runs in parts, whose outputs its input names until it ends. */
  readonly inParts?: true;
}

const entry = <P, const M extends 'tasks' | 'served-market' | null>(given: JobKindEntry<P, M>) => given;
const aboutRun = { of: 'index', named: 'ident', onDeletion: 'forget' } as const;
/** Kinds that change the served market. */
const ofDataset = {
  lane: 'light',
  subject: { of: 'dataset', named: 'ident', onDeletion: 'forget' },
  sharedMemory: 'served-market',
} as const;

/** Every kind of job, in the order of the wire. A kind without a handler does not compile (`src/cli/compose.ts`). */
export const JOB_KIND_CATALOGUE = {
  backtest: entry({
    lane: 'heavy',
    subject: aboutRun,
    payload: BacktestPayload,
    key: ({ plan }) => plan.runId,
    sharedMemory: null,
  }),
  optimise: entry({
    lane: 'heavy',
    subject: null,
    payload: OptimisationPayload,
    key: ({ run_id }) => run_id,
    sharedMemory: null,
  }),
  render: entry({
    lane: 'light',
    subject: null,
    payload: RenderPayload,
    key: ({ render_id }) => render_id,
    sharedMemory: null,
  }),
  risk: entry({
    lane: 'heavy',
    subject: null,
    payload: RiskModelPayload,
    key: ({ model_id }) => model_id,
    sharedMemory: null,
  }),
  validate: entry({
    lane: 'heavy',
    subject: null,
    payload: RiskValidationPayload,
    key: ({ model_id }) => model_id,
    sharedMemory: null,
  }),
  sync: entry({ ...ofDataset, payload: RefreshPayload, key: ({ store_id }) => store_id }),
  load: entry({ ...ofDataset, payload: LoadPayload, key: ({ store_id }) => store_id }),
  refresh: entry({ ...ofDataset, payload: RefreshPayload, key: ({ store_id }) => store_id }),
  generate: entry({ ...ofDataset, payload: GeneratePayload, key: ({ store_id }) => store_id }),
  sweep: entry({
    lane: 'heavy',
    subject: { of: 'index', named: 'request', onDeletion: 'forget' },
    payload: SweepPayload,
    key: ({ sweep_id }) => sweep_id,
    sharedMemory: null,
    inParts: true,
  }),
  simulate: entry({
    lane: 'heavy',
    subject: aboutRun,
    payload: SimulationPayload,
    key: ({ run_id }) => run_id,
    sharedMemory: 'tasks',
  }),
  replay: entry({
    lane: 'heavy',
    subject: aboutRun,
    payload: ReplayPayload,
    key: ({ run_id }) => run_id,
    sharedMemory: null,
  }),
  diff: entry({
    lane: 'heavy',
    subject: aboutRun,
    payload: RunDifferencePayload,
    key: ({ run_id }) => run_id,
    sharedMemory: 'tasks',
  }),
} as const;

export type JobKindName = keyof typeof JOB_KIND_CATALOGUE;

/** What an attempt of a kind is given. */
export type JobPayload<K extends JobKindName> =
  (typeof JOB_KIND_CATALOGUE)[K] extends JobKindEntry<infer P, 'tasks' | 'served-market' | null> ? P : never;

// Object.keys forgets that the keys are those of the catalogue.
export const JOB_KINDS = Object.keys(JOB_KIND_CATALOGUE) as [JobKindName, ...JobKindName[]];

/** Kinds that run in parts. */
export const KINDS_IN_PARTS: ReadonlySet<string> = new Set(
  JOB_KINDS.filter((kind) => 'inParts' in JOB_KIND_CATALOGUE[kind]),
);

/** Kinds whose jobs go with a subject, by where they name it. */
export function kindsForgottenWith(of: JobSubject['of'], named: JobSubject['named']): JobKindName[] {
  return JOB_KINDS.filter((kind) => {
    const subject: JobSubject | null = JOB_KIND_CATALOGUE[kind].subject;
    return subject?.of === of && subject.named === named && subject.onDeletion === 'forget';
  });
}
