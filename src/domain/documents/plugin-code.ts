import { NumberExpression } from '../datapoints/expressions/expression.js';
import { readExpression } from '../datapoints/expressions/read-text.js';
import type { Finding } from '../refusals/findings.js';
import type { PluginCode, PluginDocument, PluginUse } from './plugin-document.js';

type Terms = PluginDocument['parameters'][string];
type Value = Terms['default'];

/** Why a parameter cannot have a value; undefined where it can. */
export function parameterProblem(value: Value, { default: fallback, minimum, maximum }: Terms): string | undefined {
  if (typeof value !== typeof fallback) return `is a ${typeof value}; a ${typeof fallback} is needed`;
  if (typeof value !== 'number') return undefined;
  if (minimum !== null && value < minimum) return `is ${value}; at least ${minimum} is needed`;
  return maximum !== null && value > maximum ? `is ${value}; at most ${maximum} is accepted` : undefined;
}

/** Errors in the parameters that a document gives to a plug-in. @param path of the use */
export function givenFindings({ parameters: given }: PluginUse, stored: PluginDocument, path: string): Finding[] {
  return Object.entries(given).flatMap(([name, value]): Finding[] => {
    const at = `${path}.parameters.${name}`;
    const terms = Object.hasOwn(stored.parameters, name) ? stored.parameters[name] : undefined;
    if (terms === undefined) {
      const accepted = Object.keys(stored.parameters);
      const message = `${at} is no parameter of the plug-in; the accepted set is ${accepted.join(', ') || 'empty'}.`;
      return [{ severity: 'error', code: 'UNKNOWN_PARAMETER', path: at, message, accepted, value }];
    }
    const problem = parameterProblem(value, terms);
    return problem === undefined
      ? []
      : [{ severity: 'error', code: 'OUT_OF_RANGE', path: at, message: `${at} ${problem}.`, value }];
  });
}

/** A stored plug-in as a document that is computed carries it. @param given values of its parameters */
export function pluginCode(stored: PluginDocument, given: PluginUse['parameters'], sha256: string): PluginCode {
  return {
    kind: stored.kind,
    sha256,
    inputs: Object.entries(stored.inputs).map(([name, { expression, sessions }]) => ({
      name,
      // It was read when it was stored; with its defaults it is as plans are stored.
      expression: NumberExpression.parse(readExpression(expression, 'number').tree),
      sessions,
    })),
    parameters: {
      ...Object.fromEntries(Object.entries(stored.parameters).map(([name, terms]) => [name, terms.default])),
      ...given,
    },
    source: stored.source,
  };
}
