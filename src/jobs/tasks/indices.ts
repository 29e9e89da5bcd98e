import type { SandboxProgram } from '#base/sandbox/sandbox.js';
import type { StudyFigures } from '#contract/studies.js';
import type { Finding } from '#domain/base/findings.js';
import type { RecordedClosures } from '#domain/calendars/calendar.js';
import type { ExpressionNode } from '#domain/datapoints/expression-tree.js';
import type { SecurityValue } from '#domain/decide/preview.js';
import type { ConstraintRow } from '#domain/definition/constraint-class.js';
import type { IndexDocument, TreatmentSpec } from '#domain/definition/index-document.js';
import type { TriggeredRebalance } from '#domain/definition/index-schedule.js';
import type { OptimisationPreviewRequest, OptimisationRequest } from '#domain/definition/optimisation-requests.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import type { ExportFormat } from '#domain/outputs/exports.js';
import type { ModelDate } from '#domain/risk/model-tables.js';
import type { ImportTerms, ModelFileFormat } from '#domain/risk/model-terms.js';
import type {
  FactorModelPayload,
  ImportedModelPayload,
  MatrixFiles,
  RiskMeasureModel,
  RiskModelRequest,
  RiskValidationRequest,
  StoredDiagnostics,
} from '#domain/risk/risk-models.js';
import type { RebalancePackRequest } from '#domain/studies/rebalance-pack.js';
import type { ArtifactRef } from '#store/port.js';
import type { ResponseBytes, TaskOutputs } from './messages.js';

/**
 * Question about one definition. Contains every document that the definition refers to, directly or indirectly, by id.
 */
export interface IndexQuestion {
  readonly market: MarketHandle;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles;
  readonly indexId: string;
}

export interface PluginQuestion {
  readonly program: SandboxProgram;
}

export interface CheckedPlugin {
  /** Description of the error in a plug-in. It is null if the plug-in is valid. */
  readonly fault: string | null;
}

/** Expression to evaluate with the settings of a definition. */
export interface DatapointQuestion extends Omit<IndexQuestion, 'models'> {
  /** YYYY-MM-DD; null for the last day of the store. */
  readonly day: string | null;
  readonly expression: ExpressionNode;
  readonly expects: 'number' | 'condition';
  readonly identifiers: readonly string[];
  readonly most: number;
}

/** Request for the level of a definition that is not stored. */
export interface LevelSketchQuestion extends IndexQuestion {
  /** Maximum number of returned sessions. */
  readonly points: number;
  /** YYYY-MM-DD, last day of the level. Default: the end of the market. */
  readonly until?: string;
}

export interface LevelSketch {
  /** YYYY-MM-DD, ascending. */
  readonly dates: readonly string[];
  readonly levels: readonly number[];
  /** Annualised volatility over the sessions up to each date; null before enough returns. */
  readonly volatilities: readonly (number | null)[];
  /** Fraction in the underlying index after each close. It is null if the index has no target exposure. */
  readonly exposures: readonly number[] | null;
  /** Number of constituents of the last composition; null for an index that is computed from other indices. */
  readonly constituents: number | null;
}

export interface EvaluatedDatapoint {
  /** Session of the values; null before the first session of the store. */
  readonly asOf: string | null;
  /** Number of securities of the universe on the session. */
  readonly securities: number;
  readonly values: readonly SecurityValue[];
}

/** Request for the weights of an optimisation of an index. */
export interface OptimisationQuestion extends IndexQuestion {
  readonly request: OptimisationPreviewRequest;
}

/** Request for the trades that align accounts with an index. */
export interface RebalancePackQuestion extends IndexQuestion {
  /** Version of the index document; null if it is not stored. */
  readonly version: number | null;
  /** Dates of the rebalances that breaches triggered in the index's run. */
  readonly called: readonly TriggeredRebalance[];
  readonly request: RebalancePackRequest;
  /** Format of the result: JSON contains the whole pack, a table only its orders. */
  readonly format: ExportFormat;
}

export interface WhatIfInput {
  readonly market: MarketHandle;
  readonly before: Omit<IndexQuestion, 'market'>;
  readonly after: Omit<IndexQuestion, 'market'>;
  readonly asOf: string | null;
  /** Warnings about the changed document, returned unchanged with the result. */
  readonly findings: readonly Finding[];
}

export interface OptimiseInput {
  readonly market: MarketHandle;
  readonly runId: string;
  /** The index and all documents that it refers to, directly or indirectly, by id. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles;
  readonly constraints: readonly ConstraintRow[];
  /** Request in the form of the body of `POST /optimise/runs`, with defaults. Dates are YYYY-MM-DD. */
  readonly request: OptimisationRequest;
  /** Stored model that the request names, with its result. It is null if the request names no model. */
  readonly measuredBy: RiskMeasureModel | null;
  readonly outputs: TaskOutputs<'result'>;
}

/** Result of an optimisation, and its main figures. */
export interface OptimiseOutput {
  readonly result: ArtifactRef;
  readonly message: string;
  readonly figures: StudyFigures;
}

/** Source of a risk estimate: its settings, and its market. */
export interface RiskModelSource {
  readonly market: MarketHandle;
  readonly universe: RiskUniverse;
  readonly request: RiskModelRequest;
}

export interface EstimateRiskModelInput extends RiskModelSource {
  readonly outputs: TaskOutputs<'covariance' | 'factors'>;
}

export interface RiskModelPartsInput extends RiskModelSource {
  readonly parts: readonly number[];
  readonly outputs: TaskOutputs<ModelPartFile>;
}

/** Name of a file: the figures of all parts of a task, or the matrix rows of one part. */
export type ModelPartFile = 'figures' | `rows ${number}`;

export interface RiskModelPartsOutput {
  readonly figures: ArtifactRef;
  /** Matrix rows of each part that computes rows, in the order of the parts. */
  readonly rows: readonly ArtifactRef[];
}

/** Figures of some parts as float64, one part after another. */
export interface ModelFiguresFile {
  readonly path: string;
  readonly sha256: string;
  readonly parts: readonly number[];
}

export interface SumRiskModelInput extends RiskModelSource {
  /** Files of the matrix that the parts wrote. */
  readonly covariance: MatrixFiles;
  readonly files: readonly ModelFiguresFile[];
  readonly outputs: TaskOutputs<'factors'>;
}

/** Securities whose returns are estimated, and their sessions. */
export type RiskUniverse =
  /**
   * Securities without an index. The days are those on which at least one of them has a bar; prices keep their
   * currencies.
   */
  | { readonly kind: 'names'; readonly identifiers: readonly string[] }
  /** Securities in the last holdings of a stored run, on the sessions and in the currency of its index. */
  | {
      readonly kind: 'run';
      readonly columns: string;
      readonly calendar: string;
      readonly closures?: RecordedClosures | undefined;
      readonly currency: string;
      readonly treatment: TreatmentSpec;
    };

export interface ValidateRiskModelInput {
  readonly market: MarketHandle;
  readonly modelId: string;
  /** Securities of the model. */
  readonly identifiers: readonly string[];
  /** Sessions and currency of the returns. Null selects the days on which at least one of the securities has a bar. */
  readonly terms: {
    readonly calendar: string;
    readonly closures?: RecordedClosures | undefined;
    readonly currency: string;
    readonly treatment: TreatmentSpec;
  } | null;
  readonly settings: RiskModelRequest;
  readonly request: RiskValidationRequest;
  /** Run whose weights are tested as a portfolio. */
  readonly run: { readonly indexId: string; readonly columns: string } | null;
  readonly outputs: TaskOutputs<'view'>;
}

export interface RiskModelOutput {
  /** Upper triangle of the covariance matrix, float64 little endian, row by row. */
  readonly covariance: MatrixFiles;
  /** Factor model as numbers; null for an estimator without factors. */
  readonly factors: ArtifactRef | null;
  readonly assetIds: readonly string[];
  readonly diagnostics: StoredDiagnostics;
  readonly factorModel: FactorModelPayload | null;
  readonly excluded: Readonly<Record<string, string>>;
  readonly observedStart: string;
  readonly observedEnd: string;
  readonly contentHash: string;
  readonly precision: 'float64' | 'float32';
}

/** Stored risk model in files. Contains its securities in the order of its matrix, and the last day of its returns. */
export interface ModelFile {
  /** Files of the numbers, to be read one after another. */
  readonly paths: readonly string[];
  readonly names: readonly string[];
  readonly observedEnd: string;
  /** Dates of an imported model, whose matrices follow each other in the files. Absent for an estimated model. */
  readonly dates?: readonly ModelDate[];
  /** Factor model of the matrix, for a task that computes factor risk; absent for other tasks. */
  readonly factors?: FactorFile;
}

/** Packed factor model in a file, with the names of its factors. */
export interface FactorFile {
  readonly path: string;
  readonly names: readonly string[];
}

/** Stored risk models that documents use, by id; absent if documents use none. */
export type ModelFiles = Readonly<Record<string, ModelFile>>;

/** Packed matrix in files. */
export interface StoredMatrix {
  /** Files of the numbers, to be read one after another. */
  readonly paths: readonly string[];
  readonly order: number;
  /** Offset of the matrix, as a count of numbers; 0 for the first matrix. */
  readonly at?: number;
}

/** External model as received. */
export interface ImportRiskModelInput {
  readonly source:
    | { readonly kind: 'json'; readonly bytes: Uint8Array }
    | {
        readonly kind: 'file';
        readonly format: ModelFileFormat;
        readonly bytes: Uint8Array;
        readonly terms: ImportTerms;
        /** Date of a file without a date column. */
        readonly date: string | null;
      };
}

export interface ImportedModelOutput {
  /** Securities of all dates, ascending. */
  readonly assetIds: readonly string[];
  readonly terms: ImportTerms;
  /** Dates of the model, ascending. */
  readonly dates: readonly ImportedModelPayload['dates'][number][];
  /** Packed matrices by date. */
  readonly covariance: ResponseBytes;
  /** Packed factor models by date. They are null for covariances without factors. */
  readonly factors: ResponseBytes | null;
  readonly factorModel: FactorModelPayload | null;
  /** Diagnostics of the model at its newest date. */
  readonly newest: {
    readonly averageCorrelation: number;
    readonly conditionNumber: number;
    readonly smallestEigenvalue: number;
  };
}

export interface ImportRiskModelOutput {
  readonly findings: readonly Finding[];
  /** Imported model; null if a finding is an error. */
  readonly model: ImportedModelOutput | null;
}

/** Model of one date in the format of an import. */
export interface ExportRiskModelInput extends StoredMatrix {
  readonly date: string;
  readonly names: readonly string[];
  /** Factors of the model; null for covariances without factors. */
  readonly factors: { readonly path: string; readonly at: number; readonly names: readonly string[] } | null;
}
