import { beforeAll, describe, expect, test } from 'vitest';
import { loadPluginSandbox } from '#domain/datapoints/plugin-sandbox.js';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { findOverTimeFault } from '#domain/datapoints/expression-checks.js';
import { readDefinitions, TreatmentSpec } from '#domain/definition/index-document.js';
import { type PluginDocument, resolvePluginCode } from '#domain/definition/plugins.js';
import { Refusal } from '#domain/base/refusals.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { fc } from '../../fast-check.js';
import { alignDays, createTableMarket } from '../rules/rule-market.js';

beforeAll(() => loadPluginSandbox());

const SESSIONS = 16;
const NAMES = 7;
const DECISION = 11;
const COLUMNS = Int32Array.from({ length: NAMES }, (_, i) => i);

type Rows = readonly (readonly (number | null)[])[];

const cell = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 8, max: 64 }).map((eighths) => eighths / 8) },
  fc.constant(null),
);
const closes: fc.Arbitrary<Rows> = fc.array(fc.array(cell, { minLength: NAMES, maxLength: NAMES }), {
  minLength: SESSIONS,
  maxLength: SESSIONS,
});

const findPlugin = (source: string, inputs: PluginDocument['inputs']): PluginDocument => ({
  name: 'Test',
  description: null,
  kind: 'datapoint',
  inputs,
  parameters: {},
  source,
});

function createSection(rows: Rows, plugin: PluginDocument) {
  const plugins = { OWN: { plugin: 'own', parameters: {}, code: resolvePluginCode(plugin, {}, '0'.repeat(64)) } };
  const identifiers = Array.from({ length: NAMES }, (_, i) => `N${i}`);
  const market = alignDays(createTableMarket({ identifiers, fields: { CLOSE: rows } }));
  const datapoints = readDefinitions({ plugins });
  return createIndexCrossSections({ market, treatment: TreatmentSpec.parse({}), currency: 'USD', datapoints }).at(
    DECISION,
    COLUMNS,
  );
}

const computeValues = (rows: Rows, plugin: PluginDocument, text = 'OWN'): Float64Array =>
  createSection(rows, plugin).numbers(parseExpression(text).tree, COLUMNS);

const latestInput = { close: { expression: 'CLOSE', sessions: 1 } };
const window = { h: { expression: 'CLOSE', sessions: 6 } };

describe('a plug-in', () => {
  test('with the arithmetic of an expression has its bits', () => {
    const source = 'function compute({ close, high }) { return close.map((price, i) => (price / high[i] - 0.5) * 3); }';
    const inputs = { ...latestInput, high: { expression: 'max(CLOSE, window=6)', sessions: 1 } };
    fc.assert(
      fc.property(closes, (rows) => {
        const text = '(CLOSE / max(CLOSE, window=6) - 0.5) * 3';
        expect(computeValues(rows, findPlugin(source, inputs))).toEqual(
          computeValues(rows, findPlugin(source, inputs), text),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('gets the values of its sessions, the latest last, missing where there is no bar', () => {
    const source =
      'function compute({ h }, p, n) { return Array.from({ length: n }, (_, i) => { let s = 0; for (let t = 0; t < 6; t++) { const v = h[6 * i + t]; s = s * 100 + (v === v ? v : 0); } return s; }); }';
    fc.assert(
      fc.property(closes, (rows) => {
        const expected = Array.from({ length: NAMES }, (_, i) =>
          rows.slice(DECISION - 5, DECISION + 1).reduce((sum, row) => sum * 100 + (row[i] ?? 0), 0),
        );
        expect([...computeValues(rows, findPlugin(source, window))]).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test('is a datapoint of expressions: its ranks are those of its values', () => {
    const rows: Rows = Array.from({ length: SESSIONS }, () => [3, 1, 2, 7, 5, 4, 6]);
    const plugin = findPlugin('function compute({ close }) { return close.map((v) => -v); }', latestInput);
    expect([...computeValues(rows, plugin, 'rank(OWN)')]).toEqual([3, 1, 2, 7, 5, 4, 6]);
  });
});

describe('100 plug-ins that look for later data', () => {
  /** Programs that try to read memory before, after and around their inputs. */
  const peeks = [
    'new Float64Array(h.buffer)',
    'new Float64Array(h.buffer).subarray(-40)',
    'Array.from(h)',
    'seen.concat(...h)',
    'Object.values(globalThis).filter((v) => typeof v === "number")',
  ];
  const formatSource = (k: number): string => `
    const seen = [];
    let calls = 0;
    function compute({ h }, parameters, n) {
      calls += 1;
      const found = ${peeks[Math.floor(k / 20)]!};
      seen.push(...found);
      let sum = calls;
      for (let i = 0; i < found.length; i++) { const v = found[i] * (i + 1); if (v === v) sum = (sum * 31 + v) % 1e9; }
      return Array.from({ length: n }, () => sum);
    }`;

  test('find none: no bit changes with the data after the decision', () => {
    const draw = fc.sample(fc.tuple(closes, closes), { numRuns: 100, seed: 7 });
    draw.forEach(([rows, other], k) => {
      const plugin = findPlugin(formatSource(k), window);
      const laterRows = rows.map((row, t) => (t <= DECISION ? row : other[t]!));
      const before = computeValues(rows, plugin);
      // A decision on other data must not leave anything that the next call could read.
      computeValues(other, plugin);
      expect(computeValues(laterRows, plugin)).toEqual(before);
      expect(before.every((value) => Number.isFinite(value))).toBe(true);
    });
  });
});

test('a plug-in that fails refuses the decision with its fault and the date', () => {
  const rows: Rows = Array.from({ length: SESSIONS }, () => Array.from({ length: NAMES }, () => 1));
  const plugin = findPlugin('function compute() { throw new Error("no luck"); }', latestInput);
  let thrown: unknown;
  try {
    computeValues(rows, plugin);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(Refusal);
  expect((thrown as Refusal).toDetail()).toMatchObject({
    code: 'PLUGIN_FAILED',
    message: expect.stringContaining('The plug-in own threw Error: no luck (line 1), at the decision on 2020-01-16'),
    detail: { plugin_id: 'own', fault: 'threw', date: '2020-01-16' },
  });
});

describe('datapoints that are known at decisions only', () => {
  const definitions = readDefinitions({
    datapoints: {
      RANKED: parseExpression('rank(CLOSE)').tree,
      MEAN: parseExpression('mean(CLOSE, window=5)').tree,
      RATIO: parseExpression('CLOSE / VOLUME').tree,
      THROUGH: parseExpression('RANKED + 1').tree,
    },
    plugins: { OWN: { plugin: 'own', parameters: {} } },
  });
  const findFault = (text: string) => findOverTimeFault(parseExpression(text).tree, definitions);

  test.each([
    ['mean(RANKED, window=5)', 'RANKED', 'rank'],
    ['RANKED(lag=3)', 'RANKED', 'rank'],
    ['last(THROUGH, lag=1)', 'RANKED', 'rank'],
    ['max(MEAN, window=5)', 'MEAN', 'mean'],
    ['OWN(lag=1)', 'OWN', 'the plug-in own'],
    ['std(OWN, window=5)', 'OWN', 'the plug-in own'],
  ])('%s is refused', (text, name, expected) => {
    expect(findFault(text)).toEqual({ name, called: expected });
  });

  test.each(['RANKED', 'zscore(OWN)', 'MEAN(lag=3)', 'mean(RATIO, window=5)', 'RATIO(lag=2)', 'CLOSE(lag=1)'])(
    '%s is accepted',
    (text) => {
      expect(findFault(text)).toBeUndefined();
    },
  );
});
