import { signal } from '@preact/signals';

/** Files dropped or selected on another page, which the import page takes over. */
const waiting = signal<readonly File[]>([]);

export function offerFiles(files: readonly File[]): void {
  waiting.value = files;
}

/** Returns the waiting files and clears the list. */
export function takeOfferedFiles(): readonly File[] {
  const files = waiting.peek();
  waiting.value = [];
  return files;
}
