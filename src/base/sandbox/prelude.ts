/**
 * Runs before each program, in the sandbox. It removes access to clocks, random numbers and hidden state, and defines
 * the function that prepares a program: `prepare(compute, [parameters, inputs])` is `run(buffer, count)`, which leaves
 * the results at the start of the buffer.
 */
export const PRELUDE = `(() => {
  for (const name of ['eval', 'WeakRef', 'FinalizationRegistry', 'Atomics', 'SharedArrayBuffer']) delete globalThis[name];
  delete Math.random;
  const { Float64Array, TypeError, Object, NaN } = globalThis;
  const { freeze } = Object;
  const { set } = Float64Array.prototype;
  return (compute, [parameters, inputs]) => {
    if (typeof compute !== 'function') throw new TypeError('compute is no function');
    freeze(parameters);
    return (buffer, count) => {
      const given = {};
      let at = count * 8;
      for (let k = 0; k < inputs.length; k++) {
        const { name, sessions } = inputs[k];
        given[name] = new Float64Array(buffer, at, count * sessions);
        at += count * sessions * 8;
      }
      const values = compute(given, parameters, count);
      if (values === null || typeof values !== 'object' || values.length !== count)
        throw new TypeError('compute has to return a list of ' + count + ' values, one for each security');
      const results = new Float64Array(buffer, 0, count);
      if (values instanceof Float64Array) return set.call(results, values);
      for (let i = 0; i < count; i++) {
        const value = values[i];
        results[i] = typeof value === 'number' ? value : value === true ? 1 : value === false ? 0 : NaN;
      }
    };
  };
})()`;
