const CELLS = 2_000_000;
const PASSES = 12;
const cells = Float64Array.from({ length: CELLS }, (_, i) => 1 + i / CELLS);

/**
 * Processor time of a fixed piece of work, in ms: arithmetic and 200 MB of memory. A time beside one of these says
 * what a change of the machine's speed does not.
 * @throws Error when the work was not done
 */
export function yardstick(): number {
  const before = process.cpuUsage();
  let sum = 0;
  for (let pass = 0; pass < PASSES; pass++)
    for (let i = 0; i < CELLS; i++) {
      const value = cells[i]!;
      sum += value * value - sum * 1e-9;
    }
  const { user, system } = process.cpuUsage(before);
  if (!(sum > 0)) throw new Error(`the yardstick sums to ${sum}`);
  return (user + system) / 1000;
}
