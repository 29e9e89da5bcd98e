import { signal } from '@preact/signals';

/** Files that were dropped or selected on another page. The import page takes them over. */
const droppedFiles = signal<readonly File[]>([]);

export function offerFiles(files: readonly File[]): void {
  droppedFiles.value = files;
}

/** Returns the waiting files and clears the list. */
export function takeOfferedFiles(): readonly File[] {
  const files = droppedFiles.peek();
  droppedFiles.value = [];
  return files;
}
