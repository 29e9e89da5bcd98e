import { levelBins } from '#kernels/simulation/level-bins.js';
import type { PathModel } from '#kernels/simulation/simulate-paths.js';
import { measure, seededPanel } from '../measure.js';

/** Ten thousand paths of a year; ten operations a step are counted. */
const PATHS = 10_000;
const HORIZON = 252;
const bins = levelBins({ mean: 0.0003, deviation: 0.01, horizon: HORIZON, count: 2048 });
const growth = seededPanel(2520).map((value) => 1 + value);
const models: readonly PathModel[] = [
  { kind: 'block_bootstrap', growth, block: 21 },
  { kind: 'gaussian', mean: 0.0003, deviation: 0.01 },
];

for (const model of models) {
  await measure(`simulatePaths, ${model.kind}`, [
    {
      size: `${PATHS} x ${HORIZON}`,
      flops: 10 * PATHS * HORIZON,
      without: ['openblas'],
      prepare(engine) {
        const tallies = {
          counts: new Uint32Array(HORIZON * bins.count),
          finals: engine.allocate(PATHS),
          lows: engine.allocate(PATHS),
          drawdowns: engine.allocate(PATHS),
          underwater: new Int32Array(PATHS),
        };
        return () => engine.simulatePaths({ model, horizon: HORIZON, seed: 1, first: 0, bins }, tallies);
      },
    },
  ]);
}
