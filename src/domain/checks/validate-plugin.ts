import { checkTree } from '../datapoints/expressions/check.js';
import { readExpression } from '../datapoints/expressions/read-text.js';
import { listIndices } from '../datapoints/expressions/reads.js';
import type { ExpressionNode } from '../datapoints/expressions/tree.js';
import { checkParameter } from '../documents/plugin-code.js';
import type { PluginDocument } from '../documents/plugin-document.js';
import type { Finding } from '../refusals/findings.js';

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

/** Returns a plug-in with defaults. */
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
