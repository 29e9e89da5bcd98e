import { setTimeout as sleep } from 'node:timers/promises';
import type { FolderCall } from '../access/folder-calls.js';
import { SWEEP_PAGE } from '../artifact-terms.js';
import type { ArtifactStore } from '../port.js';
import { isArtifactName } from './artifact-owners.js';
import { readNames, type FolderTrash } from './folder-trash.js';
import { removeDraftSuffix } from './folder-writer.js';

interface SweepInput {
  readonly folder: string;
  readonly call: FolderCall;
  readonly trash: FolderTrash;
}

/** Discards orphaned files, page by page, then empties the trash. @returns the number of discarded files */
export async function sweepFolder(
  { folder, call, trash }: SweepInput,
  referenced: Parameters<ArtifactStore['sweep']>[0],
  { olderThanMs, trashMs = 0, pauseMs = 0, isWanted = () => true }: Parameters<ArtifactStore['sweep']>[1] = {},
): Promise<number> {
  const names = (await readNames(folder, olderThanMs, call)).filter((name) => isArtifactName(removeDraftSuffix(name)));
  let count = 0;
  for (let from = 0; from < names.length; from += SWEEP_PAGE) {
    const page = names.slice(from, from + SWEEP_PAGE);
    const ownedNames = await referenced(page);
    if (!isWanted()) return count;
    const unreferencedNames = page.filter((name) => !ownedNames.has(name));
    await trash.take(unreferencedNames);
    count += unreferencedNames.length;
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
  }
  if (isWanted()) await trash.empty(trashMs);
  return count;
}
