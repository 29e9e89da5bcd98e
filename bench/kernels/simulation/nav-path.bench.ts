import { measure, seededPanel } from '../measure.js';

/** Monthly rebalances over prices of twenty years, warm in the third-level cache and cycled through eight panels that are not. */
const SESSIONS = 5000;
const ASSETS = 500;
const rebalances = Int32Array.from({ length: Math.ceil(SESSIONS / 21) }, (_, r) => 21 * r);

for (const panels of [1, 8]) {
  await measure(`navPath, ${panels === 1 ? 'warm' : 'cold'}`, [
    {
      size: `${SESSIONS} x ${ASSETS}`,
      bytes: 8 * SESSIONS * ASSETS,
      without: ['tensorflow', 'openblas'],
      prepare(engine) {
        const prices = Array.from({ length: panels }, (_, k) => {
          const panel = engine.allocate(SESSIONS * ASSETS);
          panel.set(seededPanel(panel.length, k).map((value) => 100 * (1 + value)));
          return panel;
        });
        const weights = engine.allocate(rebalances.length * ASSETS).fill(1 / ASSETS);
        const out = engine.allocate(SESSIONS);
        let turn = 0;
        return () => engine.navPath({ prices: prices[turn++ % panels]!, assets: ASSETS, rebalances, weights }, out);
      },
    },
  ]);
}
