import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import {
  adjustEigenvalues,
  countEffectiveObservations,
  estimateEigenvalueBias,
} from '#kernels/moments/structured-covariance.js';
import { createRandomPanel } from '../engines/random-matrices.js';

interface GoldenBiases {
  readonly values: number[];
  readonly observations: number;
  readonly biases: number[];
}

const file = new URL('../../../../test/golden/eigenvalue-bias/eigenvalue-bias.json', import.meta.url);
const golden = JSON.parse(readFileSync(file, 'utf8')) as GoldenBiases; // the file has the format of Golden
const values = Float64Array.from(golden.values);

describe('the bias of eigenvalues', () => {
  test('equals that of samples that numpy draws', () => {
    const biases = estimateEigenvalueBias(openWasmEngine(), values, {
      observations: golden.observations,
      simulations: 1000,
    });
    // 1,000 samples leave an error of about half a percent.
    golden.biases.forEach((bias, k) => expect(Math.abs(biases[k]! / bias - 1), String(k)).toBeLessThan(0.02));
  });

  test('does not depend on the unit, and is 1 of an eigenvalue of 0', () => {
    const request = { observations: 20, simulations: 20 };
    const plainBiases = estimateEigenvalueBias(referenceEngine, values, request);
    estimateEigenvalueBias(
      referenceEngine,
      values.map((value) => 4 * value),
      request,
    ).forEach((bias, k) => expect(bias).toBeCloseTo(plainBiases[k]!, 10));
    const singularBias = estimateEigenvalueBias(referenceEngine, Float64Array.of(0, 1, 2), request);
    expect(singularBias[0]).toBe(1);
    expect(singularBias[1]).toBeGreaterThan(1);
  });

  test('disappears with observations', () => {
    const biases = estimateEigenvalueBias(openWasmEngine(), values, { observations: 2_000, simulations: 20 });
    for (const bias of biases) expect(Math.abs(bias - 1)).toBeLessThan(0.02);
  });
});

test('an adjusted covariance keeps its eigenvectors, and its least eigenvalue rises by the squared bias of USE4', () => {
  const n = 5;
  const panel = createRandomPanel(30, n, 3);
  const matrix = new Float64Array(n * n);
  openWasmEngine().symmetricRankK(panel, n, matrix);
  const before = { values: new Float64Array(n), vectors: new Float64Array(n * n) };
  referenceEngine.symmetricEigen(matrix, n, before.values, before.vectors);
  const request = { observations: 30, simulations: 50 };
  const biases = estimateEigenvalueBias(referenceEngine, before.values, request);
  adjustEigenvalues(referenceEngine, matrix, n, request);
  const after = { values: new Float64Array(n), vectors: new Float64Array(n * n) };
  referenceEngine.symmetricEigen(matrix, n, after.values, after.vectors);
  expect(after.values[0]).toBeGreaterThan(before.values[0]!);
  before.values.forEach((value, k) => {
    expect(after.values[k]).toBeCloseTo(value * (1.4 * (biases[k]! - 1) + 1) ** 2, 10);
    for (let i = 0; i < n; i++) expect(after.vectors[k * n + i]).toBeCloseTo(before.vectors[k * n + i]!, 8);
  });
});

test('equal weights count as the number of observations, decaying weights as fewer', () => {
  expect(countEffectiveObservations(new Float64Array(50).fill(1 / 50))).toBe(50);
  // The squares of the weights 1/2, 1/4, 1/8, ... sum to 1/3.
  const halving = Float64Array.from({ length: 40 }, (_, t) => 0.5 ** (t + 1));
  expect(countEffectiveObservations(halving)).toBe(3);
});
