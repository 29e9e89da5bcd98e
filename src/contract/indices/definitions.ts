import { z } from 'zod';
import { LIMITS } from '#domain/base/limits.js';
import { AssetIdentifier, CurrencyCode, defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { FUNCTIONS } from '#domain/datapoints/functions.js';
import { IndexDocument, PipelineSpec, RuleSpec, UniverseSpec } from '#domain/definition/index-document.js';
import { NEED_KINDS } from '#domain/definition/index-validation.js';
import { TEMPLATE_KINDS, TemplateId, TemplateSource } from '#domain/definition/methodology-templates.js';
import { METHODOLOGY_SECTIONS } from '#domain/definition/methodology.js';
import { NamedPlugins } from '#domain/definition/plugins.js';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { WeightingSpec } from '#domain/definition/weighting.js';
import { FindingPayload, ParameterSpecPayload, SeriesPayload, skippedFields, TypeSpecPayload } from '../payloads.js';

const expression = z.union([
  z
    .string()
    .max(LIMITS.MAX_EXPRESSION_LENGTH)
    .meta({ description: 'Expression as text, for example `zscore(DIVIDEND_YIELD, by=SECTOR)`.' }),
  z.record(z.string(), z.unknown()).meta({ description: 'Expression as nodes: an ExpressionNode.' }),
]);

/** Maximum number of securities with values in an evaluation. */
export const VALUES_MAX = 3;

export const DatapointRequest = defineObject(() => ({
  expression: expression.meta({ description: 'Expression, as text or as nodes.' }),
  expects: z
    .enum(['number', 'condition'])
    .default('number')
    .meta({ description: 'ExpressionFilter, and the first operand of `if`, accept a condition.' }),
  datapoints: z
    .record(z.string().min(1).max(64), expression)
    .optional()
    .meta({ description: 'Expressions to which the expression refers, as in an index document.' }),
  plugins: NamedPlugins.optional().meta({
    description: 'Plug-ins to which the expression refers, as in an index document.',
  }),
  universe: UniverseSpec.optional().meta({
    description: 'Universe, as in an index document. Default: all securities.',
  }),
  calendar: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'Exchange calendar. Default: the preselected calendar.' }),
  currency: CurrencyCode.default('USD').meta({ description: 'Currency of amounts of money.' }),
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Decision date. Default: the latest date of the store.' }),
  identifiers: z
    .array(AssetIdentifier)
    .max(VALUES_MAX)
    .default([])
    .meta({ description: 'Securities whose values are returned. Default: the first securities with a value.' }),
})).meta({ id: 'DatapointRequest' });
export type DatapointRequest = z.output<typeof DatapointRequest>;

export const DatapointEvaluation = defineObject(() => ({
  valid: z.boolean().meta({ description: 'True if no finding is an error.' }),
  text: z.string().nullable().meta({ description: 'Canonical text; null if the expression cannot be parsed.' }),
  tree: z.record(z.string(), z.unknown()).nullable().meta({ description: 'Canonical tree: an ExpressionNode.' }),
  unit: z.string().nullable().meta({
    description: 'Unit of the values, such as `money` or `number`; null for an unknown unit and for a condition.',
  }),
  as_of: IsoDate.nullable().meta({ description: 'Session of the values; null without values.' }),
  values: z
    .array(
      z.strictObject({
        identifier: z.string(),
        value: z
          .union([z.number(), z.string(), z.boolean()])
          .nullable()
          .meta({ description: 'Value; null if it is missing.' }),
      }),
    )
    .max(VALUES_MAX)
    .meta({ description: 'Values of the requested securities, or of the first securities with a value.' }),
  findings: z.array(FindingPayload),
})).meta({ id: 'DatapointEvaluation', description: 'Analysis of an expression, for an editor.' });
export type DatapointEvaluation = z.output<typeof DatapointEvaluation>;

const functionForms = [...new Set(FUNCTIONS.map(({ form }) => form))] as [string, ...string[]];

/** A function that expressions may call. */
const FunctionSpec = defineObject(() => ({
  name: z.string(),
  form: z.enum(functionForms).meta({
    description: 'Scope of the function: one security, several securities, trailing sessions, or the decision.',
  }),
  signature: z.string().meta({ description: 'Syntax.' }),
  help: z.string(),
  example: z.string().meta({ description: 'A complete expression.' }),
})).meta({ id: 'FunctionSpec' });

export const SavedIndex = defineObject(() => ({
  index: IndexDocument,
  findings: z.array(FindingPayload).meta({ description: 'Warnings that did not prevent the save.' }),
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
  problems: z.array(FindingPayload).meta({
    description: 'Documents that the definition names and that are not stored any more, such as a part of a blend.',
  }),
})).meta({ id: 'IndexSummary' });

export const IndexCollection = defineObject(() => ({ indices: z.array(IndexSummary), ...skippedFields })).meta({
  id: 'IndexCollection',
});
export type IndexCollection = z.infer<typeof IndexCollection>;

const DeletedIndex = defineObject(() => ({
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

const defineFields = (description: string) => z.array(ParameterSpecPayload).meta({ description });

export const RuleTypes = defineObject(() => ({
  selection: z.array(TypeSpecPayload),
  weighting: z.array(TypeSpecPayload),
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
          parameters: z.array(ParameterSpecPayload),
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

export const Methodology = defineObject(() => ({
  index_id: z.string(),
  name: z.string(),
  sentences: z
    .array(
      z.strictObject({
        number: z.int().min(1),
        section: z
          .enum(METHODOLOGY_SECTIONS)
          .meta({ description: 'Part of the methodology to which the sentence belongs.' }),
        text: z.string(),
      }),
    )
    .meta({ description: 'Sentences in the order of application.' }),
})).meta({ id: 'Methodology' });
export type Methodology = z.infer<typeof Methodology>;

const TemplateNeed = defineObject(() => ({
  kind: z.enum(NEED_KINDS),
  name: z.string(),
  meaning: z.string().meta({ description: 'Content of the field.' }),
  missing: z.boolean().meta({ description: 'True if the served store lacks the field. False if no store is served.' }),
})).meta({ id: 'TemplateNeed' });

const summary = {
  id: TemplateId,
  title: z.string(),
  kind: z.enum(TEMPLATE_KINDS).meta({
    description:
      '`size`: weights by market capitalisation. `factor`: selection or weights by other figures of companies. `other_weighting`: equal, price or risk weights. `optimised`: derived by an optimisation. `overlay`: computed from other indices.',
  }),
  style: z.string().meta({ description: 'Published index with a similar methodology.' }),
  source: TemplateSource,
  needs: z
    .array(TemplateNeed)
    .meta({ description: 'Columns, series and universes that the template requires in addition to closes.' }),
  can_run: z.boolean().nullable().meta({
    description:
      'True if the served store contains all required data, including exchange rates, and the rules select securities on the base date; null if no store is served.',
  }),
  problem: z.string().nullable().meta({
    description:
      'Reason why the rules select no securities on any base date that was tried; null if they select some, and if data is missing.',
  }),
  missing_rates: z
    .array(z.string())
    .meta({ description: 'Exchange rates that the template requires and the served store lacks, such as EURUSD.' }),
  target_count: z.int().nullable().meta({
    description: 'Number of securities that the last selection rule of the template keeps; null if it has no count.',
  }),
  index_ids: z
    .array(z.string())
    .meta({ description: 'Ids of the documents of the template, in the order in which they must be stored.' }),
};

const TemplateSummary = z.strictObject(summary).meta({ id: 'MethodologyTemplateSummary' });

export const TemplateCollection = defineObject(() => ({ templates: z.array(TemplateSummary) })).meta({
  id: 'MethodologyTemplateCollection',
});
export type TemplateCollection = z.infer<typeof TemplateCollection>;

export const TemplateDetail = defineObject(() => ({
  ...summary,
  choices: z.array(z.string()).meta({
    description: 'Choices of the template where the public document is not specific, and deviations from the document.',
  }),
  documents: z.array(z.record(z.string(), z.unknown())).meta({
    description:
      'Bodies in the form that PUT accepts, underlying indices first. If the served store lacks exchange rates into the currency of the template, they have the currency and the calendar of the store.',
  }),
  findings: z.array(FindingPayload).meta({
    description:
      'Other data that the served store lacks, such as exchange rates, or the reason why the rules have no composition on the base date.',
  }),
})).meta({ id: 'MethodologyTemplateDetail' });
export type TemplateDetail = z.infer<typeof TemplateDetail>;

export const TemplateLevel = defineObject(() => ({
  index_id: z
    .string()
    .meta({ description: 'Id of the document whose level is returned, which is the last document of the template.' }),
  level: SeriesPayload.nullable().meta({
    description: 'Levels of some sessions of the last three years of the served store; null if there is a problem.',
  }),
  problem: z
    .string()
    .nullable()
    .meta({ description: 'Reason why the rules of the template select no securities of the served store.' }),
  constituents: z.int().nullable().meta({
    description:
      'Number of constituents of the last composition; null if there is a problem, and for an index that is computed from other indices.',
  }),
})).meta({ id: 'MethodologyTemplateLevel' });
export type TemplateLevel = z.infer<typeof TemplateLevel>;

export const templatePath = defineObject(() => ({ methodology_id: TemplateId.meta({ example: 'low-volatility' }) }));

export const templateQuery = defineObject(() => ({
  index_id: Id.optional().meta({
    description: 'Id of the index, and prefix of the ids of its other documents. Default: the ids of the template.',
  }),
  base_date: IsoDate.optional().meta({
    description:
      'Base date of every document. Default: the first date, at least one year after the start of the served store, on which the rules have their data; without a store the base date of the template.',
  }),
}));
