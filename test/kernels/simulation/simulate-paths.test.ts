import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { createLevelBins, type PathModel, type PathTallies } from '#kernels/simulation/simulate-paths.js';

const BINS = 64;
const MEAN = 0.0004;
const DEVIATION = 0.012;

const random = createCounterRandom({ seed: 9, stream: 0 });
const growth = Float64Array.from({ length: 90 }, () => 1 + MEAN + DEVIATION * random.normal());
const models: PathModel[] = [
  { kind: 'block_bootstrap', growth, block: 7 },
  { kind: 'gaussian', mean: MEAN, deviation: DEVIATION },
];

function createTallies(paths: number, horizon: number, bins = BINS): PathTallies {
  return {
    counts: new Uint32Array(horizon * bins),
    finals: new Float64Array(paths),
    lows: new Float64Array(paths),
    drawdowns: new Float64Array(paths),
    underwater: new Int32Array(paths),
  };
}

function simulate(
  engine: Engine,
  model: PathModel,
  {
    paths,
    horizon,
    first = 0,
    seed = 1,
    bins = BINS,
  }: { paths: number; horizon: number; first?: number; seed?: number; bins?: number },
): PathTallies {
  const result = createTallies(paths, horizon, bins);
  engine.simulatePaths(
    { model, horizon, seed, first, bins: createLevelBins({ mean: MEAN, deviation: DEVIATION, horizon, count: bins }) },
    result,
  );
  return result;
}

describe.each(models)('paths by $kind', (model) => {
  test('are bit-identical on both engines, also for seeds and paths beyond 32 bits', () => {
    for (const [seed, first] of [
      [1, 0],
      [2 ** 40 + 5, 2 ** 32 - 3],
    ] as const) {
      expect(simulate(openWasmEngine(), model, { paths: 8, horizon: 40, seed, first })).toEqual(
        simulate(referenceEngine, model, { paths: 8, horizon: 40, seed, first }),
      );
    }
  });

  test('are the same however they are divided into chunks', () => {
    const wholeTallies = simulate(referenceEngine, model, { paths: 30, horizon: 25 });
    const parts = [
      [0, 11],
      [11, 2],
      [13, 17],
    ].map(([first, paths]) => simulate(referenceEngine, model, { first: first!, paths: paths!, horizon: 25 }));
    expect([...wholeTallies.finals]).toEqual(parts.flatMap(({ finals }) => [...finals]));
    expect([...wholeTallies.underwater]).toEqual(parts.flatMap(({ underwater }) => [...underwater]));
    expect([...wholeTallies.counts]).toEqual(
      [...wholeTallies.counts.keys()].map((k) => parts.reduce((total, { counts }) => total + counts[k]!, 0)),
    );
  });

  test('tally each path once per session', () => {
    const { counts } = simulate(referenceEngine, model, { paths: 50, horizon: 10 });
    for (let t = 0; t < 10; t++) expect(counts.subarray(t * BINS, (t + 1) * BINS).reduce((a, b) => a + b, 0)).toBe(50);
  });

  test('grow by the mean of a session, within five standard errors', () => {
    const paths = 20_000;
    const horizon = 20;
    const { finals } = simulate(openWasmEngine(), model, { paths, horizon });
    const sessionMean = model.kind === 'gaussian' ? 1 + MEAN : growth.reduce((a, b) => a + b, 0) / growth.length;
    const mean = finals.reduce((a, b) => a + b, 0) / paths;
    // Blocks keep the serial correlation of the history. So twice the deviation of independent returns is allowed.
    expect(Math.abs(mean - sessionMean ** horizon)).toBeLessThan(
      (5 * 2 * DEVIATION * Math.sqrt(horizon)) / Math.sqrt(paths) + 1e-3,
    );
  });
});

describe('a path', () => {
  /** If a history is one block that covers the horizon, it has only one path up to rotation. This path is known. */
  const tallyKnownPath = (steps: number[], horizon = steps.length) =>
    simulate(
      referenceEngine,
      { kind: 'block_bootstrap', growth: Float64Array.from(steps), block: steps.length },
      { paths: 1, horizon },
    );

  test('of one growth factor compounds it', () => {
    const { finals, drawdowns, underwater, lows } = tallyKnownPath([1.1], 3);
    expect(finals[0]).toBe(1.1 * 1.1 * 1.1);
    expect([drawdowns[0], underwater[0], lows[0]]).toEqual([0, 0, 1.1]);
  });

  test('that only falls is under water throughout and loses from its start', () => {
    const { finals, drawdowns, underwater, lows } = tallyKnownPath([0.5], 3);
    expect([finals[0], drawdowns[0], underwater[0], lows[0]]).toEqual([0.125, 0.875, 3, 0.125]);
  });

  test('recomputes from its steps', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.5, max: 1.8, noNaN: true }), { minLength: 1, maxLength: 12 }),
        (steps) => {
          const result = tallyKnownPath(steps);
          const candidates = steps.map((_, start) => {
            const path = steps
              .map((__, k) => steps[(start + k) % steps.length]!)
              .reduce<number[]>((levels, step) => [...levels, levels.at(-1)! * step], [1]);
            const highs = path.map((_level, t) => Math.max(...path.slice(0, t + 1)));
            const flags = path.map((level, t) => level < highs[t]!);
            const runs = flags.map((_flag, t) =>
              flags
                .slice(0, t + 1)
                .toReversed()
                .findIndex((flag) => !flag),
            );
            return {
              final: path.at(-1)!,
              low: Math.min(...path.slice(1)),
              drawdown: Math.max(...path.map((level, t) => 1 - level / highs[t]!)),
              longest: Math.max(...runs),
            };
          });
          expect(
            candidates.some(
              ({ final, low, drawdown, longest }) =>
                final === result.finals[0] &&
                low === result.lows[0] &&
                Math.abs(drawdown - result.drawdowns[0]!) < 1e-12 &&
                longest === result.underwater[0],
            ),
          ).toBe(true);
        },
      ),
    );
  });

  test('is refused without a history, with a block longer than it, or with lists of different lengths', () => {
    const request = {
      horizon: 5,
      seed: 1,
      first: 0,
      bins: createLevelBins({ mean: 0, deviation: 0.1, horizon: 5, count: BINS }),
    };
    for (const engine of [referenceEngine, openWasmEngine()]) {
      expect(() =>
        engine.simulatePaths(
          { ...request, model: { kind: 'block_bootstrap', growth: new Float64Array(0), block: 1 } },
          createTallies(1, 5),
        ),
      ).toThrow(KernelFault);
      expect(() =>
        engine.simulatePaths(
          { ...request, model: { kind: 'block_bootstrap', growth: new Float64Array(3), block: 4 } },
          createTallies(1, 5),
        ),
      ).toThrow(KernelFault);
      expect(() =>
        engine.simulatePaths({ ...request, model: models[1]! }, { ...createTallies(2, 5), lows: new Float64Array(1) }),
      ).toThrow(KernelFault);
    }
  });
});
