import type { ScenarioRequest } from '#domain/scenarios/scenario-request.js';
import type { LimitRuleName } from '#domain/compliance/rules.js';
import type { ConstraintRow } from '#domain/constraints/constraint-row.js';
import type { Estimator } from '#domain/risk/risk-model-document.js';
import type { RiskMemory, RiskReference } from '#domain/analytics/rolling-risk.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RunState } from '#domain/backtest/stale.js';
import type { ExposureTable } from '#domain/exports/exposure-tables.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import type { LimitTable } from '#domain/exports/limit-tables.js';
import type { ScenarioTable } from '#domain/exports/scenario-tables.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { ReturnVariant } from '#domain/market/market-data.js';
import type { AttributionModel } from '#domain/risk/factors/factor-attribution.js';
import type { FactorEstimator, FactorSource } from '#domain/risk/factor-model.js';
import type { ModelDate } from '#domain/risk/imported/model-dates.js';
import type { FactorModelName } from '#domain/risk/factor-risk.js';
import type { HashCells } from '../thread-messages.js';
import type { ModelFile, ModelFiles } from './indices.js';

/** Views of stored runs; `columns` are paths of column files. Dates are YYYY-MM-DD, null when not asked for. */
export type RunViewInput =
  | {
      readonly view: 'attribution';
      readonly columns: string;
      readonly start: string | null;
      readonly end: string | null;
    }
  | { readonly view: 'asset'; readonly columns: string; readonly identifier: string }
  | { readonly view: 'summary'; readonly columns: string }
  | { readonly view: 'metrics'; readonly columns: string }
  | { readonly view: 'closes'; readonly columns: string }
  | {
      readonly view: 'performance';
      readonly columns: string;
      readonly of: 'portfolio' | 'index';
      /** Of the index; its own where null. */
      readonly variant: ReturnVariant | null;
      readonly start: string | null;
      readonly end: string | null;
    }
  | { readonly view: 'rebalances'; readonly columns: string }
  | { readonly view: 'rebalance'; readonly columns: string; readonly date: string }
  | ActionsViewInput
  | DividendPointsViewInput
  | ExposuresViewInput
  | LimitsViewInput
  | ScenariosViewInput
  | CompareViewInput
  | {
      readonly view: 'levels';
      readonly columns: string;
      readonly variant: ReturnVariant | null;
      readonly start: string | null;
      readonly end: string | null;
    }
  | WeightsViewInput
  | FactorRiskInput
  | FactorAttributionInput
  | GroupsViewInput
  | ReconcileInput;

export interface ReconcileInput {
  readonly view: 'reconcile';
  readonly columns: string;
  /** Stored files of the run with the hashes recorded when they were written. */
  readonly files: readonly { readonly name: string; readonly path: string; readonly sha256: string }[];
  /** Shared cells for the present hashes of the files, in their order. */
  readonly cells: HashCells;
  /** The served market and the index the run was compared with, null when there is none: the source of risk figures. */
  readonly market: MarketHandle | null;
  readonly benchmark: WeightsViewInput['benchmark'];
}

export interface ActionsViewInput {
  readonly view: 'actions';
  /** Of CSV: the actions, or the index behind each of those that are coming. */
  readonly table: 'actions' | 'constituents';
  readonly columns: string;
  readonly start: string | null;
  readonly end: string | null;
  readonly market: MarketHandle;
  readonly format: 'json' | 'csv';
}

export interface DividendPointsViewInput {
  readonly view: 'dividend-points';
  readonly columns: string;
  readonly start: string | null;
  readonly end: string | null;
  readonly market: MarketHandle;
}

export interface ExposuresViewInput {
  readonly view: 'exposures';
  readonly columns: string;
  readonly start: string | null;
  readonly end: string | null;
  /** Reference column, or IDENTIFIER. */
  readonly by: string;
  readonly groups: number;
  readonly interval: 'native' | 'weekly' | 'monthly';
  /** Numeric datapoints. */
  readonly fields: readonly string[];
  /** The index on whose universe BETA is measured, with every document it reaches; null where none is needed or known. */
  readonly universe: ComparedWith | null;
  readonly benchmark: ComparedWith | null;
  /**
   * Columns of the benchmark's stored run, where that is of its whole history on the market: it need not be run again.
   */
  readonly benchmarkColumns: string | null;
  /** Null where names are groups themselves, no datapoint is read and nothing is compared with. */
  readonly market: MarketHandle | null;
  readonly format: 'json' | 'csv' | 'arrow';
  /** Of what is not JSON. */
  readonly table: ExposureTable;
}

export interface LimitsViewInput {
  readonly view: 'limits';
  readonly columns: string;
  readonly start: string | null;
  readonly end: string | null;
  /** A published rule, or rows of the optimiser. */
  readonly limits: { readonly rule: LimitRuleName | null } | { readonly rows: readonly ConstraintRow[] };
  /** Reference column of issuers, or IDENTIFIER. */
  readonly by: string;
  readonly findings: readonly Finding[];
  /** Null where names are their own issuers and no row reads a datapoint. */
  readonly market: MarketHandle | null;
  readonly format: ExportFormat;
  /** Which table a file has. */
  readonly table: LimitTable;
}

export interface ScenariosViewInput {
  readonly view: 'scenarios';
  readonly columns: string;
  readonly request: ScenarioRequest;
  readonly market: MarketHandle;
  readonly format: ExportFormat;
  /** Table of a file. */
  readonly table: ScenarioTable;
}

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

export interface RollingRiskInput {
  readonly columns: string;
  readonly runId: string;
  readonly memory: RiskMemory;
  /** The run has a benchmark where it is measured against that, unless another is named. */
  readonly against: RiskReference;
  /** With a market. */
  readonly benchmark: ComparedWith | null;
  /** The served market, in which one of the run's names is to have a price; null when there is none. */
  readonly market: MarketHandle | null;
}

export interface GroupsViewInput {
  readonly view: 'groups';
  readonly columns: string;
  readonly start: string | null;
  readonly end: string | null;
  /** Reference column. */
  readonly by: string;
  readonly benchmark: WeightsViewInput['benchmark'];
  readonly market: MarketHandle;
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

export interface WeightsViewInput {
  readonly view: 'weights';
  readonly columns: string;
  readonly asOf: string | null;
  readonly risk: boolean;
  /** The stored model that risk is measured by; by default it is estimated over the run's window. */
  readonly model?: MeasuringModel | null;
  /** Estimator of that covariance, with its defaults; the sample covariance by default. */
  readonly estimator?: Estimator;
  readonly benchmark: ComparedWith | null;
  /** The served market, null when there is none. */
  readonly market: MarketHandle | null;
  /** Whether it has the content that the run was made on, by which its share counts are those of the run. */
  readonly isMarketOfRun: boolean;
}

export interface FactorAttributionInput {
  readonly view: 'factor-attribution';
  readonly columns: string;
  readonly market: MarketHandle;
  readonly model: AttributionModel;
  readonly start: string | null;
  readonly end: string | null;
}

export interface FactorRiskInput {
  readonly view: 'factor-risk';
  readonly columns: string;
  readonly asOf: string | null;
  readonly benchmark: NonNullable<WeightsViewInput['benchmark']>;
  readonly market: MarketHandle;
  readonly measure: FactorMeasure;
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
