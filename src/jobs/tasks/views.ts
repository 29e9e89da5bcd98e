import type { RunViewQuestion } from '#contract/analytics/run-views.js';
import type { ScenarioRequest } from '#domain/studies/scenarios.js';
import type { LimitRuleName } from '#domain/definition/compliance.js';
import type { ConstraintRow } from '#domain/definition/constraint-class.js';
import type { FactorEstimator, FactorSource } from '#domain/risk/model-terms.js';
import type { Estimator } from '#domain/risk/risk-models.js';
import type { RiskMemory, RiskReference } from '#domain/analytics/returns.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import type { RunState } from '#domain/backtest/plan.js';
import type { ExportFormat } from '#domain/outputs/exports.js';
import type { Finding } from '#domain/base/findings.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import type { ModelDate } from '#domain/risk/model-tables.js';
import type { FactorModelName } from '#domain/risk/contributions.js';
import type { HashCells, HashedFile } from './messages.js';
import type { ModelFile, ModelFiles } from './indices.js';

/** Additional inputs of a view, by its needs. */
interface Needed {
  readonly window: object;
  readonly market: { readonly market: MarketHandle };
  readonly 'own-market': { readonly market: MarketHandle | null };
  readonly 'outside-mergers': { readonly removing: ComparedWith | null };
  readonly 'same-store': object;
  readonly benchmark: { readonly benchmark: ComparedWith | null };
  readonly 'run-benchmark': { readonly benchmark: ComparedWith | null };
  readonly 'group-column': object;
  readonly risk: NeededRisk;
  readonly factors: { readonly measure: FactorMeasure };
  readonly exposures: NeededExposures;
  readonly issuers: NeededLimits;
  readonly 'watched-rows': NeededLimits;
  readonly scenarios: { readonly request: ScenarioRequest; readonly market: MarketHandle };
  readonly memory: NeededMemory;
  readonly files: NeededFiles;
}

export interface NeededRisk {
  readonly risk: boolean;
  /** Stored model for the risk. Default: a covariance estimated over the run's window. */
  readonly model?: MeasuringModel | null;
  /** Estimator of the covariance, with its defaults. Default: the sample covariance. */
  readonly estimator?: Estimator;
  readonly benchmark: ComparedWith | null;
  /** The served market; null if no market is served. */
  readonly market: MarketHandle | null;
  /** True if the market has the content of the run. Its numbers of shares then apply to the run. */
  readonly isMarketOfRun: boolean;
}

export interface NeededExposures {
  /** Reference column that defines the groups, or IDENTIFIER. */
  readonly by: string;
  /** Numeric datapoints as canonical texts. */
  readonly fields: readonly string[];
  /**
   * Index that provides the universe for BETA, with every document that it refers to. It is null if BETA is not needed
   * or the index is unknown.
   */
  readonly universe: ComparedWith | null;
  readonly benchmark: ComparedWith | null;
  /**
   * Columns of the benchmark's stored run, so that the benchmark need not run again. It is null unless that run covers
   * the whole history on the market.
   */
  readonly benchmarkColumns: string | null;
  /**
   * Market of the run. It is null if each security is its own group, no datapoint is read and there is no comparison.
   */
  readonly market: MarketHandle | null;
}

export interface NeededLimits {
  /** Name of a published rule, or constraint rows of the optimiser. */
  readonly limits: { readonly rule: LimitRuleName | null } | { readonly rows: readonly ConstraintRow[] };
  /** Reference column that identifies issuers, or IDENTIFIER. */
  readonly by: string;
  readonly findings: readonly Finding[];
  /** Market of the run. It is null if each security is its own issuer and no constraint reads a datapoint. */
  readonly market: MarketHandle | null;
}

export interface NeededMemory {
  readonly runId: string;
  readonly memory: RiskMemory;
  /** Reference of the risk. It requires the run's benchmark, unless the request names another benchmark. */
  readonly against: RiskReference;
  /** Benchmark that the request names, set together with a market; null if it names none. */
  readonly benchmark: ComparedWith | null;
  /**
   * The served market, or null if there is no suitable one. At least one of the run's securities must have a price in
   * it.
   */
  readonly market: MarketHandle | null;
}

export interface NeededFiles {
  /** Stored files of the run with the hashes recorded when they were written. */
  readonly files: readonly { readonly name: string; readonly path: string; readonly sha256: string }[];
  /** Shared cells for the current hashes of the files, in order. */
  readonly cells: HashCells;
}

type MergedNeeds<N extends keyof Needed> = [N] extends [never]
  ? object
  : { readonly [K in N]: (needed: Needed[K]) => void }[N] extends (needed: infer All) => void
    ? All
    : never;

/** Input of the view of a route. Contains the parameters of the route and the resolved data. */
type InputOf<Q> = Q extends RunViewQuestion
  ? {
      readonly view: Q['view'];
      /** Path of the column file of the run. */
      readonly columns: string;
      /** Format of the output. Default: JSON. */
      readonly format?: ExportFormat;
    } & Omit<Q['asked'], keyof MergedNeeds<Q['need']>> &
      MergedNeeds<Q['need']>
  : never;

/** Input of a view of stored runs. Dates are YYYY-MM-DD. */
export type RunViewInput =
  | InputOf<RunViewQuestion>
  /** Views that services request themselves, without a route. */
  | { readonly view: 'summary' | 'metrics'; readonly columns: string; readonly format?: never }
  | {
      readonly view: 'overview';
      readonly columns: string;
      /** Plan of the run. */
      readonly plan: HashedFile;
      readonly format?: never;
    }
  | CompareViewInput;

export type RunViewName = RunViewInput['view'];

export type InputOfView<N extends RunViewName> = Extract<RunViewInput, { readonly view: N }>;

export interface CompareViewInput {
  readonly view: 'compare';
  /** Labels of the runs: their ids as requested. */
  readonly names: readonly string[];
  readonly columns: readonly string[];
  readonly start: string | null;
  readonly end: string | null;
  /** Benchmark of all runs, simulated with the settings of the first run. */
  readonly benchmark: ComparedWith | null;
  /** Market of the first run, on which the benchmark is simulated; null without a benchmark. */
  readonly market: MarketHandle | null;
  readonly states: readonly (RunState & { readonly run_id: string })[];
  /** Findings about the combination of runs, returned unchanged with the result. */
  readonly findings: readonly Finding[];
  /** Format of the output; CSV contains only the levels. */
  readonly format: 'json' | 'csv';
}

/**
 * Index to compare a run with, and every document that it refers to. Without a document, it is the identifier of a
 * security or series of the market.
 */
export interface ComparedWith {
  readonly indexId: string;
  readonly documents: BacktestPlan['documents'];
  readonly models?: ModelFiles;
}

/** Stored risk model with the window of its returns. */
export interface MeasuringModel extends ModelFile {
  readonly modelId: string;
  readonly observedStart: string;
}

/** Source of the factors of a view. It is a stored model, or an estimate over the window of the run. */
export type FactorMeasure =
  | { readonly stored: FactorModelFile }
  | {
      readonly model: FactorModelName;
      /** Number of principal components of the statistical model. */
      readonly factors: number;
      /** Estimator that was requested by name. */
      readonly estimator: FactorEstimator | null;
      /** Findings about unused members of the request. */
      readonly findings: readonly Finding[];
    };

/** Stored factor model in a file, with the window of its returns. */
export interface FactorModelFile {
  readonly modelId: string;
  readonly path: string;
  readonly estimator: FactorSource;
  readonly factors: readonly string[];
  readonly names: readonly string[];
  readonly observedStart: string;
  readonly observedEnd: string;
  /** Dates of an imported model, whose factors follow each other in the file. Absent for an estimated model. */
  readonly dates?: readonly ModelDate[];
}
