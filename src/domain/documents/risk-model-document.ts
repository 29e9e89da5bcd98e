import { z } from 'zod';
import { SHRINKAGE_TARGETS } from '#kernels/moments/shrinkage-target.js';
import { AssetIdentifier, Id, IsoDate } from '../shape.js';

const INTENSITY_METHODS = ['shape', 'ledoit_wolf'] as const;

/** Request of an estimate; stored with the model, so that it can be repeated. */
export const RiskModelRequest = z
  .strictObject({
    identifiers: z.array(AssetIdentifier).default([]).meta({
      description: 'Names to estimate over, duplicates counting once; empty uses the index named by index_id.',
    }),
    index_id: Id.nullable()
      .default(null)
      .meta({ description: "Take the names that this index's latest run held last." }),
    start: IsoDate.nullable()
      .default(null)
      .meta({ description: 'First day of the window; the whole stored history by default.' }),
    end: IsoDate.nullable().default(null).meta({ description: 'Last day of the window.' }),
    intensity: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .default(null)
      .meta({ description: 'Weight on the target; 0 gives the sample covariance, null lets intensity_method decide.' }),
    target: z
      .enum(SHRINKAGE_TARGETS)
      .default('constant_correlation')
      .meta({ description: 'What the sample covariance is shrunk towards.' }),
    repair: z.boolean().default(false).meta({
      description: 'Clip negative eigenvalues if the result is not positive semi-definite; the diagonal is kept.',
    }),
    intensity_method: z.enum(INTENSITY_METHODS).default('shape').meta({
      description:
        'shape: names / (names + observations). ledoit_wolf: the analytic intensity of the data. Ignored when intensity is given.',
    }),
    half_life: z
      .number()
      .gt(0)
      .max(1e6)
      .nullable()
      .default(null)
      .meta({ description: 'Sessions after which the weight of an observation halves; equal weights by default.' }),
    returns: z.enum(['total', 'price']).default('total').meta({ description: 'Whether dividends count.' }),
  })
  .meta({ id: 'RiskModelRequest' });
export type RiskModelRequest = z.infer<typeof RiskModelRequest>;

export const RiskDiagnosticsPayload = z
  .strictObject({
    assets: z.int(),
    observations: z.int().meta({ description: 'Sessions used after dropping incomplete ones.' }),
    average_correlation: z.number().meta({ description: 'Mean off-diagonal correlation of the served matrix.' }),
    condition_number: z
      .number()
      .meta({ description: 'Largest over smallest eigenvalue; 1e300 when singular to working precision.' }),
    intensity: z.number().meta({ description: 'Weight on the target; 0 is the sample covariance.' }),
    positive_semi_definite: z.boolean(),
    repaired: z.boolean(),
    smallest_eigenvalue: z.number(),
    target: z.enum(SHRINKAGE_TARGETS),
  })
  .meta({ id: 'RiskDiagnosticsPayload' });
export type RiskDiagnosticsPayload = z.infer<typeof RiskDiagnosticsPayload>;

/** A stored risk model: all but its matrix, which lies beside it as the float64 upper triangle, row by row. */
export const RiskModelDocument = z.strictObject({
  model_id: z.string(),
  /** Names estimated, ascending, [N]. */
  asset_ids: z.array(z.string()),
  diagnostics: RiskDiagnosticsPayload,
  request: RiskModelRequest,
  /** Names left out, with the reason. */
  excluded: z.record(z.string(), z.string()),
  /** First and last date of the returns used. */
  observed_start: z.string(),
  observed_end: z.string(),
  content_hash: z.string(),
  precision: z.enum(['float64', 'float32']),
  store_content_hash: z.string(),
  covariance: z.strictObject({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }),
});
export type RiskModelDocument = z.infer<typeof RiskModelDocument>;
