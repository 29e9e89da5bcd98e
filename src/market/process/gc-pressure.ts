/** More than an engine lets memory outside its heap grow before it looks for what is dead, and no more than need be. */
const WEIGHT_BYTES_MAX = 96 << 20;

const weights = new WeakMap<ArrayBufferLike, ArrayBuffer>();

/**
 * Makes the thread feel what panels weigh: the engine counts no shared memory, so that versions of a store that nobody
 * uses any longer would lie there until something else made it look for them. Memory that it does count is held as long
 * as the panels are, and never written, so that it takes no place. Best called before new panels are filled: what is
 * dead goes meanwhile, in the background.
 * @cost a collection beside the thread, of which it notices a few milliseconds
 */
export function weighPanels(panels: readonly ArrayBufferLike[]): void {
  const [first] = panels;
  if (first === undefined || weights.has(first)) return;
  const bytes = panels.reduce((sum, { byteLength }) => sum + byteLength, 0);
  weights.set(first, new ArrayBuffer(Math.min(bytes, WEIGHT_BYTES_MAX)));
}
