import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { computeRisk, computeRisks } from '#domain/risk/contributions.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { computeCovarianceByDefinition, createRandomReturns, createWindow } from './window.js';

/** Computes sigma as the contract defines it, one matrix at a time: constant correlation, delta = N / (N + T). */
function shrinkByDefinition(returns: number[][]): number[][] {
  const s = computeCovarianceByDefinition(returns);
  const n = s.length;
  const observations = returns.length - 1;
  const delta = n / (n + observations);
  let correlations = 0;
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) if (i !== j) correlations += s[i]![j]! / Math.sqrt(s[i]![i]! * s[j]![j]!);
  const rbar = n === 1 ? 0 : correlations / (n * (n - 1));
  return s.map((row, i) =>
    row.map((value, j) => (i === j ? value : delta * rbar * Math.sqrt(s[i]![i]! * s[j]![j]!) + (1 - delta) * value)),
  );
}

const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);
const createWeightsArbitrary = (names: number) =>
  fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), { minLength: names, maxLength: names });

describe('risk contributions', () => {
  test('are w (Sigma w) / sigma and sum to the volatility, for few and for many observations', () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 40 })
          .chain((names) =>
            fc.tuple(fc.constant(names), fc.integer({ min: 22, max: 60 }), createWeightsArbitrary(names)),
          ),
        ([names, sessions, raw]) => {
          const returns = createRandomReturns(sessions, names);
          const total = sum(raw);
          const w = raw.map((value) => value / total);
          const sigma = shrinkByDefinition(returns);
          const variance = sum(w.map((wi, i) => wi * sum(w.map((wj, j) => wj * sigma[i]![j]!))));
          const risk = computeRisk(referenceEngine, createWindow({ returns }), new Map(w.entries()));
          expect(risk.volatility).toBeCloseTo(Math.sqrt(variance), 12);
          expect(Math.abs(sum(risk.contributions.values()) - risk.volatility)).toBeLessThanOrEqual(1e-12);
          w.forEach((wi, i) =>
            expect(risk.contributions.get(i)).toBeCloseTo(
              (wi * sum(w.map((wj, j) => wj * sigma[i]![j]!))) / Math.sqrt(variance),
              12,
            ),
          );
          expect(risk.coveredWeight).toBeCloseTo(1, 12);
          expect(risk.uncovered).toEqual([]);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('do not depend on the order of the weights', () => {
    const window = createWindow({ returns: createRandomReturns(60, 5) });
    const entries = [0.1, 0.3, 0.2, 0.25, 0.15].map((weight, i) => [i, weight] as const);
    const forward = computeRisk(openWasmEngine(), window, new Map(entries));
    const backward = computeRisk(openWasmEngine(), window, new Map(entries.toReversed()));
    expect([...backward.contributions]).toEqual([...forward.contributions]);
  });

  test('scale the weights of the others if a security has no estimate', () => {
    const returns: (number | null)[][] = createRandomReturns(60, 3);
    for (const row of returns.slice(0, 40)) row[1] = null;
    const risk = computeRisk(
      referenceEngine,
      createWindow({ returns }),
      new Map([
        [0, 0.5],
        [1, 0.2],
        [2, 0.3],
      ]),
    );
    expect(risk.coveredWeight).toBeCloseTo(0.8, 15);
    expect(risk.uncovered).toEqual([1]);
    expect(risk.contributions.has(1)).toBe(false);
    const window = createWindow({ returns });
    const scaled = computeRisk(
      referenceEngine,
      window,
      new Map([
        [0, 0.625],
        [2, 0.375],
      ]),
    );
    expect(risk.volatility).toBeCloseTo(scaled.volatility, 14);
    expect(risk.contributions.get(0)!).toBeCloseTo(scaled.contributions.get(0)!, 14);
    expect([...risk.contributions.values()].reduce((sum, part) => sum + part, 0)).toBeCloseTo(risk.volatility, 14);
    // A weight of a security outside the market counts as a weight without an estimate.
    const partial = computeRisk(referenceEngine, window, new Map([[0, 0.5]]), 0.25);
    expect(partial.volatility).toBeCloseTo(computeRisk(referenceEngine, window, new Map([[0, 0.75]])).volatility, 14);
  });

  test('are 0 for securities that never move', () => {
    const risk = computeRisk(
      referenceEngine,
      createWindow({ returns: Array.from({ length: 30 }, () => [0, 0]) }),
      new Map([
        [0, 0.5],
        [1, 0.5],
      ]),
    );
    expect(risk.volatility).toBe(0);
    expect([...risk.contributions.values()]).toEqual([0, 0]);
  });

  test('of active positions span the union and sum to the tracking error', () => {
    const returns = createRandomReturns(80, 4);
    const window = createWindow({ returns });
    const { active: risk } = computeRisks(
      referenceEngine,
      window,
      new Map([
        [0, 0.6],
        [1, 0.4],
      ]),
      new Map([
        [1, 0.5],
        [2, 0.3],
        [3, 0.2],
      ]),
    );
    expect([...risk.contributions.keys()]).toEqual([0, 1, 2, 3]);
    expect(Math.abs(sum(risk.contributions.values()) - risk.volatility)).toBeLessThanOrEqual(1e-12);
    const a = [0.6, -0.1, -0.3, -0.2];
    const sigma = shrinkByDefinition(returns);
    expect(risk.volatility).toBeCloseTo(
      Math.sqrt(sum(a.map((ai, i) => ai * sum(a.map((aj, j) => aj * sigma[i]![j]!))))),
      12,
    );
    expect(risk.coveredWeight).toBe(1);
  });

  test('of a portfolio that equals its benchmark are zero', () => {
    const sameWeights = new Map([
      [0, 0.5],
      [1, 0.5],
    ]);
    const { active: risk } = computeRisks(
      referenceEngine,
      createWindow({ returns: createRandomReturns(40, 2) }),
      sameWeights,
      sameWeights,
    );
    expect(risk.volatility).toBe(0);
    expect(risk.coveredWeight).toBe(1);
  });

  test('of holdings are the same with any benchmark, inside or outside the holdings', () => {
    const window = createWindow({ returns: createRandomReturns(60, 4) });
    const weights = new Map([
      [0, 0.6],
      [1, 0.4],
    ]);
    const ownRisk = computeRisk(openWasmEngine(), window, weights);
    for (const benchmark of [
      new Map([[1, 1]]),
      new Map([
        [1, 0.5],
        [3, 0.5],
      ]),
    ])
      expect(computeRisks(openWasmEngine(), window, weights, benchmark).risk).toEqual(ownRisk);
  });

  test('of cash alone are zero, and against a benchmark all of its risk', () => {
    const window = createWindow({ returns: createRandomReturns(90, 4) });
    const benchmark = new Map([
      [0, 0.5],
      [2, 0.5],
    ]);
    expect(computeRisk(openWasmEngine(), window, new Map())).toEqual({
      volatility: 0,
      coveredWeight: 0,
      contributions: new Map(),
      observations: 0,
      uncovered: [],
    });
    const { risk, active } = computeRisks(openWasmEngine(), window, new Map(), benchmark);
    expect([risk.volatility, active.coveredWeight]).toEqual([0, 1]);
    expect(active.volatility).toBe(computeRisk(openWasmEngine(), window, benchmark).volatility);
  });

  test('are refused if too little is known', () => {
    expect(() =>
      computeRisk(referenceEngine, createWindow({ returns: createRandomReturns(15, 2) }), new Map([[0, 1]])),
    ).toThrow(expect.objectContaining({ code: 'RISK_INSUFFICIENT_DATA' }));
  });
});

test('risk of the same securities with other weights equals the risk on a panel that was not used before', () => {
  const returns = createRandomReturns(80, 4);
  const window = createWindow({ returns });
  const someWeights = new Map([
    [0, 0.5],
    [1, 0.3],
    [2, 0.2],
  ]);
  const otherWeights = new Map([
    [0, 0.1],
    [1, 0.1],
    [2, 0.8],
  ]);
  const widerWeights = new Map([
    [1, 0.5],
    [3, 0.5],
  ]);
  for (const weights of [someWeights, otherWeights, widerWeights, someWeights]) {
    expect(computeRisk(referenceEngine, window, weights)).toEqual(
      computeRisk(referenceEngine, createWindow({ returns }), weights),
    );
    expect(computeRisks(referenceEngine, window, weights, widerWeights)).toEqual(
      computeRisks(referenceEngine, createWindow({ returns }), weights, widerWeights),
    );
  }
  expect(computeRisk(referenceEngine, { ...window, to: window.to - 5 }, someWeights)).toEqual(
    computeRisk(referenceEngine, { ...createWindow({ returns }), to: window.to - 5 }, someWeights),
  );
});
