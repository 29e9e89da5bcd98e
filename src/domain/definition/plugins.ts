import { z } from 'zod';
import type { SandboxProgram } from '#base/sandbox/sandbox.js';
import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { defineObject, Id } from '../base/schema.js';
import {
  checkTree,
  type Definitions,
  listIndices,
  NumberExpression,
  readExpression,
} from '../datapoints/expression-checks.js';
import { type ExpressionNode, PLUGIN_FUNCTION } from '../datapoints/expression-tree.js';
import { LAG_SESSIONS_MAX } from '../datapoints/fields.js';

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
type PluginCode = z.infer<typeof PluginCode>;

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

export function createProgram({ source, parameters, inputs }: PluginCode): SandboxProgram {
  return { source, parameters, inputs: inputs.map(({ name, sessions: count }) => ({ name, sessions: count })) };
}

type Terms = PluginDocument['parameters'][string];
type Value = Terms['default'];

/** Returns the reason why a parameter cannot have a value. Returns undefined if the value is valid. */
function checkParameter(value: Value, { default: fallback, minimum, maximum }: Terms): string | undefined {
  if (typeof value !== typeof fallback) return `is a ${typeof value}; it must be a ${typeof fallback}`;
  if (typeof value !== 'number') return undefined;
  if (minimum !== null && value < minimum) return `is ${value}; it must be at least ${minimum}`;
  return maximum !== null && value > maximum ? `is ${value}; it must be at most ${maximum}` : undefined;
}

/** Reports errors in the parameters that a document passes to a plug-in. @param path path of the use of the plug-in */
export function checkGivenParameters({ parameters }: PluginUse, stored: PluginDocument, path: string): Finding[] {
  return Object.entries(parameters).flatMap(([name, value]): Finding[] => {
    const parameterPath = `${path}.parameters.${name}`;
    const terms = Object.hasOwn(stored.parameters, name) ? stored.parameters[name] : undefined;
    if (terms === undefined) {
      const acceptedNames = Object.keys(stored.parameters);
      const message = `${parameterPath} is not a parameter of the plug-in; the accepted set is ${acceptedNames.join(', ') || 'empty'}.`;
      return [
        { severity: 'error', code: 'UNKNOWN_PARAMETER', path: parameterPath, message, accepted: acceptedNames, value },
      ];
    }
    const problem = checkParameter(value, terms);
    return problem === undefined
      ? []
      : [
          {
            severity: 'error',
            code: 'OUT_OF_RANGE',
            path: parameterPath,
            message: `${parameterPath} ${problem}.`,
            value,
          },
        ];
  });
}

/** Returns the form of a stored plug-in in a computed document. @param overrides values of its parameters */
export function resolvePluginCode(
  stored: PluginDocument,
  overrides: PluginUse['parameters'],
  sha256: string,
): PluginCode {
  return {
    kind: stored.kind,
    sha256,
    inputs: Object.entries(stored.inputs).map(([name, { expression, sessions }]) => ({
      name,
      // The text was parsed before it was stored. Parsing it again adds the defaults that plans contain.
      expression: NumberExpression.parse(readExpression(expression, 'number').tree),
      sessions,
    })),
    parameters: {
      ...Object.fromEntries(Object.entries(stored.parameters).map(([name, terms]) => [name, terms.default])),
      ...overrides,
    },
    source: stored.source,
  };
}

type Inputs = PluginDocument['inputs'];
type Parameters = PluginDocument['parameters'];

/** Plug-in as sent by a client: inputs and parameters may have a short form. */
export interface PluginDraft extends Omit<PluginDocument, 'inputs' | 'parameters'> {
  readonly inputs: Readonly<Record<string, string | Inputs[string]>>;
  readonly parameters: Readonly<Record<string, Parameters[string]['default'] | Parameters[string]>>;
}

/** Returns the errors in the inputs and parameters of a plug-in; the source is checked in the sandbox. */
export const checkPlugin = (plugin: PluginDocument): readonly Finding[] => [
  ...reportInputs(plugin),
  ...reportParameters(plugin),
];

/** Returns a finding about an error in the source. @param fault message of the sandbox */
export const createSourceFinding = (fault: string): Finding => ({
  severity: 'error',
  code: 'PLUGIN_FAULT',
  path: 'source',
  message: `The source ${fault}.`,
});

export function addPluginDefaults({ inputs, parameters, ...rest }: PluginDraft): PluginDocument {
  return {
    ...rest,
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([name, input]) => [
        name,
        typeof input === 'string' ? { expression: input, sessions: 1 } : input,
      ]),
    ),
    parameters: Object.fromEntries(
      Object.entries(parameters).map(([name, terms]) => [
        name,
        typeof terms === 'object' ? terms : { default: terms, minimum: null, maximum: null, help: null },
      ]),
    ),
  };
}

function reportInputs({ inputs }: PluginDocument): Finding[] {
  return Object.entries(inputs).flatMap(([name, { expression, sessions }]): Finding[] => {
    const path = `inputs.${name}.expression`;
    const { tree, problems } = readExpression(expression, 'number');
    if (tree === undefined || problems.length > 0)
      return problems.map((problem) => ({ severity: 'error', path, ...problem }));
    const [asked] = listIndices(tree, new Map());
    if (asked !== undefined) {
      const message = `${path} refers to the index ${asked}, but a plug-in can read only columns of the store.`;
      return [{ severity: 'error', code: 'NOT_IN_CHOICES', path, message, value: asked }];
    }
    if (sessions === 1) return [];
    const window: ExpressionNode = { node: 'function', name: 'mean', operands: [tree], window: sessions };
    return checkTree(window, 'number').problems.map(({ code, message }) => ({
      severity: 'error',
      code,
      path,
      message: `${path} ${message}.`,
    }));
  });
}

function reportParameters({ parameters }: PluginDocument): Finding[] {
  return Object.entries(parameters).flatMap(([name, terms]): Finding[] => {
    const path = `parameters.${name}.default`;
    const problem = checkParameter(terms.default, terms);
    if (problem === undefined) return [];
    return [{ severity: 'error', code: 'OUT_OF_RANGE', path, message: `${path} ${problem}.`, value: terms.default }];
  });
}
