import { expect, test } from 'vitest';
import { listUnusedInputs } from '#console/pages/plugins/inputs.js';

test.each([
  ['function compute({ close }, { factor }) { return close.map((v) => v * factor); }', ['mean']],
  ['function compute({ close, mean }) { return close; }', ['mean']],
  ['function compute({ close, mean: average }) { return close.map((v, k) => v / average[k]); }', []],
  ['// mean\nfunction compute(inputs) { return inputs.close; }', ['mean']],
  ["function compute(inputs) { return inputs['mean']; }", ['close']],
  ['function compute(inputs) { return Object.values(inputs)[0]; }', []],
  ['function compute({ close, ...others }) { return read(close, others); }', []],
  ['function compute() { return [1]; }', ['close', 'mean']],
  ['const compute = ', []],
] as const)('the inputs that %j does not use are %j', (source, unused) => {
  expect(listUnusedInputs(source, ['close', 'mean'])).toEqual(unused);
});
