import { expect, test } from 'vitest';
import { selectColumns } from '#kernels/algebra/columns.js';
import { KernelFault } from '#kernels/assert.js';

test('selects columns in the requested order, less a constant', () => {
  const out = new Float64Array(4).fill(9);
  selectColumns(Float64Array.of(1, 2, 3, 4, 5, 6), { width: 3, columns: Int32Array.of(2, 0), less: 1 }, out);
  expect([...out]).toEqual([2, 0, 5, 3]);
});

test.each([
  ['a panel that is none', new Float64Array(5), { width: 2, columns: Int32Array.of(0), less: 0 }, new Float64Array(2)],
  [
    'a column outside the panel',
    new Float64Array(4),
    { width: 2, columns: Int32Array.of(2), less: 0 },
    new Float64Array(2),
  ],
  [
    'a result of another shape',
    new Float64Array(4),
    { width: 2, columns: Int32Array.of(1), less: 0 },
    new Float64Array(3),
  ],
])('refuses %s', (_, x, selection, out) => {
  expect(() => selectColumns(x, selection, out)).toThrow(KernelFault);
});
