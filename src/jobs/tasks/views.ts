import type { RunViewQuestion } from '#contract/analytics/run-view-questions.js';
import type { ScenarioRequest } from '#domain/scenarios/scenario-request.js';
import type { LimitRuleName } from '#domain/compliance/rules.js';
import type { ConstraintRow } from '#domain/constraints/constraint-row.js';
import type { Estimator } from '#domain/risk/risk-model-document.js';
import type { RiskMemory, RiskReference } from '#domain/analytics/rolling-risk.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RunState } from '#domain/backtest/stale.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { FactorEstimator, FactorSource } from '#domain/risk/factor-model.js';
import type { ModelDate } from '#domain/risk/imported/model-dates.js';
import type { FactorModelName } from '#domain/risk/factor-risk.js';
import type { HashCells } from '../thread-messages.js';
import type { HashedFile } from './files.js';
import type { ModelFile, ModelFiles } from './indices.js';

/** What each need of a view adds to its input. */
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
  /** The stored model that risk is measured by; by default it is estimated over the run's window. */
  readonly model?: MeasuringModel | null;
  /** Estimator of that covariance, with its defaults; the sample covariance by default. */
  readonly estimator?: Estimator;
  readonly benchmark: ComparedWith | null;
  /** The served market, null when there is none. */
  readonly market: MarketHandle | null;
  /** The market has the content that the run was made on, by which its share counts are those of the run. */
  readonly isMarketOfRun: boolean;
}

export interface NeededExposures {
  /** Reference column, or IDENTIFIER. */
  readonly by: string;
  /** Numeric datapoints as canonical texts. */
  readonly fields: readonly string[];
  /** The index on whose universe BETA is measured, with every document it reaches; null where none is needed or known. */
  readonly universe: ComparedWith | null;
  readonly benchmark: ComparedWith | null;
  /** Columns of the benchmark's stored run, where that is of its whole history on the market: it is not run again. */
  readonly benchmarkColumns: string | null;
  /** Null where securities are groups themselves, no datapoint is read and nothing is compared with. */
  readonly market: MarketHandle | null;
}

export interface NeededLimits {
  /** A published rule, or rows of the optimiser. */
  readonly limits: { readonly rule: LimitRuleName | null } | { readonly rows: readonly ConstraintRow[] };
  /** Reference column of issuers, or IDENTIFIER. */
  readonly by: string;
  readonly findings: readonly Finding[];
  /** Null where securities are their own issuers and no row reads a datapoint. */
  readonly market: MarketHandle | null;
}

export interface NeededMemory {
  readonly runId: string;
  readonly memory: RiskMemory;
  /** The run has a benchmark where it is measured against that, unless another is named. */
  readonly against: RiskReference;
  /** With a market. */
  readonly benchmark: ComparedWith | null;
  /** The served market, in which one of the run's securities is to have a price; null when there is none. */
  readonly market: MarketHandle | null;
}

export interface NeededFiles {
  /** Stored files of the run with the hashes recorded when they were written. */
  readonly files: readonly { readonly name: string; readonly path: string; readonly sha256: string }[];
  /** Shared cells for the present hashes of the files, in their order. */
  readonly cells: HashCells;
}

type AllOf<N extends keyof Needed> = [N] extends [never]
  ? object
  : { readonly [K in N]: (needed: Needed[K]) => void }[N] extends (needed: infer All) => void
    ? All
    : never;

/** The input of a view that a route asks for: its parameters, and what was looked up. */
type InputOf<Q> = Q extends RunViewQuestion
  ? {
      readonly view: Q['view'];
      /** Path of the column file of the run. */
      readonly columns: string;
      /** JSON where it is absent. */
      readonly format?: ExportFormat;
    } & Omit<Q['asked'], keyof AllOf<Q['need']>> &
      AllOf<Q['need']>
  : never;

/** A view of stored runs. Dates are YYYY-MM-DD. */
export type RunViewInput =
  | InputOf<RunViewQuestion>
  /** Views that services read themselves. */
  | { readonly view: 'summary' | 'metrics' | 'closes'; readonly columns: string; readonly format?: never }
  | {
      readonly view: 'overview';
      readonly columns: string;
      /** The plan of the run. */
      readonly plan: HashedFile;
      readonly format?: never;
    }
  | CompareViewInput;

export type RunViewName = RunViewInput['view'];

/** The input of one view. */
export type InputOfView<N extends RunViewName> = Extract<RunViewInput, { readonly view: N }>;

export interface CompareViewInput {
  readonly view: 'compare';
  /** What each run is called: its id as it was asked for. */
  readonly names: readonly string[];
  readonly columns: readonly string[];
  readonly start: string | null;
  readonly end: string | null;
  /** Measured on the terms of the first run. */
  readonly benchmark: ComparedWith | null;
  /** Null where nothing is compared with. */
  readonly market: MarketHandle | null;
  readonly states: readonly (RunState & { readonly run_id: string })[];
  /** About the runs together, passed through. */
  readonly findings: readonly Finding[];
  /** CSV has the levels alone. */
  readonly format: 'json' | 'csv';
}

/**
 * An index that a run is compared with, and every document it reaches; without its own document an identifier: a name
 * of the market or a series.
 */
export interface ComparedWith {
  readonly indexId: string;
  readonly documents: BacktestPlan['documents'];
  readonly models?: ModelFiles;
}

/** A stored risk model with the window of its returns. */
export interface MeasuringModel extends ModelFile {
  readonly modelId: string;
  readonly observedStart: string;
}

/** What the factors of a view are: those of a stored model, or estimated over the window of the run. */
export type FactorMeasure =
  | { readonly stored: FactorModelFile }
  | {
      readonly model: FactorModelName;
      /** Principal components of the statistical model. */
      readonly factors: number;
      /** Estimator that was asked for by its name. */
      readonly estimator: FactorEstimator | null;
      /** What of the request nothing reads. */
      readonly findings: readonly Finding[];
    };

/** A stored factor model in a file, with the window of its returns. */
export interface FactorModelFile {
  readonly modelId: string;
  readonly path: string;
  readonly estimator: FactorSource;
  readonly factors: readonly string[];
  readonly names: readonly string[];
  readonly observedStart: string;
  readonly observedEnd: string;
  /** Dates of an imported model, whose factors follow each other in the file; absent of an estimated one. */
  readonly dates?: readonly ModelDate[];
}
