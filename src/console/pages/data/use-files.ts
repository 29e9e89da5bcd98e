import { useEffect, useState } from 'preact/hooks';
import { takeOfferedFiles } from '../../state/dropped.js';
import { formatFirstNames } from '../../words/first-names.js';
import { getPath } from './folder-files.js';
import { suggestName, findTrouble, addFiles, type ImportFile } from './import-files.js';
import { isAccepted, readSources } from './sources.js';

/**
 * Returns the selected files. Archives are replaced by the files that they contain.
 * @param onName called with a name for the store that the first files suggest
 */
export function useFiles(onChange: () => void, onName: (name: string) => void) {
  const [files, setFiles] = useState<readonly ImportFile[]>([]);
  const [notes, setNotes] = useState<readonly string[]>([]);
  const change = (next: readonly ImportFile[]) => {
    onChange();
    setNotes([]);
    setFiles(next);
  };
  const add = async (added: readonly File[]) => {
    const { sources, ignored, troubles } = await readSources(added);
    onChange();
    const paths = added.filter(isAccepted).map(getPath);
    if (paths.length > 0) onName(suggestName(paths, new Date().toISOString().slice(0, 10)));
    setFiles((now) => addFiles(now, sources));
    setNotes([...troubles, ...(ignored.length === 0 ? [] : [formatIgnored(ignored)])]);
  };
  useEffect(() => {
    const brought = takeOfferedFiles();
    if (brought.length > 0) void add(brought);
  }, []);
  return {
    files,
    notes,
    trouble: findTrouble(files),
    add: (added: readonly File[]) => void add(added),
    change,
  };
}

/** Maximum number of names in the note about ignored files. */
const IGNORED_MAX = 3;

const formatIgnored = (names: readonly string[]): string =>
  `Ignored: ${formatFirstNames(names, IGNORED_MAX)}. An import reads CSV, text, Parquet and xlsx files, and zip archives of them.`;
