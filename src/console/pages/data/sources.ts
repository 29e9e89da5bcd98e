import { ACCEPTED_EXTENSIONS, getExtension, type Source } from './file-kinds.js';
import { getPath } from './folder-files.js';
import { ArchiveFault, readMembers } from './unzip.js';

/** Chosen files. Archives are replaced by the files that they contain. */
export interface ChosenFiles {
  readonly sources: readonly Source[];
  /** Names of files whose format is not supported. */
  readonly ignored: readonly string[];
  /** Reasons why archives cannot be read. */
  readonly troubles: readonly string[];
}

const TABLE_ENDINGS = ['.csv', '.tsv', '.txt', '.parquet'];

/** Reads the files in archives. Names the files in folders by their paths. */
export async function readSources(files: readonly File[]): Promise<ChosenFiles> {
  const sources: Source[] = [];
  const ignoredFiles: string[] = [];
  const troubles: string[] = [];
  for (const file of files) {
    const path = getPath(file);
    const isInFolder = path.includes('/');
    if (isInFolder && isOfTheSystem(path)) continue;
    if (!isAccepted(file)) {
      ignoredFiles.push(path);
      continue;
    }
    if (getExtension(file) !== '.zip') {
      sources.push(isInFolder ? createSource(file, path) : file);
      continue;
    }
    try {
      const members = (await readMembers(file)).filter(({ name }) => !isOfTheSystem(name));
      const hasText = members.some((member) => TABLE_ENDINGS.includes(getExtension(member)));
      const isTable = (member: Source) => (hasText ? TABLE_ENDINGS : ['.xlsx']).includes(getExtension(member));
      const tables = members.filter(isTable);
      if (tables.length === 0) throw new ArchiveFault(`${file.name} contains no CSV file, Parquet file or workbook.`);
      sources.push(...tables);
      ignoredFiles.push(...members.filter((member) => !isTable(member)).map(({ name }) => name));
    } catch (failure) {
      if (!(failure instanceof ArchiveFault)) throw failure;
      troubles.push(failure.message);
    }
  }
  return { sources, ignored: ignoredFiles, troubles };
}

/** Returns true if an import reads the format of a file. */
export const isAccepted = (file: File): boolean => ACCEPTED_EXTENSIONS.split(',').includes(getExtension(file));

/** Returns a file of a folder. Its name is its path within the folder. */
const createSource = (file: File, path: string): Source => ({
  name: path.slice(path.indexOf('/') + 1),
  size: file.size,
  arrayBuffer: () => file.arrayBuffer(),
});

/**
 * Returns true for files that operating systems add to archives. Their names start with a dot or two underscores. The
 * service ignores these files as well.
 */
const isOfTheSystem = (name: string): boolean => name.split('/').some((part) => /^(\.(?!\.)|__)/.test(part));
