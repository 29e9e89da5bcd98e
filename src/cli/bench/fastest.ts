/** Returns the shortest processor time in ms over several runs. Other load on the machine does not count. */
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
