import { measurePasses } from '../measure.js';

/** Sectors of an index. */
const GROUPS = 11;

await measurePasses('centreGroups', 16, (engine, x, { assets, observations }) => {
  const groupAt = Int32Array.from({ length: assets }, (_, k) => k % GROUPS);
  const means = engine.allocate(observations * GROUPS);
  return () => engine.centreGroups(x, { groupAt, count: GROUPS }, means);
});
