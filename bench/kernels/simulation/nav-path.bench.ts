import { measure, seededPanel, SIZES, type KernelCase } from '../measure.js';

/** Monthly rebalances. Twenty years of 500 names are also cycled through eight panels: together they are in no cache. */
const TWENTY_YEARS = [500, 5000] as const;

function navPathOf([assets, sessions]: readonly [assets: number, sessions: number], panels: number): KernelCase {
  const rebalances = Int32Array.from({ length: Math.ceil(sessions / 21) }, (_, r) => 21 * r);
  return {
    size: `${sessions} x ${assets}`,
    bytes: 8 * sessions * assets,
    without: ['tensorflow', 'openblas'],
    prepare(engine) {
      const prices = Array.from({ length: panels }, (_, k) => {
        const panel = engine.allocate(sessions * assets);
        panel.set(seededPanel(panel.length, k).map((value) => 100 * (1 + value)));
        return panel;
      });
      const weights = engine.allocate(rebalances.length * assets).fill(1 / assets);
      const out = engine.allocate(sessions);
      let turn = 0;
      return () => engine.navPath({ prices: prices[turn++ % panels]!, assets, rebalances, weights }, out);
    },
  };
}

await measure(
  'navPath, warm',
  [...SIZES, TWENTY_YEARS].map((size) => navPathOf(size, 1)),
);
await measure('navPath, cold', [navPathOf(TWENTY_YEARS, 8)]);
