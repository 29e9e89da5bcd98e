import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { UniverseSpec } from '#domain/documents/index-document.js';
import { NamedPlugins } from '#domain/documents/plugin-document.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { FUNCTIONS } from '#domain/datapoints/expressions/functions/catalogue.js';
import { AssetIdentifier, CurrencyCode, IsoDate } from '#domain/schema/shape.js';
import { Finding } from '../common.js';

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
  findings: z.array(Finding),
})).meta({ id: 'DatapointEvaluation', description: 'Analysis of an expression, for an editor.' });
export type DatapointEvaluation = z.output<typeof DatapointEvaluation>;

const functionForms = [...new Set(FUNCTIONS.map(({ form }) => form))] as [string, ...string[]];

/** A function that expressions may call. */
export const FunctionSpec = defineObject(() => ({
  name: z.string(),
  form: z.enum(functionForms).meta({
    description: 'Scope of the function: one security, several securities, trailing sessions, or the decision.',
  }),
  signature: z.string().meta({ description: 'Syntax.' }),
  help: z.string(),
  example: z.string().meta({ description: 'A complete expression.' }),
})).meta({ id: 'FunctionSpec' });
