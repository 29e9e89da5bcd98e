/** Returns the fewest milliseconds of processor time over several runs, which excludes other load on the machine. */
export function measureFastestMs(work: () => void, { repeats }: { readonly repeats: number }): number {
  let fastestMs = Infinity;
  for (let repeat = 0; repeat < repeats; repeat++) {
    const startUsage = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(startUsage);
    fastestMs = Math.min(fastestMs, (user + system) / 1000);
  }
  return fastestMs;
}
