import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { AsKnownOn } from '#domain/schema/as-known-on.js';
import { LIMIT_RULE_NAMES } from '#domain/compliance/rules.js';
import { EXPOSURE_REASONS } from '#domain/overlays/overlay-type.js';
import { IsoDate } from '#domain/schema/shape.js';
import { Finding, SeriesPayload } from '../common.js';
import { ExceededLimit } from '../exceeded-limit.js';
import { WeightFigures } from '../weight-figures.js';
import { definitionRun } from '../run-state.js';
import { IndexDocumentBody } from './definition.js';
import { Replacement } from './replacement.js';

export const PreviewRequest = defineObject(() => ({
  as_of: IsoDate.nullable().default(null).meta({
    description: 'Decision date. Default: the base date of the index; for a derived index, the first rebalance.',
  }),
  as_known_on: AsKnownOn,
  run_id: definitionRun,
})).meta({ id: 'PreviewRequest' });

export const PreviewDocumentRequest = defineObject(() => ({
  document: IndexDocumentBody,
  as_of: IsoDate.nullable().default(null).meta({
    description: 'Decision date. Default: the base date of the document; for a derived index, the first rebalance.',
  }),
  as_known_on: AsKnownOn,
})).meta({ id: 'PreviewDocumentRequest' });

export const LevelSketchRequest = defineObject(() => ({ document: IndexDocumentBody })).meta({
  id: 'LevelSketchRequest',
});

export const LevelSketch = defineObject(() => ({
  level: SeriesPayload.meta({
    description:
      'Levels of some sessions of the last three years of the served store, beginning with the base value. Rules that use the previous composition, such as buffers, start with no constituents.',
  }),
  volatility: SeriesPayload.meta({
    description:
      'Annualised volatility of the level over the 60 sessions up to each session, as a fraction; null before 60 returns.',
  }),
  exposure: SeriesPayload.nullable().meta({
    description: 'Fraction in the underlying index after each close; null for an index without a target exposure.',
  }),
})).meta({ id: 'LevelSketch' });
export type LevelSketch = z.infer<typeof LevelSketch>;

export const PreviewStep = defineObject(() => ({
  position: z.int().min(0).meta({ description: 'Position of the step. 0 is the universe, and rules follow in order.' }),
  remaining: z.int().min(0).meta({ description: 'Number of securities that remain after the step.' }),
  excluded: z.array(z.string()).meta({ description: 'Securities that this step removed; empty for the universe.' }),
  rule_id: z.string().nullable(),
  rule_type: z.string().nullable(),
})).meta({ id: 'PreviewStep' });

export const PreviewAsset = defineObject(() => ({
  identifier: z.string(),
  included: z.boolean().meta({ description: 'True if the security is in the index.' }),
  weight: z.number().nullable().meta({ description: 'Final weight; null if the security is not held.' }),
  excluded_by: z.string().nullable().meta({
    description:
      'Id of the first rule that excluded the security. Null for a selected security without a weight, and for a derived index.',
  }),
  excluded_at: z.int().nullable().meta({
    description:
      'Position of the step that excluded the security. For a selected security without a weight, the number of steps.',
  }),
  uncapped_weight: z
    .number()
    .nullable()
    .meta({ description: 'Weight before capping; null if the cap does not limit the weight.' }),
  capped: z.boolean(),
  source_weight: z.number().nullable().meta({ description: 'Weight in the parent; derived indices only.' }),
  solved_weight: z
    .number()
    .nullable()
    .meta({ description: 'Solved weight, which equals `weight`; derived indices only.' }),
  weight_delta: z.number().nullable().meta({ description: 'Solved weight less source weight; derived indices only.' }),
})).meta({ id: 'PreviewAsset' });

export const PreviewConstraint = defineObject(() => ({
  label: z.string(),
  kind: z.enum(['eq', 'ineq']),
  binding: z.boolean().meta({ description: 'True if the bound is binding.' }),
  slack: z.number().min(0).meta({ description: 'Distance to the bound in `unit`.' }),
  unit: z.enum(['fraction', 'count', 'value']),
  relaxed_by: z.number().nullable().meta({
    description:
      'Change of the bound if the constraint was relaxed according to its priority; null if the constraint is satisfied as defined.',
  }),
})).meta({ id: 'PreviewConstraint' });

export const PreviewSolve = defineObject(() => ({
  source_index_id: z.string(),
  objective: z.string(),
  rebalance_date: z.string().meta({ description: 'Latest rebalance of the parent on or before as_of.' }),
  before: WeightFigures.meta({ description: 'Figures of the index weights.' }),
  after: WeightFigures.meta({ description: 'Figures of the solved weights.' }),
  binding: z.array(z.string()).meta({ description: 'Labels of binding constraints.' }),
  constraints: z.array(PreviewConstraint).meta({
    description:
      'Every constraint, binding or not. A row with one bound per security or group has an entry for each binding one; if none is binding, for the tightest.',
  }),
  exceeded: z.array(ExceededLimit).meta({ description: 'Soft bounds that the solved weights violate.' }),
})).meta({ id: 'PreviewSolve' });

type ExposureReason = keyof typeof EXPOSURE_REASONS; // Object.keys returns plain strings.

export const PreviewOverlay = defineObject(() => ({
  type: z.string().meta({ description: 'Type of the overlay.' }),
  index_ids: z.array(z.string()).meta({ description: 'Underlying indices.' }),
  exposure: z
    .strictObject({
      exposure: z.number().meta({ description: 'Exposure after the close of resolved_date.' }),
      target: z.number().meta({ description: 'Target exposure.' }),
      before: z
        .number()
        .nullable()
        .meta({ description: 'Exposure after the previous close; null on the first session.' }),
      volatility: z.number().nullable().meta({
        description: 'Annual volatility from which the target was computed; null before the first return.',
      }),
      reason: z.enum(Object.keys(EXPOSURE_REASONS) as [ExposureReason, ...ExposureReason[]]).meta({
        description: Object.entries(EXPOSURE_REASONS)
          .map(([reason, help]) => `${reason}: ${help}`)
          .join('; '),
      }),
    })
    .optional()
    .meta({ description: 'Derivation of the exposure of a risk control; absent for other types.' }),
})).meta({ id: 'PreviewOverlay' });

export const PreviewLimits = defineObject(() => ({
  rule: z.enum(LIMIT_RULE_NAMES).meta({ description: 'Published rule of concentration.' }),
  headroom: z.number().meta({
    description:
      'Distance of the decided weights from the nearest bound. Negative beyond the bound; this does not trigger a rebalance.',
  }),
})).meta({ id: 'PreviewLimits' });

export const PreviewResponse = defineObject(() => ({
  index_version: z.int().min(1).nullable().meta({
    description: 'Version of the stored index; null for a document of the request.',
  }),
  index_id: z.string(),
  as_of: z.string().meta({ description: 'Date as requested.' }),
  resolved_date: z.string().nullable().meta({
    description: 'Latest session with data on or before as_of; null before the first market date of the store.',
  }),
  assets: z.array(PreviewAsset).meta({
    description: 'Securities: first the included securities by weight, then the excluded securities by step.',
  }),
  weights: z.record(z.string(), z.number()).meta({ description: 'Final weights by identifier.' }),
  total_weight: z.number(),
  cap: z.number().nullable().meta({ description: 'Applied cap; always null for a derived index.' }),
  cap_redistributed: z.number(),
  steps: z
    .array(PreviewStep)
    .nullable()
    .meta({ description: 'Steps of the selection; null for a derived index and an overlay.' }),
  solve: PreviewSolve.nullable().meta({
    description: 'Optimisation; null for a rule-based index and an overlay.',
  }),
  overlay: PreviewOverlay.optional().meta({
    description:
      'State of an overlay. Assets and weights are then its holdings after the close of resolved_date, through all underlying indices. `steps` has these holdings as its universe.',
  }),
  limits: PreviewLimits.optional().meta({
    description: 'Rule that triggers rebalances of the index on a breach.',
  }),
  replacements: z.array(Replacement).optional().meta({
    description:
      'Changes of constituents between reviews (`events`) that were decided on resolved_date. Assets and weights are the result of the rules.',
  }),
  findings: z.array(Finding).meta({ description: 'Warnings, for example about selected securities without a weight.' }),
})).meta({ id: 'PreviewResponse' });
/** A computed preview; the response adds the version. */
export type PreviewResponse = Omit<z.infer<typeof PreviewResponse>, 'index_version'>;
