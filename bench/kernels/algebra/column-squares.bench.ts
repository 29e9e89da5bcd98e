import { measurePasses } from '../measure.js';

await measurePasses('columnSquares', 8, (engine, x, { assets }) => {
  const squares = engine.allocate(assets);
  return () => engine.columnSquares(x, squares);
});
