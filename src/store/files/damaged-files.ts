import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { FolderCall } from '../access/folder-calls.js';
import type { DatedArtifact } from '../artifact-terms.js';

/** Maximum number of files that are recorded as verified. It is enough for the columns and prices of 10,000 runs. */
const REMEMBERED_FILES_MAX = 32_768;
/**
 * Maximum number of bytes that one check verifies. Reading and hashing them takes about 0.3 s. Later checks verify the
 * other files.
 */
const VERIFIED_BYTES_MAX = 512 * 2 ** 20;
/** Number of concurrent checks. It keeps the threads for file access busy. */
const CHECK_CONCURRENCY = 16;

interface DamageCheckInput {
  path(name: string): string;
  isIntact(ref: DatedArtifact['ref']): Promise<boolean>;
  readonly call: FolderCall;
}

/** Creates the check of `ArtifactStore.damaged`. It compares the metadata of files and verifies only changed files. */
export function createDamageCheck({ path, isIntact, call }: DamageCheckInput) {
  /** Metadata of verified files, least recently verified first. */
  const verifiedStates = new Map<string, string>();

  function remember(name: string, state: string): void {
    verifiedStates.delete(name);
    verifiedStates.set(name, state);
    for (const oldest of verifiedStates.keys())
      if (verifiedStates.size > REMEMBERED_FILES_MAX) verifiedStates.delete(oldest);
  }

  async function isDamaged({ ref, madeAt }: DatedArtifact, budget: { bytes: number }): Promise<boolean> {
    const result = await call(() => stat(path(ref.name)).catch(ignoreAbsent));
    if (result?.size !== ref.bytes) return true;
    const stateText = formatState(result);
    if (result.mtimeMs <= madeAt || verifiedStates.get(ref.name) === stateText || budget.bytes < ref.bytes)
      return false;
    budget.bytes -= ref.bytes;
    if (!(await isIntact(ref))) return true;
    remember(ref.name, stateText);
    return false;
  }

  return async (files: readonly DatedArtifact[]): Promise<ReadonlySet<string>> => {
    const damagedNames = new Set<string>();
    const budget = { bytes: VERIFIED_BYTES_MAX };
    const remainingFiles = files.values();
    const checkFiles = async (): Promise<void> => {
      for (const file of remainingFiles) if (await isDamaged(file, budget)) damagedNames.add(file.ref.name);
    };
    await Promise.all(Array.from({ length: Math.min(CHECK_CONCURRENCY, files.length) }, checkFiles));
    return damagedNames;
  };
}

const formatState = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(' ');

function ignoreAbsent(thrown: unknown): undefined {
  if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
  throw thrown;
}
