import { readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';

/**
 * Watches folders and all folders within them. Each folder has a separate watcher: the recursive watcher of Node 20
 * follows files by inode on Linux, so that it misses every change of a file after an editor has replaced it.
 * @param onChange receives the path of a written, replaced or removed file
 */
export function watchFolders(folders, onChange) {
  /** Watchers by path, each with the inode that it follows. */
  const watched = new Map();

  function add(folder) {
    const { ino } = statSync(folder);
    if (watched.get(folder)?.ino === ino) return;
    forget(folder);
    const watcher = watch(folder, (_event, name) => changed(folder, name ?? ''));
    watcher.on('error', () => forget(folder));
    watched.set(folder, { watcher, ino });
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) add(join(folder, entry.name));
  }

  function forget(folder) {
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
  }

  function changed(folder, name) {
    for (const path of [folder, join(folder, name)]) {
      try {
        if (statSync(path).isDirectory()) add(path);
      } catch (error) {
        if (error.code !== 'ENOENT') throw error;
        forget(path);
      }
    }
    onChange(join(folder, name));
  }

  folders.forEach(add);
}
