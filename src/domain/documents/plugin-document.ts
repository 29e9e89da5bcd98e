import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import type { SandboxProgram } from '#base/sandbox/sandbox.js';
import { LAG_SESSIONS_MAX } from '../datapoints/field-request.js';
import { NumberExpression } from '../datapoints/expressions/expression.js';
import type { Definitions } from '../datapoints/expressions/reads.js';
import { PLUGIN_FUNCTION, type ExpressionNode } from '../datapoints/expressions/tree.js';
import { LIMITS } from '../refusals/limits.js';
import { Id } from '../schema/shape.js';

export const PLUGIN_KINDS = ['datapoint', 'selection', 'weighting'] as const;
export type PluginKind = (typeof PLUGIN_KINDS)[number];

/** Name of a member. A JavaScript program receives a value under this name. */
export const PluginMember = z.string().regex(/^[a-z][A-Za-z0-9_]{0,63}$/, {
  error: 'must be a lower-case letter followed by up to 63 letters, digits and underscores, such as close',
});

export const PluginValue = z.union([z.number(), z.string().max(200), z.boolean()]);

const sessionsSchema = z.int().min(1).max(LAG_SESSIONS_MAX);

/** Input of a plug-in in a computed document. */
const BoundInput = defineObject(() => ({
  name: z.string(),
  expression: NumberExpression.meta({ description: 'Expression that computes the values.' }),
  sessions: sessionsSchema.meta({
    description: 'Number of trailing sessions. Each session has one value for each security.',
  }),
}));

/** Code of a stored plug-in in a computed document. */
const PluginCode = defineObject(() => ({
  kind: z.enum(PLUGIN_KINDS),
  sha256: z.string().meta({ description: 'SHA-256 of the stored plug-in.' }),
  inputs: z
    .array(BoundInput)
    .max(LIMITS.MAX_PLUGIN_INPUTS)
    .meta({ description: 'Inputs, in the order of the program.' }),
  parameters: z
    .record(z.string(), PluginValue)
    .meta({ description: 'Parameters, with defaults for omitted parameters.' }),
  source: z.string().max(LIMITS.MAX_PLUGIN_SOURCE),
}));
export type PluginCode = z.infer<typeof PluginCode>;

/** Use of a plug-in in a document; the rules refer to it by its key. */
export const PluginUse = defineObject(() => ({
  plugin: Id.meta({ description: 'Id of the stored plug-in. Its version when the index is computed is used.' }),
  parameters: z
    .record(PluginMember, PluginValue)
    .default({})
    .meta({ description: 'Values of parameters. Omitted parameters have their defaults.' }),
  code: PluginCode.optional().meta({
    description: 'Plug-in with which a run was computed; only in the documents of runs. Ignored in requests.',
  }),
}));
export type PluginUse = z.infer<typeof PluginUse>;

/** Plug-ins by the names of the datapoints that they provide in the document. */
export const NamedPlugins = z
  .record(z.string().min(1).max(64), PluginUse)
  .refine((named) => Object.keys(named).length <= LIMITS.MAX_PLUGINS, {
    error: `has more than ${LIMITS.MAX_PLUGINS} names`,
  });
export type NamedPlugins = z.infer<typeof NamedPlugins>;

/** Input of a plug-in: an expression that is read on trailing sessions. */
export const PluginInput = defineObject(() => ({
  expression: z
    .string()
    .min(1)
    .max(LIMITS.MAX_EXPRESSION_LENGTH)
    .meta({ description: 'Numeric expression, such as `max(CLOSE, window=252)`.' }),
  sessions: sessionsSchema.meta({
    description: 'Number of trailing sessions up to the decision date. Each session has one value of the expression.',
  }),
}));

/** Parameter of a plug-in. */
export const PluginParameter = defineObject(() => ({
  default: PluginValue,
  minimum: z.number().nullable(),
  maximum: z.number().nullable(),
  help: z.string().max(500).nullable(),
}));

/** Stored plug-in; its id is the key of the document. */
export const PluginDocument = defineObject(() => ({
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable(),
  kind: z.enum(PLUGIN_KINDS).meta({
    description:
      'Kind of the plug-in. `datapoint`: the values are numbers. `selection`: 0 or false excludes a security. `weighting`: the values are raw weights.',
  }),
  inputs: z.record(PluginMember, PluginInput).meta({ description: 'Columns that the plug-in reads, by name.' }),
  parameters: z.record(PluginMember, PluginParameter),
  source: z.string().min(1).max(LIMITS.MAX_PLUGIN_SOURCE).meta({
    description:
      'JavaScript that defines `compute(inputs, parameters, count)`. It returns a list of `count` values, one for each security. The functions of `rows` compute on whole windows, faster than loops.',
  }),
}));
export type PluginDocument = z.infer<typeof PluginDocument>;

/**
 * Returns plug-ins as expressions of their inputs. If the code of a plug-in is absent, its expression has no inputs.
 */
export function listPluginDefinitions(plugins: NamedPlugins): Definitions {
  return new Map(Object.entries(plugins).map(([name, use]): [string, ExpressionNode] => [name, createPluginCall(use)]));
}

function createPluginCall({ plugin: id, code }: PluginUse): ExpressionNode {
  const inputs = code?.inputs ?? [];
  const operands = inputs.map(({ expression, sessions: window }): ExpressionNode =>
    window === 1 ? expression : { node: 'function', name: PLUGIN_FUNCTION, operands: [expression], window },
  );
  return {
    node: 'function',
    name: PLUGIN_FUNCTION,
    operands,
    plugin: { id, program: code === undefined ? null : createProgram(code) },
  };
}

/** Returns the program of a plug-in, without the expressions of its inputs. */
export function createProgram({ source, parameters, inputs }: PluginCode): SandboxProgram {
  return { source, parameters, inputs: inputs.map(({ name, sessions: count }) => ({ name, sessions: count })) };
}
