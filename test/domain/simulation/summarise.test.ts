import { describe, expect, test } from 'vitest';
import {
  computeLevelGrowth,
  computeMoments,
  computeTallyBytes,
  createDistribution,
  createTallies,
  divideSimulation,
  planSimulation,
  type SimulationPlan,
  SimulationRequest,
  summariseSimulation,
} from '#domain/analytics/simulation.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';

const growth = Float64Array.from({ length: 60 }, (_, t) => 1 + 0.01 * Math.sin(7 * t + 1));
const request = (changes: Partial<SimulationRequest> = {}) =>
  SimulationRequest.parse({ paths: 6000, horizon: 30, block: 5, ...changes });

function drawTallies(plan: SimulationPlan) {
  const { paths, horizon, model, seed, bins } = plan;
  const tallies = createTallies(new ArrayBuffer(computeTallyBytes(paths, horizon)), 0, paths, horizon);
  openWasmEngine().simulatePaths({ model, horizon, seed, first: 0, bins }, tallies);
  return tallies;
}

describe('the parts of a simulation', () => {
  test('follow from the request: a small one is a single part, a large one has equal parts', () => {
    expect(divideSimulation({ paths: 10_000, horizon: 252 })).toEqual([0, 10_000]);
    const cuts = divideSimulation({ paths: 10_000_000, horizon: 252 });
    const sizes = new Set(cuts.slice(1).map((end, part) => end - cuts[part]!));
    expect([cuts.length - 1, cuts[0], cuts.at(-1)]).toEqual([126, 0, 10_000_000]);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  });

  test('keep the results of ten million paths of ten years within 900 MB', () => {
    const cuts = divideSimulation({ paths: 10_000_000, horizon: 2520 });
    const bytes = cuts.slice(1).map((end, part) => computeTallyBytes(end - cuts[part]!, 2520));
    expect(bytes.reduce((sum, part) => sum + part, 0)).toBeLessThan(900e6);
  });
});

describe('a plan', () => {
  test('needs twenty returns, and a block no longer than them', () => {
    expect(() => computeMoments(growth.subarray(0, 19))).toThrow(/19 returns; at least 20 are required/);
    expect(() =>
      planSimulation(request({ block: 61 }), { kind: 'block_bootstrap', growth, block: 61 }, computeMoments(growth)),
    ).toThrow(expect.objectContaining({ code: 'RISK_INSUFFICIENT_DATA' }));
  });

  test('computes growth from levels', () => {
    expect([...computeLevelGrowth(Float64Array.of(100, 110, 99))]).toEqual([1.1, 0.9]);
  });
});

describe('a summary', () => {
  const plan = planSimulation(request(), { kind: 'block_bootstrap', growth, block: 5 }, computeMoments(growth));
  const tallies = drawTallies(plan);
  const summary = summariseSimulation(request(), plan, tallies);

  test('starts at 100 and ends where the paths end', () => {
    expect(summary.levels).toHaveLength(31);
    expect(summary.levels[0]).toEqual([100, 100, 100, 100, 100]);
    summary.levels.at(-1)!.forEach((level, k) => {
      const exactLevel = 100 * (1 + Object.values(summary.totalReturn.percentiles)[k]!);
      expect(Math.abs(level - exactLevel)).toBeLessThan(0.05);
    });
    for (const row of summary.levels) expect(row).toEqual(row.toSorted((a, b) => a - b));
  });

  test('counts the paths that fall short, at the end and during the horizon', () => {
    const { shortfall } = summariseSimulation(request({ level: 0.99 }), plan, tallies);
    expect(shortfall.atEnd).toBe(tallies.finals.filter((level) => level < 0.99).length / 6000);
    expect(shortfall.atAnyTime).toBe(tallies.lows.filter((level) => level < 0.99).length / 6000);
    expect(shortfall.atAnyTime).toBeGreaterThan(shortfall.atEnd);
    expect(summariseSimulation(request({ level: 100 }), plan, tallies).shortfall).toEqual({ atEnd: 1, atAnyTime: 1 });
  });

  test('has losses of at most 0 and times of at most the horizon', () => {
    expect(summary.maxDrawdown.maximum).toBeLessThanOrEqual(0);
    expect(summary.timeUnderWater.maximum).toBeLessThanOrEqual(30);
  });

  test('of known values equals the textbook example', () => {
    expect(createDistribution(Float64Array.of(4, 1, 3, 2), [0.25, 0.5])).toEqual({
      mean: 2.5,
      deviation: Math.sqrt(5 / 3),
      minimum: 1,
      maximum: 4,
      percentiles: { 0.25: 1.75, 0.5: 2.5 },
    });
    expect(createDistribution(Float64Array.of(7), [0.5])).toEqual({
      mean: 7,
      deviation: 0,
      minimum: 7,
      maximum: 7,
      percentiles: { 0.5: 7 },
    });
  });
});
