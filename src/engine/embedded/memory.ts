// Replaces `kernels/memory/paged-memory.ts` in the bundle: memory of a browser tab cannot be backed by files.

/**
 * Allocates shared memory if the page may use it, otherwise ordinary memory, which suffices because no other thread
 * reads it.
 */
function allocateMemory(bytes: number): SharedArrayBuffer {
  const memory = typeof SharedArrayBuffer === 'undefined' ? new ArrayBuffer(bytes) : new SharedArrayBuffer(bytes);
  return memory as SharedArrayBuffer; // Arrays on either are alike.
}

export const allocatePanels = allocateMemory;
export const allocateHandedMemory = allocateMemory;
export const allocateWork = allocateMemory;

export const isPaged = (): boolean => false;
export const isWorkPaged = isPaged;
export const canPage = isPaged;

export const openPagedFile = (): undefined => undefined;

/** Bytes that panels may take: the tab itself ends where its memory does. */
const PANEL_BYTES_MAX = 2 ** 31;

export const findMemoryLimit = () => ({ panelBytes: PANEL_BYTES_MAX, folder: null });
