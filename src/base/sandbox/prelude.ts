/**
 * Script that runs in the sandbox before each program. It removes access to clocks, random numbers and hidden state.
 * Its value is a function that receives the native functions, defines them as members of `rows`, and returns `prepare`.
 * Calling `prepare(compute, [parameters, inputs])` returns the function `run`. Calling `run(buffer, count)` leaves the
 * results at the start of the buffer.
 */
export const PRELUDE = `(() => {
  for (const name of ['eval', 'WeakRef', 'FinalizationRegistry', 'Atomics', 'SharedArrayBuffer']) delete globalThis[name];
  delete Math.random;
  const { ArrayBuffer, Float64Array, Object, Reflect, TypeError, NaN } = globalThis;
  const { freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { set } = Float64Array.prototype;
  const bound = (method) => Function.prototype.call.bind(method);
  const list = getPrototypeOf(Float64Array.prototype);
  const [kindOf, bufferOf, bytesOf] = [Symbol.toStringTag, 'buffer', 'byteLength'].map((name) =>
    bound(getOwnPropertyDescriptor(list, name).get),
  );
  const allOf = bound(getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get);
  const copyOf = bound(Float64Array.prototype.slice);
  const { apply } = Reflect;
  const prepare = (compute, [parameters, inputs]) => {
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
  const listOf = (value) => {
    if (kindOf(value) !== 'Float64Array') return new Float64Array(typeof value === 'number' ? [value] : value);
    return bytesOf(value) === allOf(bufferOf(value)) ? value : copyOf(value);
  };
  return (functions, native) => {
    const call = ({ name, lists }, position) => (...given) => {
      const passed = [position];
      for (let k = 0; k < given.length || k < lists; k++) {
        if (k < lists && (given[k] === undefined || given[k] === null))
          throw new TypeError('rows.' + name + ': a list is missing');
        passed[k + 1] = k < lists ? bufferOf(listOf(given[k])) : +given[k];
      }
      const result = apply(native, undefined, passed);
      if (typeof result === 'string') throw new TypeError(result);
      return new Float64Array(result);
    };
    globalThis.rows = {};
    functions.forEach((given, position) => (globalThis.rows[given.name] = call(given, position)));
    freeze(globalThis.rows);
    return prepare;
  };
})()`;
