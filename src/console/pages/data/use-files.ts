import { useEffect, useState } from 'preact/hooks';
import { takeOfferedFiles } from '../../state/dropped.js';
import { formatFirstNames } from '../../words/first-names.js';
import { getPath } from './folder-files.js';
import { suggestName, findTrouble, addFiles, type ImportFile } from './import-files.js';
import { readSources } from './sources.js';

/**
 * Returns the selected files. Archives are replaced by the files that they contain.
 * @param onName called with a name for the store that the first files suggest
 */
export function useFiles(onChange: () => void, onName: (name: string) => void) {
  const [files, setFiles] = useState<readonly ImportFile[]>([]);
  const [notes, setNotes] = useState<readonly string[]>([]);
  const [trouble, setTrouble] = useState<string | null>(null);
  const change = (next: readonly ImportFile[]) => {
    onChange();
    setTrouble(null);
    setNotes([]);
    setFiles(next);
  };
  const add = async (added: readonly File[]) => {
    const { sources, ignored, trouble: found } = await readSources(added);
    onChange();
    if (added.length > 0) onName(suggestName(added.map(getPath), new Date().toISOString().slice(0, 10)));
    setFiles((now) => addFiles(now, sources));
    setTrouble(found);
    setNotes(ignored.length === 0 ? [] : [formatIgnored(ignored)]);
  };
  useEffect(() => {
    const brought = takeOfferedFiles();
    if (brought.length > 0) void add(brought);
  }, []);
  return {
    files,
    notes,
    trouble: trouble ?? findTrouble(files),
    add: (added: readonly File[]) => void add(added),
    change,
  };
}

/** Maximum number of names in the note about ignored files. */
const IGNORED_MAX = 3;

const formatIgnored = (names: readonly string[]): string =>
  `Ignored, because they are not tables: ${formatFirstNames(names, IGNORED_MAX)}.`;
