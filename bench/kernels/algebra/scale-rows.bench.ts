import { measurePasses } from '../measure.js';

await measurePasses('scaleRows', 16, (engine, x, { assets, observations }) => {
  const factors = engine.allocate(observations).fill(1);
  return () => engine.scaleRows(x, assets, factors);
});
