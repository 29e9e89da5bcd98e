import type { ExportFormat } from '#domain/exports/formats.js';
import type { RebalancePackRequest } from '#domain/rebalance-pack/pack-request.js';
import type { CalledRebalance } from '#domain/schedule/index-schedule.js';
import type { IndexDocument, TreatmentSpec } from '#domain/documents/index-document.js';
import type { ConstraintRow } from '#domain/constraints/constraint-row.js';
import type { OptimisationPreviewRequest, OptimisationRequest } from '#domain/documents/optimisation-request.js';
import type { FactorModelPayload, RiskDiagnosticsPayload, RiskModelRequest } from '#domain/risk/risk-model-document.js';
import type { RiskValidationRequest } from '#domain/risk/validation/risk-validation-request.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { ModelDate } from '#domain/risk/imported/model-dates.js';
import type { MeasuringModel } from '#domain/risk/measuring-model.js';
import type { ArtifactRef } from '#store/port.js';
import type { TaskOutputs } from './files.js';
import type { SandboxProgram } from '#base/sandbox/sandbox.js';
import type { SecurityValue } from '#domain/rules/evaluate-datapoint.js';
import type { ExpressionNode } from '#domain/datapoints/expressions/tree.js';

/** A question about one definition: it and every document it reaches, by id. */
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
  /** Description of the error; null if the plug-in is valid. */
  readonly fault: string | null;
}

/** An expression that is evaluated on the terms of a definition. */
export interface DatapointQuestion extends Omit<IndexQuestion, 'models'> {
  /** YYYY-MM-DD; null for the last of the store. */
  readonly day: string | null;
  readonly expression: ExpressionNode;
  readonly expects: 'number' | 'condition';
  readonly identifiers: readonly string[];
  /** Values that are answered at most. */
  readonly most: number;
}

/** The level of a definition that is not stored. */
export interface LevelSketchQuestion extends Omit<IndexQuestion, 'models'> {
  /** Sessions that are answered at most. */
  readonly points: number;
}

export interface LevelSketch {
  /** YYYY-MM-DD, ascending. */
  readonly dates: readonly string[];
  readonly levels: readonly number[];
}

export interface EvaluatedDatapoint {
  /** Session of the values; null before the first of the store. */
  readonly asOf: string | null;
  readonly values: readonly SecurityValue[];
}

/** The weights that an optimisation of an index comes to. */
export interface OptimisationQuestion extends IndexQuestion {
  readonly request: OptimisationPreviewRequest;
}

/** Trades that bring accounts to an index. */
export interface RebalancePackQuestion extends IndexQuestion {
  /** Of the index document; null where it has none. */
  readonly version: number | null;
  /** Rebalances that breaches called for in its run. */
  readonly called: readonly CalledRebalance[];
  readonly request: RebalancePackRequest;
  /** JSON is the whole pack, a table its orders. */
  readonly format: ExportFormat;
}

export interface WhatIfQuestion {
  readonly market: MarketHandle;
  readonly before: Omit<IndexQuestion, 'market'>;
  readonly after: Omit<IndexQuestion, 'market'>;
  readonly asOf: string | null;
  /** Warnings about the changed document, passed through. */
  readonly findings: readonly Finding[];
}

export interface OptimiseInput {
  readonly market: MarketHandle;
  readonly runId: string;
  /** The index and every document it reaches. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles;
  readonly constraints: readonly ConstraintRow[];
  /** As in the body of `POST /optimise/runs`, defaults filled in. Dates are YYYY-MM-DD. */
  readonly request: OptimisationRequest;
  /** The stored model that the request names, as its result tells it; null without one. */
  readonly measuredBy: MeasuringModel | null;
  readonly outputs: TaskOutputs<'result'>;
}

export interface EstimateRiskModelInput {
  readonly market: MarketHandle;
  readonly universe: RiskUniverse;
  readonly request: RiskModelRequest;
  readonly outputs: TaskOutputs<'covariance' | 'factors'>;
}

/** Whose returns are estimated, and on whose sessions. */
export type RiskUniverse =
  /** Names on the days on which one of them has a bar, in the currencies of their prices. */
  | { readonly kind: 'names'; readonly identifiers: readonly string[] }
  /** Names that a stored run held last, on the sessions and in the currency of its index. */
  | {
      readonly kind: 'run';
      readonly columns: string;
      readonly calendar: string;
      readonly currency: string;
      readonly treatment: TreatmentSpec;
    };

export interface ValidateRiskModelInput {
  readonly market: MarketHandle;
  readonly modelId: string;
  /** Names of the model. */
  readonly identifiers: readonly string[];
  /** On whose sessions and in whose currency; null on the days on which one of the names has a bar. */
  readonly terms: { readonly calendar: string; readonly currency: string; readonly treatment: TreatmentSpec } | null;
  readonly settings: RiskModelRequest;
  readonly request: RiskValidationRequest;
  /** A run whose held weights are a portfolio. */
  readonly run: { readonly indexId: string; readonly columns: string } | null;
  readonly outputs: TaskOutputs<'view'>;
}

export interface RiskModelOutput {
  /** Upper triangle, float64 little endian, row by row. */
  readonly covariance: ArtifactRef;
  /** A factor model as numbers; null of an estimator without factors. */
  readonly factors: ArtifactRef | null;
  readonly assetIds: readonly string[];
  readonly diagnostics: RiskDiagnosticsPayload;
  readonly factorModel: FactorModelPayload | null;
  readonly excluded: Readonly<Record<string, string>>;
  readonly observedStart: string;
  readonly observedEnd: string;
  readonly contentHash: string;
  readonly precision: 'float64' | 'float32';
}

/** A stored risk model in a file: its names in the order of its matrix, and the last day of its returns. */
export interface ModelFile {
  readonly path: string;
  readonly names: readonly string[];
  readonly observedEnd: string;
  /** Dates of an imported model, whose matrices follow each other in the file; absent of an estimated one. */
  readonly dates?: readonly ModelDate[];
  /** The factor model that the matrix is made of, for a task that measures by it; absent otherwise. */
  readonly factors?: FactorFile;
}

/** A packed factor model in a file, with the names of its factors. */
export interface FactorFile {
  readonly path: string;
  readonly names: readonly string[];
}

/** The stored risk models that documents use, by id; absent where none does. */
export type ModelFiles = Readonly<Record<string, ModelFile>>;

/** A packed matrix that lies in a file. */
export interface StoredMatrix {
  readonly path: string;
  readonly order: number;
  /** Numbers before it in the file; 0 where it is alone. */
  readonly at?: number;
}
