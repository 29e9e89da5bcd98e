/** Returns the fewest milliseconds of processor time over several runs, which excludes other load on the machine. */
export function measureFastestMs(work: () => void, { repeats }: { readonly repeats: number }): number {
  let best = Infinity;
  for (let repeat = 0; repeat < repeats; repeat++) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}
