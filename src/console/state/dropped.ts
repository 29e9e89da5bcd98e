import { signal } from '@preact/signals';

/** Files dropped or selected on another page, which the import page takes over. */
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
