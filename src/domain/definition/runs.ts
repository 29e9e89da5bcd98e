import { z } from 'zod';
import { CurrencyCode, defineObject, Id, isAssetIdentifier, IsoDate } from '../base/schema.js';
import { MatrixFiles } from '../risk/risk-models.js';
import { AdjustmentSpec } from './datasets.js';

const KINDS = ['index', 'identifier'] as const;

/** Benchmark of a run. It is compared with the run in addition to the tracked index. */
export const BenchmarkRef = defineObject(() => ({
  id: z.string().min(1).max(64),
  kind: z.enum(KINDS),
  price_column: z.string().min(1).max(64).default('CLOSE'),
})).meta({ id: 'BenchmarkRef' });
export type BenchmarkRef = z.infer<typeof BenchmarkRef>;

/** Benchmark as a text, the form used by every request that names a benchmark. */
export const BenchmarkName = z
  .string()
  .refine((text) => isAssetIdentifier(parseBenchmark(text).id), {
    params: { finding: 'BAD_IDENTIFIER' },
    error: 'must be index:ID, identifier:ID or only an id, of 1 to 64 characters without control characters or /',
  })
  .meta({
    minLength: 1,
    maxLength: 75,
    example: 'identifier:SPX',
    description:
      'Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.',
  });

/** Benchmark to which a text refers; the kind is null if the text does not state it. */
export interface NamedBenchmark {
  readonly kind: BenchmarkRef['kind'] | null;
  readonly id: string;
}

export function parseBenchmark(text: string): NamedBenchmark {
  const kind = KINDS.find((each) => text.startsWith(`${each}:`)) ?? null;
  return { kind, id: kind === null ? text : text.slice(kind.length + 1) };
}

/** Common terms of a backtest request and a strategy. */
export const BacktestFields = defineObject(() => ({
  benchmark: BenchmarkRef.nullable()
    .default(null)
    .meta({ description: 'Benchmark: a second comparison in addition to the tracked index.' }),
  start: IsoDate.nullable()
    .default(null)
    .meta({ description: 'First day. Default: the base date of the index. Earlier days are not possible.' }),
  end: IsoDate.nullable().default(null).meta({ description: 'Last day. Default: the last day of the data.' }),
  initial_capital: z
    .number()
    .gt(0)
    .max(1e15)
    .default(1_000_000)
    .meta({ description: 'Initial value of the portfolio, in the index currency.' }),
  transaction_cost_bps: z
    .number()
    .min(0)
    .max(1000)
    .default(0)
    .meta({ description: 'Cost of a trade in basis points of its notional.' }),
  as_known: z.literal('decision').optional().meta({
    description:
      'Each rebalance uses the newest version of the data known at the end of its decision date. Levels are computed from the data of the run.',
  }),
  store_id: Id.optional().meta({
    description: 'Data store of the run, for an index without a store. Default: the active store.',
  }),
}));
export type BacktestFields = z.infer<typeof BacktestFields>;

/** Reasons for a full run although a stored run exists, by their names in the API. */
export const FULL_RUN_REASONS = {
  definition_changed: 'the index, a document to which it refers or the engine has changed since the stored run',
  request_changed: 'the request differs from the request of the stored run, and a later end is not the only difference',
  no_checkpoint: 'the checkpoint of the stored run is missing or unreadable',
  names_changed: 'the securities or fields of the store have changed',
  history_changed: 'the data up to the last session of the stored run has changed',
  no_new_session: 'the stored run already reaches the requested end',
  rebalance: 'a rebalance on the new sessions uses prices of an earlier session',
  new_name: 'a security enters that the run has never held (in runs of earlier builds)',
  holdings_diverged: 'portfolio and index begin or cease to have the same holdings',
  breach:
    'a breach triggers a rebalance or triggered one after the reference date of a new rebalance, or an underlying index rebalances on breaches',
  member_change: 'constituents can change on the new sessions between reviews',
  default_changed:
    'the store has its first delisting, acquisition or merger, which changes a default of the definition',
  overlay: 'an overlay begins to hold cash in another currency, or nested overlays ended on different days',
  file_rewritten: 'the stored run has the maximum number of files and is rewritten',
} as const;
export type FullRunReason = keyof typeof FULL_RUN_REASONS;

// Object.keys returns plain strings.
export const FULL_RUN_REASON_NAMES = Object.keys(FULL_RUN_REASONS) as [FullRunReason, ...FullRunReason[]];

/** Error that reports that a run cannot be resumed. The service then computes the full run, so it is not a failure. */
export class CannotResumeError extends Error {
  override readonly name = 'CannotResumeError';
  readonly reason: FullRunReason;
  constructor(reason: FullRunReason) {
    super(FULL_RUN_REASONS[reason]);
    this.reason = reason;
  }
}

const fileFields = { name: z.string(), bytes: z.int().min(0), sha256: z.string() };
const Artifact = z.strictObject(fileFields);

/**
 * Document of a run of an index or a strategy, stored under the id of that document. Its results are stored separately
 * as bytes.
 */
export const RunDocument = defineObject(() => ({
  run_id: z.string(),
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
  adjustment: AdjustmentSpec.optional(),
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
  /** Last date of the stored run that this run extends; null for a full run. */
  extended_from: z.string().nullable(),
  /** Reason for a full run although a stored run exists; null otherwise. */
  full_run_reason: z.enum(FULL_RUN_REASON_NAMES).nullable(),
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
    checkpoint: Artifact.optional(),
    plan: Artifact.optional(),
    /** Matrices of the stored risk models in the plan, by id; absent without risk models. */
    models: z.record(z.string(), MatrixFiles).optional(),
  }),
}));
export type RunDocument = z.infer<typeof RunDocument>;

/** Ids of the stored runs of an index or a strategy, stored under the id of that document. */
export const RunListDocument = defineObject(() => ({
  /** Runs before the latest, latest first. */
  earlier: z.array(z.string()),
  /** Runs with published closes, which are never removed. */
  published: z.array(z.string()),
}));
export type RunListDocument = z.infer<typeof RunListDocument>;

/** Data that a service prepares before a thread computes a view of a stored run, by name. */
export const RUN_VIEW_NEEDS = {
  window: 'The requested range of dates begins before it ends.',
  market: 'The market of the run, if it is active.',
  'own-market': 'The market of the run; absent while another store is active.',
  'outside-mergers': 'The definition of the run, if it removes securities that merge into others outside its universe.',
  'same-store': 'No store other than that of the run is active.',
  benchmark: 'The requested benchmark, if any, with every document that it refers to.',
  'run-benchmark': 'The benchmark of the run, if it is an index that is still stored.',
  'group-column': 'The reference column `by` of the market.',
  risk: 'The risk measure: a stored model, an estimate, or none; with a market if necessary.',
  factors: 'The factors: those of a stored model or of an estimate.',
  exposures: 'Groups, datapoints, universe and benchmark of exposures.',
  issuers: 'The column of issuers, and its market if one is read.',
  'watched-rows': 'Rows of the optimiser from the body, and the market of their datapoints.',
  scenarios: 'Scenarios from the body, and the market of the run.',
  memory: 'Window or half-life of rolling risk, and the reference of the risk.',
  files: 'The stored files of the run with their recorded hashes.',
} as const;

export type RunViewNeed = keyof typeof RUN_VIEW_NEEDS;

/** View of a stored run, as its route declares it. The handler, the service and the task use only these terms. */
export interface RunViewTerms {
  /** Name of the view in `workers/views/view-run.ts`. */
  readonly name: string;
  /**
   * Required data in the order of preparation. The first preparation that fails determines the error of the request.
   */
  readonly needs: readonly RunViewNeed[];
  /**
   * True if the view reads the stored files in their current state. It is then never served from a cache, and damaged
   * files do not cause a refusal.
   */
  readonly isMadeAnew?: true;
}
