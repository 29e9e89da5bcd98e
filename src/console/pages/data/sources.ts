import { ACCEPTED, endingOf, type Source } from './file-kinds.js';
import { pathOf } from './folder-files.js';
import { ArchiveFault, membersOf } from './unzip.js';

/** Chosen files. Archives are replaced by the files that they contain. */
export interface ChosenFiles {
  readonly sources: readonly Source[];
  /** Names of files in archives and folders that contain no table. */
  readonly ignored: readonly string[];
  /** Reason why an archive cannot be read; null if all archives can be read. */
  readonly trouble: string | null;
}

const TABLES = ['.csv', '.tsv', '.txt', '.parquet'];

/** Reads the files of archives, and names files of folders by their paths. */
export async function sourcesOf(files: readonly File[]): Promise<ChosenFiles> {
  const sources: Source[] = [];
  const ignored: string[] = [];
  for (const file of files) {
    const path = pathOf(file);
    const isInFolder = path.includes('/');
    if (isInFolder && (isOfTheSystem(path) || !ACCEPTED.split(',').includes(endingOf(file)))) {
      if (!isOfTheSystem(path)) ignored.push(path);
      continue;
    }
    if (endingOf(file) !== '.zip') {
      sources.push(isInFolder ? inFolder(file, path) : file);
      continue;
    }
    try {
      const members = (await membersOf(file)).filter(({ name }) => !isOfTheSystem(name));
      const hasText = members.some((member) => TABLES.includes(endingOf(member)));
      const isTable = (member: Source) => (hasText ? TABLES : ['.xlsx']).includes(endingOf(member));
      const tables = members.filter(isTable);
      if (tables.length === 0) throw new ArchiveFault(`${file.name} contains no CSV file, Parquet file or workbook.`);
      sources.push(...tables);
      ignored.push(...members.filter((member) => !isTable(member)).map(({ name }) => name));
    } catch (failure) {
      if (!(failure instanceof ArchiveFault)) throw failure;
      return { sources, ignored, trouble: failure.message };
    }
  }
  return { sources, ignored, trouble: null };
}

/** Returns a file of a folder, named by its path within the folder. */
const inFolder = (file: File, path: string): Source => ({
  name: path.slice(path.indexOf('/') + 1),
  size: file.size,
  arrayBuffer: () => file.arrayBuffer(),
});

/**
 * Returns true for files that operating systems add to archives. Their names begin with a dot or two underscores. The
 * service ignores the same files.
 */
const isOfTheSystem = (name: string): boolean => name.split('/').some((part) => /^(\.(?!\.)|__)/.test(part));
