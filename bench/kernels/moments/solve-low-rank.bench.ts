import type { Engine } from '#kernels/engines/engine.js';
import { denseCovariance, lowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import { factorLowRank, solveLowRank } from '#kernels/moments/solve-low-rank.js';
import { measure, seededPanel, type KernelCase } from '../measure.js';

/** Fewer observations than names: a solve without forming the matrix, against forming, factoring and solving. */
const SIZES = [[252, 500], [504, 2000], [756, 3000]] as const;

const estimated = (engine: Engine, observations: number, assets: number) => {
  const panel = engine.allocate(observations * assets);
  panel.set(seededPanel(panel.length));
  return lowRankCovariance(engine, panel, assets, { target: 'constant_correlation', intensity: null, method: 'shape', scale: 252 });
};

await measure(
  'factor and solveLowRank',
  SIZES.map(
    ([observations, assets]): KernelCase => ({
      size: `${observations} x ${assets}`,
      without: assets > 500 ? ['tensorflow', 'reference'] : ['tensorflow'],
      prepare(engine) {
        const covariance = estimated(engine, observations, assets);
        const b = engine.allocate(assets).fill(1);
        const out = engine.allocate(assets);
        return () =>
          engine.scope(() => {
            const factor = factorLowRank(engine, covariance);
            return factor === undefined ? Number.NaN : solveLowRank(engine, factor, b, out);
          });
      },
    }),
  ),
);

await measure(
  'formed and solved',
  SIZES.map(
    ([observations, assets]): KernelCase => ({
      size: `${observations} x ${assets}`,
      without: assets > 500 ? ['tensorflow', 'reference'] : ['tensorflow'],
      prepare(engine) {
        const covariance = estimated(engine, observations, assets);
        const matrix = engine.allocate(assets * assets);
        const b = engine.allocate(assets);
        return () => {
          denseCovariance(engine, covariance, matrix);
          engine.cholesky(matrix, assets);
          b.fill(1);
          engine.solveLower(matrix, assets, b);
          engine.solveLowerTransposed(matrix, assets, b);
        };
      },
    }),
  ),
);
