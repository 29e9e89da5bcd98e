import { isObject, type JsonObject } from '../../words/paths.js';

/** Maximum number of inputs for which a list of values has space. */
const SHOWN_MAX = 2;

/**
 * Returns for each of the first inputs of a selection a plug-in whose values are those of the input. Inputs of several
 * sessions have no single value and are omitted.
 */
export function createInputPlugins({ kind, inputs }: JsonObject) {
  if (kind !== 'selection' || !isObject(inputs)) return [];
  return Object.entries(inputs)
    .filter(([, input]) => isObject(input) && Number(input['sessions'] ?? 1) === 1)
    .slice(0, SHOWN_MAX)
    .map(([name, input]) => ({
      name,
      plugin: {
        name: `Input ${name}`,
        kind: 'datapoint',
        inputs: { [name]: input },
        source: 'function compute(inputs) {\n  return Object.values(inputs)[0];\n}\n',
      },
    }));
}
