import { join } from 'node:path';
import { parseArtifactLocation, type ArtifactLocation } from '#store/ownership/artifact-location.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import type { HomeFolders } from '#store/home/home.js';
import { selectAwsSettings } from './aws-settings.js';
import type { Settings } from './settings.js';

/** Returns the location of the documents, if they are not in the home. */
export function readDatabase({
  database,
  databasePooler: pooler,
  migrate,
}: Settings): { url: string; pooler: string | undefined; migrate: boolean } | undefined {
  return database === undefined ? undefined : { url: database, pooler, migrate };
}

/**
 * Returns the folders that contain files of a service. Parts that are stored elsewhere are left out. With an object
 * store, its cache is included.
 */
export function listFolders(
  { path, documents, artifacts, stores, backups }: HomeFolders,
  { database, artifacts: resultsLocation, cache = join(path, 'cache') }: Partial<Settings> = {},
): Readonly<Record<string, string>> {
  return {
    ...(database === undefined ? { documents, backups } : {}),
    ...(resultsLocation === undefined ? { artifacts } : {}),
    stores,
    ...(resultsLocation?.startsWith('s3:') === true ? { cache } : {}),
  };
}

/**
 * Returns the location of the artifacts, if they are not in the home. @throws StartRefusal 78 without a database, or
 * without credentials for a bucket
 */
export function readArtifactLocation(settings: Settings): ArtifactLocation | undefined {
  const { artifacts: url, home, cache: folder = join(home, 'cache'), cacheMegabytes } = settings;
  if (url === undefined) return undefined;
  if (settings.database === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, 'Artifacts outside the home require a database: set --database too.');
  return parseArtifactLocation({
    url,
    cache: { folder, bytesMax: cacheMegabytes * 2 ** 20 },
    aws: selectAwsSettings(settings),
  });
}
