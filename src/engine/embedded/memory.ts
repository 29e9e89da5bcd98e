// Replaces `kernels/memory/paged-memory.ts` in the bundle. Files cannot back the memory of a browser tab.

/**
 * Allocates shared memory if the page may use it. Otherwise allocates ordinary memory, which suffices because no other
 * thread reads it.
 */
function allocateMemory(bytes: number): SharedArrayBuffer {
  const memory = typeof SharedArrayBuffer === 'undefined' ? new ArrayBuffer(bytes) : new SharedArrayBuffer(bytes);
  return memory as SharedArrayBuffer; // typed arrays work alike on both types of memory
}

export const allocatePanels = allocateMemory;
export const allocateHandedMemory = allocateMemory;
export const allocateWork = allocateMemory;

export const isPaged = (): boolean => false;
export const isWorkPaged = isPaged;
export const canPage = isPaged;

export const openPagedFile = (): undefined => undefined;

/** Maximum number of bytes of panels: a tab ends when it exhausts its memory. */
const PANEL_BYTES_MAX = 2 ** 31;

export const findMemoryLimit = () => ({ panelBytes: PANEL_BYTES_MAX, folder: null });
