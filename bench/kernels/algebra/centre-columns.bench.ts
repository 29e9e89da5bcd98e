import { measurePasses } from '../measure.js';

await measurePasses('centreColumns', 24, (engine, x, { assets, observations }) => {
  const [means, squares] = [engine.allocate(assets), engine.allocate(assets)];
  const factors = engine.allocate(observations).fill(1);
  return () => engine.centreColumns(x, { weights: undefined, factors }, means, squares);
});
