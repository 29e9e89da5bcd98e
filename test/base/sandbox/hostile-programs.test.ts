import { beforeAll, expect, test } from 'vitest';
import { SandboxError } from '#base/sandbox/sandbox.js';
import { LIMITS } from '#domain/base/limits.js';
import { IS_SOAK } from '../../soak.js';
import { openSandbox, createProgram, type TestSandbox } from './test-sandbox.js';

/** Statements that use up time, memory or stack, damage shared state, or try to escape. */
const ATTACKS = [
  'for (;;);',
  'while (true) Math.sin(1);',
  'do { x[0] += 1; } while (1);',
  '(function f() { f(); })();',
  'const f = () => g(), g = () => f(); f();',
  'new Array(1e9).fill(1);',
  'const a = []; a.length = 2 ** 32 - 1; a.indexOf(1);',
  'const a = []; a.length = 2 ** 32 - 1; a.sort();',
  'const a = []; a.length = 2 ** 32 - 1; [a].flat();',
  'Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 0);',
  'Array.prototype.reverse.call({ length: 2 ** 53 - 1 });',
  'Array.from({ length: 2 ** 32 });',
  'let s = "x"; for (;;) s += s;',
  '"x".repeat(2 ** 30);',
  '("a".repeat(3e6)).indexOf("a".repeat(1.5e6) + "b");',
  '"ab".repeat(1e5).split("").reverse().join("-").split("-").map(String);',
  '"a".padEnd(2 ** 29, "bc").localeCompare("d");',
  '2n ** 10000000n;',
  'let b = 3n; for (;;) b *= b;',
  'const m = new Map(); for (let i = 0; ; i++) m.set(i, {});',
  'const a = []; for (;;) a.push(new Float64Array(1e5));',
  'const l = {}; let at = l; for (;;) at = at.next = {};',
  'new Function("for (;;);")();',
  'Function.prototype.constructor("return this")().x.y;',
  'let e = "1"; for (let i = 0; i < 1e4; i++) e = "(" + e + ")"; (0, Function)("return " + e)();',
  '/(a+)+b/.test("a".repeat(40));',
  'new RegExp("(a+)+b");',
  'JSON.parse("[".repeat(1e5));',
  'eval("for (;;);");',
  'Math.random();',
  'new Date();',
  'Date.now();',
  'process.exit();',
  'require("node:fs");',
  'globalThis.process.env;',
  'fetch("http://localhost");',
  'this.constructor.constructor("return process")().exit();',
  'compute.constructor("return process")();',
  'Object.prototype.toString = () => { for (;;); }; throw {};',
  'Object.prototype.length = 4;',
  'Object.defineProperty(Object.prototype, "value", { get() { throw 1; } });',
  'Float64Array.prototype.set = null; Array.prototype[Symbol.iterator] = null;',
  'Float64Array = null; TypeError = null; Object = null;',
  'throw { get message() { for (;;); } };',
  'throw new Error("x".repeat(1e6));',
  'throw undefined;',
  'throw Symbol("s");',
  'return { length: 4, get 0() { for (;;); } };',
  'return { get length() { return Math.sqrt(16); }, 0: 1 };',
  'return new Uint8Array(4);',
  'x.buffer.transfer(); return x;',
  'x.buffer.resize?.(0); return x;',
  'return new Float64Array(x.buffer);',
  'parameters.a = 1;',
  'inputs.x = null; delete inputs.x; return x;',
  'for (const key in globalThis) delete globalThis[key]; return x;',
  'Reflect.ownKeys(globalThis).forEach((key) => { try { globalThis[key] = null; } catch {} }); return x;',
  'new ArrayBuffer(2 ** 31);',
  'const a = new Float64Array(1e6); for (let i = 0; ; i++) a.sort();',
  'const a = new Float64Array(5e4); for (;;) a.slice();',
  'const a = new Float64Array(5e4); for (;;) a.copyWithin(1, 0);',
  'const a = new Float64Array(5e4), b = new Float64Array(5e4); for (;;) a.set(b);',
  'const a = new Uint8Array(1e6); for (;;) a.fill(1);',
  'const a = new ArrayBuffer(1e6); for (;;) a.slice(0);',
  'const s = "x".repeat(1e6); for (;;) s.slice(1);',
  'const s = "x".repeat(1e6); for (;;) s + "y";',
  'const a = Array.from({ length: 1e4 }); for (;;) a.slice();',
  'const a = Array.from({ length: 1e4 }); for (;;) [...a, ...a];',
  'Object.freeze(x.buffer); return x;',
  'for (;;) rows.mean(x);',
  'rows.repeat(x, 1e9);',
  'const a = []; for (;;) a.push(rows.repeat(x, 1e3));',
  'rows.mean(x, { valueOf() { for (;;); } });',
  'rows.mean({ length: 2 ** 40 }); rows.add(x, new Float64Array(new ArrayBuffer(8), 8));',
  'x.buffer.transfer?.(); return rows.subtract(x, x.subarray(1, 2));',
  'let stolen; Object.defineProperty(Array.prototype, 1, { set(v) { stolen = v; } }); rows.mean(x); return new Float64Array(stolen);',
  'Float64Array.prototype.slice = Reflect.apply = null; ArrayBuffer = null; rows.dot(x.subarray(1), x.subarray(1)); rows.mean = null;',
];

/** Program templates that place an attack in the called function, before it, or in a function that it calls. */
const PLACES = [
  (attack: string) => `function compute(inputs, parameters, count) { const { x } = inputs; ${attack} return x; }`,
  (attack: string) =>
    `(function (inputs, parameters) { const { x } = inputs; ${attack} })({ x: new Float64Array(4) }, {}); const compute = ({ x }) => x;`,
  (attack: string) =>
    `const attack = (inputs, parameters) => { const { x } = inputs; ${attack} }; function compute(inputs, parameters) { return Array.from(inputs.x, () => Number(attack(inputs, parameters))); }`,
  (attack: string) =>
    `class List { get length() { (({ x }, parameters) => { ${attack} })({ x: new Float64Array(4) }, {}); return 4; } } function compute() { return new List(); }`,
  (attack: string) =>
    `function compute({ x }, parameters) { try { (function (inputs) { ${attack} })({ x }); } catch (error) { (() => { ${attack} })(); } finally { ${attack} } return x; }`,
];

/** Number of calls of each program with different parameters. Outside the soak it is one. */
const TIMES = IS_SOAK ? 4 : 1;
const X = Float64Array.of(1, 2, 3, 4);
const HONEST_PROGRAM = createProgram('function compute({ x }) { return x.map((value) => value * value); }');

let openedSandbox: TestSandbox;
beforeAll(async () => {
  openedSandbox = await openSandbox(100_000, 4);
});

test('hostile programs end within their step limit and read and change nothing outside', () => {
  const { sandbox, interpreter } = openedSandbox;
  const host = Object.getOwnPropertyNames(globalThis).length;
  sandbox.compute(HONEST_PROGRAM, [X], 4);
  const steps = interpreter.steps.value;
  let programs = 0;
  for (const place of PLACES)
    for (const attack of ATTACKS)
      for (let time = 0; time < TIMES; time++) {
        const program = createProgram(place(attack), { time });
        programs += 1;
        let values: Float64Array | undefined;
        try {
          values = sandbox.compute(program, [X], 4);
        } catch (thrown) {
          expect(thrown, attack).toBeInstanceOf(SandboxError);
        }
        if (values !== undefined) expect(values, attack).toHaveLength(4);
      }
  expect(programs).toBeGreaterThanOrEqual(IS_SOAK ? 1000 : 250);
  expect([...sandbox.compute(HONEST_PROGRAM, [X], 4)]).toEqual([1, 4, 9, 16]);
  expect(interpreter.steps.value).toBe(steps);
  expect(Object.getOwnPropertyNames(globalThis)).toHaveLength(host);
});

test.each([
  'const a = new Float64Array(1e6); for (;;) a.slice();',
  'const a = new Float64Array(1e6); for (;;) a.copyWithin(1, 0);',
  'const a = new Uint8Array(8e6); for (;;) a.fill(1);',
  'const s = "x".repeat(8e6); for (;;) s + "y";',
])('bulk copies use up the steps of a plug-in in seconds: %s', async (attack) => {
  const { sandbox } = await openSandbox(LIMITS.MAX_PLUGIN_STEPS, 64);
  const program = createProgram(`function compute({ x }) { ${attack} return x; }`);
  const startMs = performance.now();
  expect(() => sandbox.compute(program, [X], 4)).toThrow(/took more than 100,000,000 steps/);
  expect(performance.now() - startMs).toBeLessThan(10_000); // without a charge for copies, each program takes hours
});

test('a program has no access to clock, randomness, files or network', () => {
  const names = ['Date', 'performance', 'process', 'require', 'fetch', 'WebAssembly', 'setTimeout', 'console', 'Intl'];
  const otherNames = [
    'Promise',
    'Proxy',
    'RegExp',
    'JSON',
    'eval',
    'WeakRef',
    'FinalizationRegistry',
    'Atomics',
    'import',
  ];
  const results = [...names, ...otherNames.slice(0, -1)].map((name) => `typeof ${name} === 'undefined'`);
  const source = `function compute() { return [${results.join(', ')}, typeof Math.random === 'undefined']; }`;
  const values = openedSandbox.sandbox.compute(
    { ...HONEST_PROGRAM, source },
    [new Float64Array(results.length + 1)],
    results.length + 1,
  );
  expect([...values]).toEqual(Array.from({ length: results.length + 1 }, () => 1));
});
