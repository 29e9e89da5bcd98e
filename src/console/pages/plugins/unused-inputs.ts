/** Comments of a source, in which names are not used. */
const COMMENTS = /\/\*[^]*?\*\/|\/\/.*/g;
/** Matches the first parameter of `compute`, which is a pattern or a name, and the rest of the source. */
const COMPUTE = /\bfunction\s+compute\s*\(\s*(\{[^}]*\}|\w*)([^]*)/;

/**
 * Returns the inputs that the source of a plug-in does not use. If the source may read all inputs, for example by
 * `Object.values(inputs)`, none is returned.
 */
export function listUnusedInputs(source: string, inputs: readonly string[]): readonly string[] {
  const [, parameter, body = ''] = COMPUTE.exec(source.replaceAll(COMMENTS, ' ')) ?? [];
  if (parameter === undefined || parameter.includes('...')) return [];
  const isPattern = parameter.startsWith('{');
  // A name may be read as a member, such as inputs.close or inputs['close'].
  const whole = new RegExp(`\\b${parameter}\\b(?!\\s*(\\?\\.|\\.\\s*\\w|\\[\\s*['"]))`);
  if (!isPattern && parameter !== '' && whole.test(body)) return [];
  // A draft may have names that are not valid.
  return inputs.filter((name) => {
    if (!/^\w+$/.test(name)) return false;
    const isRenamed = isPattern && new RegExp(`\\b${name}\\s*:`).test(parameter);
    return !isRenamed && !new RegExp(`\\b${name}\\b`).test(body);
  });
}
