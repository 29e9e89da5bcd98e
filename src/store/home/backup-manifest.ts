import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';

/** Manifest of a copy of a home, with the hash of each file. */
export interface BackupManifest {
  readonly format: typeof MANIFEST_FORMAT;
  /** Version of the layout of the home. */
  readonly home_format: number;
  readonly engine_version: string;
  /** Time of the copy of the documents, ISO-8601 UTC. */
  readonly created_at: string;
  readonly documents: number;
  readonly files: readonly BackupFile[];
}

export interface BackupFile {
  /** Path relative to the folder of the backup, with slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export const MANIFEST_FORMAT = 1;
export const MANIFEST_NAME = 'manifest.json';

/**
 * Pattern of the files of a backup. They are one or two levels deep in these folders; a restore writes no other paths.
 */
const FILE_PATH = /^(?:documents|artifacts|stores)(?:\/[A-Za-z0-9_.-]{1,255}){1,2}$/;

/**
 * Reads the manifest of a backup. @throws StartRefusal 78 if the folder is not a backup, or its format is not supported
 */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readFile(join(folder, MANIFEST_NAME), 'utf8').catch(() => undefined);
  if (text === undefined)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `${folder} is not a backup: it has no ${MANIFEST_NAME}, which is written last.`,
    );
  const manifest = parseManifest(text);
  if (manifest?.format !== MANIFEST_FORMAT)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The backup ${folder} has the format ${String(manifest?.format)}; this engine reads ${MANIFEST_FORMAT}.`,
    );
  const isSound =
    Number.isInteger(manifest.home_format) && Array.isArray(manifest.files) && manifest.files.every(isFile);
  if (!isSound) throw new StartRefusal(EXIT_CONFIGURATION, `The manifest of the backup ${folder} is damaged.`);
  return manifest;
}

function parseManifest(text: string): BackupManifest | undefined {
  try {
    return JSON.parse(text) as BackupManifest;
  } catch {
    return undefined;
  }
}

function isFile({ path, bytes, sha256 }: BackupFile): boolean {
  return (
    typeof path === 'string' &&
    FILE_PATH.test(path) &&
    !path.split('/').some((part) => part === '.' || part === '..') &&
    Number.isInteger(bytes) &&
    /^[0-9a-f]{64}$/.test(sha256)
  );
}
