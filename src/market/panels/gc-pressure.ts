/**
 * Size of a buffer that makes the engine count memory. It slightly exceeds the growth of external memory at which the
 * engine collects garbage.
 */
const BALLAST_BYTES_MAX = 96 << 20;

/**
 * Buffers that the engine counts in place of shared memory. The key is the first panel of the store that a buffer
 * represents.
 */
const ballast = new WeakMap<ArrayBufferLike, ArrayBuffer>();

/**
 * Makes the garbage collector account for panels. The engine does not count shared memory, so unused versions of a
 * store would remain until something else triggered a collection. The engine does count an ArrayBuffer, so this
 * function creates one with the lifetime of the panels. It is never written, so it takes no physical memory. Call this
 * before new panels are filled: unused panels are then collected in the background.
 * @param panels memory of the panels of one store, of any length; the first identifies them
 * @cost a concurrent collection, which pauses the thread for a few milliseconds
 */
export function reportPanelMemory(panels: readonly ArrayBufferLike[]): void {
  const [first] = panels;
  if (first === undefined || ballast.has(first)) return;
  const bytes = panels.reduce((sum, { byteLength }) => sum + byteLength, 0);
  ballast.set(first, new ArrayBuffer(Math.min(bytes, BALLAST_BYTES_MAX)));
}
