import { signal } from '@preact/signals';

/** Files that were dropped or chosen on another page, for the import page. */
const waiting = signal<readonly File[]>([]);

export function bring(files: readonly File[]): void {
  waiting.value = files;
}

/** Returns these files once. */
export function takeBrought(): readonly File[] {
  const files = waiting.peek();
  waiting.value = [];
  return files;
}
