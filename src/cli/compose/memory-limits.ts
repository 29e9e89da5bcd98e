import type { Logger } from 'pino';
import { limitMemory } from '#kernels/memory/paged-memory.js';
import { limitReaders, type ReaderLimit } from '#market/process/process-pool.js';
import type { Home } from '#store/home/home.js';
import type { Settings } from '../settings.js';

/** Limits the memory of panels. The limit applies while the service is open. */
export function createPanelLimit({ panelMegabytes }: Settings, { scratch }: Home): { close(): Promise<void> } {
  const removeLimit = limitMemory({ panelBytes: panelMegabytes * 2 ** 20, folder: scratch });
  return { close: async () => removeLimit() };
}

/** Limits the memory of reader processes through the operating system. */
export function createReadingLimit(
  { readerMegabytes, readerCgroup }: Settings,
  log: Logger,
): { close(): Promise<void> } {
  const onUnlimited = (limit: ReaderLimit, reason: string) =>
    log.warn({ limit, reason, megabytes: readerMegabytes }, 'the memory limit of reading processes is not enforced');
  const removeLimit = limitReaders({ bytes: readerMegabytes * 2 ** 20, group: readerCgroup, onUnlimited });
  return { close: async () => removeLimit() };
}
