import { exponentialCovariance, rollingCovariance } from '#kernels/moments/running-covariance.js';
import { measure, seededPanel } from '../measure.js';

/** Every window of 63 returns, and every date by decaying weights, over ten years: the products of their documented cost are counted. */
const OBSERVATIONS = 2520;

for (const columns of [2, 50]) {
  await measure(
    `running, ${columns} columns`,
    (['window', 'half-life'] as const).map((memory) => ({
      size: `${OBSERVATIONS} ${memory}`,
      flops: (memory === 'window' ? 8 : 2) * OBSERVATIONS * columns ** 2,
      without: ['tensorflow', 'openblas'] as const,
      prepare(engine) {
        const panel = seededPanel(OBSERVATIONS * columns);
        const visit = (): void => {};
        return memory === 'window'
          ? () => rollingCovariance(engine, panel, columns, 63, visit)
          : () => exponentialCovariance(engine, panel, columns, 63, visit);
      },
    })),
  );
}
