import { z } from 'zod';
import { UniverseSpec } from '#domain/documents/index-document.js';
import { NamedPlugins } from '#domain/documents/plugin-document.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { FUNCTIONS } from '#domain/datapoints/expressions/functions/catalogue.js';
import { AssetIdentifier, CurrencyCode, IsoDate } from '#domain/schema/shape.js';
import { Finding } from '../common.js';

const expression = z.union([
  z.string().max(LIMITS.MAX_EXPRESSION_LENGTH).meta({ description: 'Text, as `zscore(DIVIDEND_YIELD, by=SECTOR)`.' }),
  z.record(z.string(), z.unknown()).meta({ description: 'Nodes: an ExpressionNode.' }),
]);

/** Securities whose values an editor shows. */
export const VALUES_MAX = 3;

export const DatapointRequest = z
  .strictObject({
    expression: expression.meta({ description: 'The expression, as text or as nodes.' }),
    expects: z
      .enum(['number', 'condition'])
      .default('number')
      .meta({ description: 'A condition is what ExpressionFilter and the first operand of `if` take.' }),
    datapoints: z
      .record(z.string().min(1).max(64), expression)
      .optional()
      .meta({ description: 'Expressions that it names, as the member of an index document.' }),
    plugins: NamedPlugins.optional().meta({
      description: 'Plug-ins that it names, as the member of an index document.',
    }),
    universe: UniverseSpec.optional().meta({ description: 'As that of an index document; default all securities.' }),
    calendar: z.string().min(1).max(64).optional().meta({ description: 'Default: the preselected calendar.' }),
    currency: CurrencyCode.default('USD').meta({ description: 'Of amounts of money.' }),
    as_of: IsoDate.nullable().default(null).meta({ description: 'Decision date; default the latest of the store.' }),
    identifiers: z
      .array(AssetIdentifier)
      .max(VALUES_MAX)
      .default([])
      .meta({ description: 'Securities whose values are wanted; default the first that have one.' }),
  })
  .meta({ id: 'DatapointRequest' });
export type DatapointRequest = z.output<typeof DatapointRequest>;

export const DatapointEvaluation = z
  .strictObject({
    valid: z.boolean().meta({ description: 'Whether no finding is an error.' }),
    text: z.string().nullable().meta({ description: 'Canonical text; null where it cannot be read.' }),
    tree: z.record(z.string(), z.unknown()).nullable().meta({ description: 'Canonical tree: an ExpressionNode.' }),
    unit: z.string().nullable().meta({
      description: 'Unit of the values, as `money` or `number`; null where it is unknown, and of a condition.',
    }),
    as_of: IsoDate.nullable().meta({ description: 'Session of the values; null without values.' }),
    values: z
      .array(
        z.strictObject({
          identifier: z.string(),
          value: z.union([z.number(), z.string(), z.boolean()]).nullable().meta({ description: 'Null where missing.' }),
        }),
      )
      .max(VALUES_MAX)
      .meta({ description: 'Of the securities that were asked about, or of the first that have a value.' }),
    findings: z.array(Finding),
  })
  .meta({ id: 'DatapointEvaluation', description: 'What an expression means, for an editor.' });
export type DatapointEvaluation = z.output<typeof DatapointEvaluation>;

const forms = [...new Set(FUNCTIONS.map(({ form }) => form))] as [string, ...string[]];

/** One function of expressions. */
export const FunctionSpec = z
  .strictObject({
    name: z.string(),
    form: z.enum(forms).meta({
      description:
        'Of the values of one security, across securities, over trailing sessions, or of what is known at a decision.',
    }),
    signature: z.string().meta({ description: 'How it is written.' }),
    help: z.string(),
    example: z.string().meta({ description: 'A complete expression.' }),
  })
  .meta({ id: 'FunctionSpec' });
