import type { Finding } from '#domain/refusals/findings.js';
import type { ImportTerms, ModelFileFormat } from '#domain/risk/imported/import-terms.js';
import type { FactorModelPayload, ImportedModelPayload } from '#domain/risk/risk-model-document.js';
import type { ResponseBytes } from './files.js';
import type { StoredMatrix } from './indices.js';

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
