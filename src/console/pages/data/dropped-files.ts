import { signal } from '@preact/signals';
import { setPath } from './source-files.js';

/** Maximum number of files of a dropped folder. */
const FILES_MAX = 20_000;

/** Returns dropped files and the files in dropped folders. The entries must be read before the event ends. */
export async function readDroppedFiles(transfer: DataTransfer | null): Promise<readonly File[]> {
  const entries = [...(transfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  if (!entries.some((entry) => entry.isDirectory)) return [...(transfer?.files ?? [])];
  const files: File[] = [];
  for (const waiting = [...entries]; waiting.length > 0 && files.length < FILES_MAX;) {
    const entry = waiting.shift()!; // the loop ends if there is no entry
    if (entry.isDirectory) waiting.push(...(await readEntries(entry as FileSystemDirectoryEntry)));
    else files.push(await readFile(entry as FileSystemFileEntry));
  }
  return files;
}

/** Reads all entries of a folder. Each read returns some of them. A read that returns none means that all were read. */
async function readEntries(folder: FileSystemDirectoryEntry): Promise<readonly FileSystemEntry[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return entries;
    entries.push(...batch);
  }
}

async function readFile(entry: FileSystemFileEntry): Promise<File> {
  const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
  setPath(file, entry.fullPath.replace(/^\//, ''));
  return file;
}

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
