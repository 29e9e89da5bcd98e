import { beforeAll, describe, expect, test } from 'vitest';
import { openSandbox, createProgram, type TestSandbox } from './test-sandbox.js';

let openedSandbox: TestSandbox;
beforeAll(async () => {
  openedSandbox = await openSandbox();
});

const X = Float64Array.of(3, NaN, -2, 0.1);
const computeValues = (source: string, parameters = {}) => [
  ...openedSandbox.sandbox.compute(createProgram(source, parameters), [X], X.length),
];

describe('values', () => {
  test('are those that the program returns, and are missing where it returns none', () => {
    expect(computeValues('function compute({ x }) { return x.map((value) => 2 * value); }')).toEqual([6, NaN, -4, 0.2]);
    expect(
      computeValues('const compute = ({ x }, { least }) => Array.from(x, (v) => v >= least);', { least: 0 }),
    ).toEqual([1, 0, 0, 1]);
    expect(computeValues('function compute() { return [1, null, undefined, "3"]; }')).toEqual([1, NaN, NaN, NaN]);
  });

  test('of several sessions are adjacent for each security', () => {
    const program = {
      source:
        'function compute({ h }, p, count) { return Array.from({ length: count }, (_, i) => h[3 * i] - h[3 * i + 2]); }',
      parameters: {},
      inputs: [{ name: 'h', sessions: 3 }],
    };
    const inputs = [Float64Array.of(1, 2, 3, 10, 20, 50)];
    expect([...openedSandbox.sandbox.compute(program, inputs, 2)]).toEqual([-2, -40]);
  });

  test('are bit-identical to the operations of the host', () => {
    const source = 'function compute({ x }) { return x.map((v) => Math.sqrt(v * v + 1) / 3); }';
    expect(computeValues(source)).toEqual([...X].map((v) => Math.sqrt(v * v + 1) / 3));
  });
});

describe('calls', () => {
  test('share no state with each other', () => {
    const source =
      'let calls = 0; const seen = []; function compute({ x }) { calls += 1; seen.push(...x); return Array(x.length).fill(100 * calls + seen.length); }';
    const first = computeValues(source);
    computeValues('function compute({ x }) { globalThis.calls = 9; Array.prototype.fill = null; return x; }');
    expect(computeValues(source)).toEqual(first);
    expect(first).toEqual([104, 104, 104, 104]);
  });

  test('take the same number of steps, whatever ran before', () => {
    const source =
      'function compute({ x }) { const m = new Map(); for (const v of x) m.set(v, {}); return [...m.keys()]; }';
    const countSteps = (): number => {
      computeValues(source);
      return openedSandbox.interpreter.steps.value;
    };
    const before = countSteps();
    expect(() => computeValues('function compute() { const a = []; for (;;) a.push(new Float64Array(1e5)); }')).toThrow(
      /memory/,
    );
    expect(() => computeValues('function compute() { for (;;); }')).toThrow(/steps/);
    expect(countSteps()).toBe(before);
  });
});

describe('errors', () => {
  test('state the fault and its line', () => {
    const findFault = (source: string) => {
      try {
        computeValues(source);
        return null;
      } catch (thrown) {
        return (thrown as Error).message;
      }
    };
    expect(findFault('function compute() {\n  throw new RangeError("too low");\n}')).toBe(
      'threw RangeError: too low (line 2)',
    );
    expect(findFault('function compute() { return 3; }')).toMatch(/a list of 4 values, one for each security/);
    expect(findFault('function compute() { return [1]; }')).toMatch(/a list of 4 values/);
    expect(findFault('const other = 1;')).toMatch(/ReferenceError/);
    expect(findFault('const compute = 1;')).toMatch(/compute is no function/);
    expect(findFault('function compute( {')).toMatch(/SyntaxError/);
    expect(findFault('function compute() { for (;;); }')).toBe('took more than 2,000,000 steps');
    expect(findFault('function compute() { return compute(); }')).toMatch(/stack overflow/);
    expect(findFault('const kept = new Float64Array(2e6); kept[kept.length - 1] = 1; function compute() {}')).toMatch(
      /8 MiB/,
    );
  });
});
