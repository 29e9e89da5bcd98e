import { expect, test } from 'vitest';
import { meterLoops, PrivateWebAssembly, type WasmGlobal } from '#base/sandbox/webassembly.js';

/**
 * (module (global (mut i32) (i32.const 42)) (func (export "f") (param i32) (result i32) (local i32)
 *   loop local.get 1 i32.const 1 i32.add local.tee 1 local.get 0 i32.lt_s br_if 0 end local.get 1))
 */
const COUNT_UP = Uint8Array.from(
  Buffer.from(
    [
      '0061736d01000000',
      '01060160017f017f',
      '03020100',
      '0606017f01412a0b',
      '07050101660000',
      '0a17011501017f',
      '0340200141016a22012000480d000b20010b',
    ].join(''),
    'hex',
  ),
);

function openMetered() {
  const { bytes, variables } = meterLoops(COUNT_UP);
  const { exports } = new PrivateWebAssembly.Instance(new PrivateWebAssembly.Module(bytes), {});
  return { countUp: exports['f'] as (to: number) => number, steps: exports['steps'] as WasmGlobal, exports, variables };
}

test('a metered function returns the same values, and counts steps for its call and for each iteration', () => {
  const { countUp, steps } = openMetered();
  for (const rounds of [1, 7, 1000]) {
    steps.value = 5000;
    expect(countUp(rounds)).toBe(rounds);
    expect(5000 - steps.value).toBe(1 + rounds);
  }
});

test('a loop stops at the step limit, and a loop with exactly as many steps ends', () => {
  const { countUp, steps } = openMetered();
  steps.value = 101;
  expect(countUp(100)).toBe(100);
  steps.value = 100;
  expect(() => countUp(100)).toThrow(/unreachable/);
});

test('the previous variables are exported', () => {
  const { exports, variables } = openMetered();
  expect(variables).toBe(1);
  expect((exports['variable0'] as WasmGlobal).value).toBe(42);
});

/**
 * (module (memory 16) (global (mut i32) (i32.const 42))
 *   (func (export "f") (param i32) i32.const 0 i32.const 7 local.get 0 memory.fill))
 */
const FILL = Uint8Array.from(
  Buffer.from(
    [
      '0061736d01000000',
      '01050160017f00',
      '03020100',
      '0503010010',
      '0606017f01412a0b',
      '07050101660000',
      '0a0d010b00410041072000fc0b000b',
    ].join(''),
    'hex',
  ),
);

test('an instruction that fills memory costs a step per 64 bytes, and stops at the step limit before it begins', () => {
  const { bytes } = meterLoops(FILL);
  const { exports } = new PrivateWebAssembly.Instance(new PrivateWebAssembly.Module(bytes), {});
  const [fill, steps] = [exports['f'] as (count: number) => void, exports['steps'] as WasmGlobal];
  for (const count of [0, 63, 64, 1_000_000]) {
    steps.value = 50_000;
    fill(count);
    expect(50_000 - steps.value).toBe(1 + Math.floor(count / 64));
  }
  steps.value = 15_000;
  expect(() => fill(1_000_000)).toThrow(/unreachable/);
});
