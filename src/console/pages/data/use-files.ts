import { useEffect, useState } from 'preact/hooks';
import { takeOfferedFiles } from '../../state/dropped.js';
import { count } from '../../words/numbers.js';
import { pathOf } from './folder-files.js';
import { nameFrom, troubleOfFiles, withFiles, type ImportFile } from './import-files.js';
import { sourcesOf } from './sources.js';

/**
 * Returns the chosen files. Archives are replaced by the files that they contain.
 * @param onName called with a name for the store that the first files propose
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
    const { sources, ignored, trouble: found } = await sourcesOf(added);
    onChange();
    if (added.length > 0) onName(nameFrom(added.map(pathOf), new Date().toISOString().slice(0, 10)));
    setFiles((now) => withFiles(now, sources));
    setTrouble(found);
    setNotes(ignored.length === 0 ? [] : [ignoredText(ignored)]);
  };
  useEffect(() => {
    const brought = takeOfferedFiles();
    if (brought.length > 0) void add(brought);
  }, []);
  return {
    files,
    notes,
    trouble: trouble ?? troubleOfFiles(files),
    add: (added: readonly File[]) => void add(added),
    change,
  };
}

/** Maximum number of names in the note about ignored files. */
const IGNORED_MAX = 3;

const ignoredText = (names: readonly string[]): string =>
  `Ignored, because they are not tables: ${names.slice(0, IGNORED_MAX).join(', ')}${names.length > IGNORED_MAX ? ` and ${count(names.length - IGNORED_MAX)} more` : ''}.`;
