import { measurePasses } from '../measure.js';

await measurePasses('centreColumns', 32, (engine, x, { assets }) => {
  const means = engine.allocate(assets);
  return () => engine.centreColumns(x, undefined, means);
});
