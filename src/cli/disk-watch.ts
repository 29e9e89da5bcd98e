import type { Check } from '#services/operations/health.js';
import type { FreeSpace } from '#store/files/free-space.js';

const INTERVAL_MS = 5_000;

/** Checks the free space of the home at intervals. Health requests then need not wait for the disk. */
export function watchDisk(freeSpace: FreeSpace): { readonly check: Check; close(): Promise<void> } {
  let fault: string | undefined;
  let freeSpaceNote = 'The first check of the volume is pending.';
  const measureFreeSpace = async () => {
    try {
      const { freeBytes, markBytes } = await freeSpace.measure();
      const formatMebibytes = (bytes: number) => Math.floor(bytes / 2 ** 20);
      freeSpaceNote = `${formatMebibytes(freeBytes)} MiB are free; ${formatMebibytes(markBytes)} MiB are needed for writes.`;
      fault = freeBytes < markBytes ? freeSpaceNote : undefined;
    } catch (failure) {
      fault = `The volume cannot be checked: ${failure instanceof Error ? failure.message : failure}`;
    }
  };
  void measureFreeSpace();
  const timer = setInterval(() => void measureFreeSpace(), INTERVAL_MS);
  timer.unref();
  return {
    check: { name: 'disk', look: () => fault, note: () => freeSpaceNote, unready: 'STORAGE_FULL' },
    async close() {
      clearInterval(timer);
    },
  };
}
