import { measurePasses } from '../measure.js';

await measurePasses('selectColumns', 16, (engine, x, { assets }) => {
  const columns = Int32Array.from({ length: assets }, (_, k) => k);
  const out = engine.allocate(x.length);
  return () => engine.selectColumns(x, { width: assets, columns, less: 1 }, out);
});
