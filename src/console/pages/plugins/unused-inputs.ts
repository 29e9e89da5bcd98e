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
