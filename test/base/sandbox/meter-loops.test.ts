import { expect, test } from 'vitest';
import { meterLoops } from '#base/sandbox/meter-loops.js';
import { PrivateWebAssembly, type Variable } from '#base/sandbox/webassembly-types.js';

/**
 * (module (func (export "f") (param i32) (result i32) (local i32)
 *   loop local.get 1 i32.const 1 i32.add local.tee 1 local.get 0 i32.lt_s br_if 0 end local.get 1))
 */
const COUNT_UP = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  ...[0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f],
  ...[0x03, 0x02, 0x01, 0x00],
  ...[0x06, 0x06, 0x01, 0x7f, 0x01, 0x41, 0x2a, 0x0b],
  ...[0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00],
  ...[0x0a, 0x16, 0x01, 0x14, 0x01, 0x01, 0x7f],
  ...[0x03, 0x40, 0x20, 0x01, 0x41, 0x01, 0x6a, 0x22, 0x01, 0x20, 0x00, 0x48, 0x0d, 0x00, 0x0b, 0x20, 0x01, 0x0b],
]);

function opened() {
  const { bytes, variables } = meterLoops(COUNT_UP);
  const { exports } = new PrivateWebAssembly.Instance(new PrivateWebAssembly.Module(bytes), {});
  return { countUp: exports['f'] as (to: number) => number, steps: exports['steps'] as Variable, exports, variables };
}

test('a metered function gives the same values, and pays for its call and for each round', () => {
  const { countUp, steps } = opened();
  for (const rounds of [1, 7, 1000]) {
    steps.value = 5000;
    expect(countUp(rounds)).toBe(rounds);
    expect(5000 - steps.value).toBe(1 + rounds);
  }
});

test('a loop traps when no step is left, and one that has just enough ends', () => {
  const { countUp, steps } = opened();
  steps.value = 101;
  expect(countUp(100)).toBe(100);
  steps.value = 100;
  expect(() => countUp(100)).toThrow(/unreachable/);
});

test('the previous variables are exported', () => {
  const { exports, variables } = opened();
  expect(variables).toBe(1);
  expect((exports['variable0'] as Variable).value).toBe(42);
});
