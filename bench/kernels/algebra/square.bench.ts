import { measurePasses } from '../measure.js';

await measurePasses('square', 16, (engine, x) => {
  const out = engine.allocate(x.length);
  return () => engine.square(x, out);
});
