import { NumberExpression } from '../datapoints/expressions/expression.js';
import { readExpression } from '../datapoints/expressions/read-text.js';
import type { Finding } from '../refusals/findings.js';
import type { PluginCode, PluginDocument, PluginUse } from './plugin-document.js';

type Terms = PluginDocument['parameters'][string];
type Value = Terms['default'];

/** Returns the reason why a parameter cannot have a value. Returns undefined if the value is valid. */
export function checkParameter(value: Value, { default: fallback, minimum, maximum }: Terms): string | undefined {
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
