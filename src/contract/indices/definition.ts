import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { FunctionSpec } from './datapoints.js';
import { IndexDocument, PipelineSpec } from '#domain/documents/index-document.js';
import { RuleSpec } from '#domain/documents/pipeline-rows.js';
import { WeightingSpec } from '#domain/documents/weighting-spec.js';
import { SELECTION_CLASSES, WEIGHTING_CLASSES } from '#domain/rules/catalogue.js';
import { Finding, ParameterSpec, skippedFields, TypeSpec } from '../common.js';

export const SavedIndex = defineObject(() => ({
  index: IndexDocument,
  findings: z.array(Finding).meta({ description: 'Warnings that did not prevent the save.' }),
})).meta({ id: 'SavedIndex' });
export type SavedIndex = z.infer<typeof SavedIndex>;

export const IndexSummary = defineObject(() => ({
  id: z.string(),
  name: z.string(),
  kind: z
    .enum(['rule', 'derived', 'overlay'])
    .meta({ description: 'Type of the definition: rules, an optimisation, or other indices.' }),
  source_index_id: z
    .string()
    .nullable()
    .meta({ description: 'Parent of a derived index, or underlying index of an overlay; null for a blend.' }),
  calendar: z.string(),
  currency: z.string(),
  base_date: z.string(),
  store_id: z.string().nullable().meta({
    description: 'Data store of the index: its own, or that of an index to which it refers; null for the active store.',
  }),
  has_run: z.boolean().meta({ description: 'True if a backtest record is stored.' }),
  run_at: z.string().nullable().meta({ description: 'Time of the backtest record.' }),
  tags: z.array(z.string()).meta({ description: 'Labels of the document.' }),
  problems: z.array(Finding).meta({
    description: 'Documents that the definition names and that are not stored any more, such as a part of a blend.',
  }),
})).meta({ id: 'IndexSummary' });

export const IndexCollection = defineObject(() => ({ indices: z.array(IndexSummary), ...skippedFields })).meta({
  id: 'IndexCollection',
});
export type IndexCollection = z.infer<typeof IndexCollection>;

export const DeletedIndex = defineObject(() => ({
  index_id: z.string().meta({ description: 'Deleted index.' }),
  backtest_record_deleted: z.boolean(),
  backtest_results_deleted: z.int().min(0).meta({ description: 'Number of deleted job records and stored results.' }),
  derived_from: z
    .string()
    .nullable()
    .meta({ description: 'Parent of a derived index; null for the index of the request.' }),
})).meta({ id: 'DeletedIndex' });

export const IndexDeletion = defineObject(() => ({
  deleted: z.array(DeletedIndex).meta({
    description:
      'Index of the request, followed by the indices that depend on it, depth first in the order of their ids.',
  }),
})).meta({ id: 'IndexDeletion' });
export type IndexDeletion = z.infer<typeof IndexDeletion>;

const defineFields = (description: string) => z.array(ParameterSpec).meta({ description });

export const RuleTypes = defineObject(() => ({
  selection: z.array(TypeSpec),
  weighting: z.array(TypeSpec),
  functions: z.array(FunctionSpec).meta({ description: 'Functions of expressions.' }),
  fields: z
    .strictObject({
      index: defineFields('Fields of the document itself.'),
      universe: defineFields('Of `universe`.'),
      rebalance: defineFields('Of `rebalance`.'),
      reviews: defineFields('Fields of the list `reviews` of the document.'),
      treatment: defineFields('Of `pipeline.treatment`.'),
      weighting: defineFields('Fields of `pipeline.weighting` in addition to the parameters of its class.'),
      derivation: defineFields('Fields of `derivation` in addition to its objective and constraint rows.'),
      events: defineFields('Fields of `events`, the changes between reviews.'),
    })
    .meta({ id: 'DefinitionFields', description: 'Fields of a definition that do not belong to a class.' }),
})).meta({ id: 'RuleTypes' });
export type RuleTypes = z.infer<typeof RuleTypes>;

export const OverlayTypes = defineObject(() => ({
  overlays: z
    .array(
      z
        .strictObject({
          type: z.string(),
          label: z.string(),
          help: z.string(),
          formula: z
            .string()
            .meta({ description: 'Level of session t from the previous level. g is the growth of the index.' }),
          reference: z.string().meta({ description: 'Publication that contains the formula.' }),
          parameters: z.array(ParameterSpec),
          example: z.record(z.string(), z.unknown()),
        })
        .meta({ id: 'OverlayTypeSpec' }),
    )
    .meta({ description: 'Parameters in the order of a form.' }),
})).meta({ id: 'OverlayTypes' });
export type OverlayTypes = z.infer<typeof OverlayTypes>;

/** Returns the row schema of a rule class for the documentation. The service validates rules with its own messages. */
const defineRule = ({ type, help, params }: (typeof SELECTION_CLASSES)[number]) =>
  RuleSpec.extend({
    type: z.literal(type),
    params: params.meta({ id: `${type}Params`, description: help }).prefault({}),
  }).meta({ id: `${type}Rule` });

const defineWeighting = ({ type, help, params }: (typeof WEIGHTING_CLASSES)[number]) =>
  WeightingSpec.extend({
    type: z.literal(type),
    params: params.meta({ id: `${type}Params`, description: help }).prefault({}),
  }).meta({ id: `${type}Weighting` });

const PipelineBody = defineObject(() => {
  const [firstRule, ...otherRules] = SELECTION_CLASSES.map(defineRule);
  const [firstWeighting, ...otherWeightings] = WEIGHTING_CLASSES.map(defineWeighting);
  return {
    ...PipelineSpec.shape,
    selection: z
      .array(z.discriminatedUnion('type', [firstRule!, ...otherRules]))
      .max(64)
      .default([]),
    weighting: z.discriminatedUnion('type', [firstWeighting!, ...otherWeightings]),
  };
}).meta({ id: 'PipelineBody' });

export const IndexDocumentBody = defineObject(() => ({
  ...IndexDocument.shape,
  pipeline: PipelineBody.nullable().default(null),
})).meta({
  id: 'IndexDocumentBody',
  description: 'An IndexDocument with the parameters of every rule and weighting class.',
});

export const example = {
  id: 'LARGE-100',
  name: 'Large hundred',
  calendar: 'XNYS',
  base_date: '2019-01-02',
  currency: 'USD',
  rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
  pipeline: {
    selection: [
      { id: 'liquid', type: 'LiquidityFilter', params: { minimum: 5_000_000 } },
      { id: 'size', type: 'BufferedTopN', params: { field: 'FREE_FLOAT_MARKET_CAP', count: 100 } },
    ],
    treatment: { dividends: 'total' },
    weighting: { type: 'MarketCapWeight', params: { free_float: true }, cap: 0.1 },
  },
};
