import { measurePasses } from '../measure.js';

await measurePasses('columnDeviations', 16, (engine, x, { assets }) => {
  const means = engine.allocate(assets);
  return () => engine.columnDeviations(x, means);
});
