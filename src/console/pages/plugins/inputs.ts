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

/** Comments of a source, in which names are not used. */
const COMMENTS = /\/\*[^]*?\*\/|\/\/.*/g;
/** Matches the first parameter of `compute`, which is a pattern or a name, and the rest of the source. */
const COMPUTE = /\bfunction\s+compute\s*\(\s*(\{[^}]*\}|\w*)([^]*)/;
/** Matches each name, and the member that is read from it, such as inputs.close or inputs['close']. */
const NAMES = /\b(\w+)\b(?=(\s*(?:\?\.|\.\s*\w|\[\s*['"])|))/g;
/** Matches the names of a pattern that get another name. */
const RENAMED = /\b(\w+)\s*:/g;

/**
 * Returns the inputs that the source of a plug-in does not use. If the source may read all inputs, for example by
 * `Object.values(inputs)`, none is returned.
 */
export function listUnusedInputs(source: string, inputs: readonly string[]): readonly string[] {
  const [, parameter, body = ''] = COMPUTE.exec(source.replaceAll(COMMENTS, ' ')) ?? [];
  if (parameter === undefined || parameter.includes('...')) return [];
  const isPattern = parameter.startsWith('{');
  const found = [...body.matchAll(NAMES)];
  if (!isPattern && found.some(([, name, member]) => name === parameter && member === '')) return [];
  const renamed = isPattern ? [...parameter.matchAll(RENAMED)].map(([, name]) => name) : [];
  const used = new Set([...renamed, ...found.map(([, name]) => name)]);
  // A draft may have names that are not valid.
  return inputs.filter((name) => /^\w+$/.test(name) && !used.has(name));
}
