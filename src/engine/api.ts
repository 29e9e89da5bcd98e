// Public interface of `divisor/engine`. Only its types are published; `main.ts` implements it.
import type {
  BacktestMetrics,
  BacktestRequest,
  Finding,
  IndexDocument,
  IndexDocumentBody,
  IndexExplanation,
  OptimisationPreviewRequest,
  OptimisationRunRequest,
  OptimisationRunResult,
  PluginUpsert,
  PreviewResponse,
  RiskModelImport,
  RiskModelRequest,
  RiskModelView,
  WeightsView,
} from '#clients/typescript/contract.js';

/** Table in the format of a service import: names of the columns, and one array of cells per row. */
export interface Table {
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/** Dense prices of T dates and N securities. */
export interface PriceArrays {
  /** Distinct dates in ascending order: texts YYYY-MM-DD, or days since 1970-01-01, [T]. */
  readonly dates: readonly string[] | Int32Array;
  /** Identifiers in any order, without duplicates, [N]. */
  readonly identifiers: readonly string[];
  /** `CLOSE` and other numeric fields: [T x N], date by date, NaN for missing values. */
  readonly fields: Readonly<Record<string, Float64Array>>;
}

/** Market: prices and further tables, with the columns of a service import. */
export interface MarketInput {
  /**
   * Arrays, a table, or an Arrow IPC stream or file. A table and Arrow data have the columns `date`, `identifier` and
   * `CLOSE`.
   */
  readonly prices: PriceArrays | Table | Uint8Array;
  readonly reference?: Table;
  readonly corporate_actions?: Table;
  readonly universes?: Table;
  readonly series?: Table;
  /** Basis of CLOSE: as traded, adjusted for later splits, or for splits and dividends. Default: none. */
  readonly adjustment?: 'none' | 'splits' | 'total';
  /** Currency of securities that have no currency in the reference data. Default: null. */
  readonly currency?: string | null;
}

/** Market as it was known at the end of a day. */
export interface EarlierMarket {
  readonly known_on: string;
  readonly market: MarketInput;
}

export interface EngineOptions {
  readonly market: MarketInput;
  /**
   * Plug-ins by id, in the form of `PUT /plugins/{plugin_id}`. They require the sandbox, which loads about 0.25 MB
   * compressed.
   */
  readonly plugins?: Readonly<Record<string, PluginUpsert>>;
  /** Day at whose end `market` was known; required by `earlier`. */
  readonly known_on?: string;
  /**
   * Earlier contents for backtests with `as_known: "decision"`, by ascending date. The first counts as known from the
   * beginning.
   */
  readonly earlier?: readonly EarlierMarket[];
}

/** Risk model that definitions and optimisations name by its id. */
export interface RiskModel {
  readonly model_id: string;
  /** Identifiers, ascending, [N]; for an imported model, the identifiers of its latest date. */
  readonly asset_ids: readonly string[];
  /** Annualised covariances, row-major, [N x N]. */
  readonly covariance: Float64Array;
  /** Annualised volatilities, [N]. */
  readonly volatilities: Float64Array;
  readonly diagnostics: RiskModelView['diagnostics'];
  /** Factors, for estimators with factors. */
  readonly factor_model?: NonNullable<RiskModelView['factor_model']>;
  /** Securities without an estimate, with the reason. */
  readonly excluded: Readonly<Record<string, string>>;
  /** Dates of the first and last return; for an imported model, its first and last dates. */
  readonly observed_start: string;
  readonly observed_end: string;
  readonly findings: readonly Finding[];
}

/** Request of an optimisation: the body of `POST /optimise/runs`, with constraint rows instead of a constraint set. */
export type OptimisationRequest = Omit<OptimisationRunRequest, 'constraint_set_id'> &
  Pick<OptimisationPreviewRequest, 'constraints'>;

/** Result of an optimisation, in the form of `GET /optimise/runs/{run_id}`. */
export type Optimisation = Omit<OptimisationRunResult, 'run_id' | 'constraint_set_id'>;

/** Index points of one return variant, as arrays of equal length. */
export interface IndexLevels {
  readonly variant: 'price' | 'total' | 'net';
  /** YYYY-MM-DD, ascending, from the first close of the index. */
  readonly dates: readonly string[];
  readonly levels: Float64Array;
  readonly divisor: Float64Array;
}

/** Closes as the service publishes them, as arrays of equal length. */
export interface Closes {
  readonly dates: readonly string[];
  readonly price: readonly (number | null)[];
  readonly total: readonly (number | null)[];
  readonly net: readonly (number | null)[];
  readonly divisor: readonly (number | null)[];
  /** SHA-256 of the canonical JSON of the weights by identifier. */
  readonly composition_hash: readonly string[];
}

/** Weights on a date: the members of the service's view that are computed only from the run. */
export type HeldWeights = Pick<
  WeightsView,
  'as_of' | 'rebalance_date' | 'cap' | 'weights' | 'concentration' | 'exposure' | 'drift'
>;

/** Result of a backtest. */
export interface Backtest {
  readonly index_id: string;
  /** YYYY-MM-DD, ascending, [T]. */
  readonly dates: readonly string[];
  /** Value of the portfolio that holds the index, 100 on the first date, [T]. */
  readonly level: Float64Array;
  readonly metrics: BacktestMetrics;
  readonly total_costs: number;
  readonly findings: readonly Finding[];
  /** Effective dates of the rebalances, including the rebalance in force at the start. */
  readonly rebalances: readonly string[];
  /** SHA-256 of the whole result; equal hashes mean bit-identical numbers. */
  readonly hash: string;
  /** Levels and divisor of the index. Default: the variant of its definition. */
  levels(variant?: IndexLevels['variant']): IndexLevels;
  /** Weights on the latest date up to `as_of`. Default: the last date. */
  weights(as_of?: string): HeldWeights;
  closes(): Closes;
}

/** The index engine on one market, without a service. Not safe for calls from several threads. */
export interface Engine {
  /** Version of the engine; equal versions give bit-identical results. */
  readonly version: string;
  /** SHA-256 of the market, computed as in the service. */
  readonly content_hash: string;
  /** Warnings about the market. */
  readonly findings: readonly Finding[];
  /**
   * Stores a definition in memory, replacing one with the same id.
   * @returns the document with its defaults, and warnings
   * @throws EngineError VALIDATION_FAILED with the findings of the service
   */
  define(document: IndexDocumentBody): { readonly index: IndexDocument; readonly findings: readonly Finding[] };
  /** Returns all findings about a definition, without storing it. */
  validate(document: IndexDocumentBody): readonly Finding[];
  /** Returns the composition on a day. Default: the base date. @throws EngineError */
  preview(index_id: string, as_of?: string): PreviewResponse;
  /** Returns the reasons for one weight. Default: on the last date of the market. @throws EngineError */
  explain(index_id: string, identifier: string, as_of?: string): IndexExplanation;
  /** Runs a backtest of a definition. @throws EngineError */
  backtest(index_id: string, request?: Omit<BacktestRequest, 'as_known_on' | 'if_stale'>): Backtest;
  /** Estimates a risk model and stores it under an id, replacing one with the same id. @throws EngineError */
  riskModel(model_id: string, request: Omit<RiskModelRequest, 'as_known_on'>): RiskModel;
  /** Stores a risk model from outside, in the form of `POST /risk-models/{model_id}/import`. @throws EngineError */
  importRiskModel(model_id: string, model: RiskModelImport): RiskModel;
  /** Optimises the weights of an index. @throws EngineError INFEASIBLE with the conflicting rows, and other codes */
  optimise(request: OptimisationRequest): Optimisation;
}

/** Error that the caller can correct, with code, message and detail of the service. */
export interface EngineError extends Error {
  readonly name: 'Refusal';
  readonly code: string;
  readonly detail: Readonly<Record<string, unknown>> | null;
}

/** Opens the engine on a market. @throws EngineError VALIDATION_FAILED with the findings about the market */
export declare function openEngine(options: EngineOptions): Promise<Engine>;

/** Problem of a bundle. */
export interface BundleFault {
  /** Part of the bundle with the problem: a file, an input, an entry of the log, a signature, or a recomputed close. */
  readonly kind: 'file' | 'input' | 'log' | 'signature' | 'close';
  readonly message: string;
  readonly date?: string;
  readonly identifier?: string;
  /** Sequence number of the log entry. */
  readonly seq?: number;
}

/** Result of the verification of a bundle. */
export interface BundleVerdict {
  /** True if every hash, signature and close agrees. Signatures count only if `signatures` is `verified`. */
  readonly ok: boolean;
  readonly index_id: string | null;
  /** Versions of this engine and of the engine that published the closes. */
  readonly engine: string;
  readonly published_by: string | null;
  /** Number of published dates. The next two fields are the first and the last of these dates. */
  readonly closes: number;
  readonly first: string | null;
  readonly last: string | null;
  readonly entries: number;
  /** Hash of the last entry. Compare it with the hash from another source. */
  readonly head: string | null;
  /** Keys that signed the entries. Compare them with the keys of the publisher. */
  readonly key_ids: readonly string[];
  /** State of the signatures; `unverified` if the platform has no Ed25519. */
  readonly signatures: 'verified' | 'unverified';
  readonly faults: readonly BundleFault[];
}

export interface VerifyOptions {
  /** Body of `GET .../published/keys` from a trusted source. Default: the keys of the bundle. */
  readonly keys?: unknown;
  /** Required hash of the last entry. */
  readonly head?: string;
}

/** Recomputes every published close of a bundle from its inputs, and checks hashes, log and signatures. */
export declare function verifyBundle(bundle: Uint8Array, options?: VerifyOptions): Promise<BundleVerdict>;
