import { join } from 'node:path';
import { artifactPlace, type ArtifactPlace } from '#store/place/artifact-place.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import type { HomeFolders } from '#store/home/home.js';
import { awsOf } from './aws-settings.js';
import type { Settings } from './settings.js';

/** Where the documents are, unless in the home. */
export function databaseOf({
  database,
  databasePooler: pooler,
  migrate,
}: Settings): { url: string; pooler: string | undefined; migrate: boolean } | undefined {
  return database === undefined ? undefined : { url: database, pooler, migrate };
}

/** Folders with files of a service: a part that lies elsewhere is none of them, and an object store has copies here. */
export function partsOf(
  { path, documents, artifacts, stores, backups }: HomeFolders,
  { database, artifacts: place, cache = join(path, 'cache') }: Partial<Settings> = {},
): Readonly<Record<string, string>> {
  return {
    ...(database === undefined ? { documents, backups } : {}),
    ...(place === undefined ? { artifacts } : {}),
    stores,
    ...(place?.startsWith('s3:') === true ? { cache } : {}),
  };
}

/** Where the artifacts are, unless in the home. @throws StartRefusal 78 without a database, or credentials of a bucket */
export function artifactsOf(settings: Settings): ArtifactPlace | undefined {
  const { artifacts: url, home, cache: folder = join(home, 'cache'), cacheMegabytes } = settings;
  if (url === undefined) return undefined;
  if (settings.database === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, 'Artifacts beside the home need a database: give --database too.');
  return artifactPlace({
    url,
    cache: { folder, bytesMax: cacheMegabytes * 2 ** 20 },
    aws: awsOf(settings),
  });
}
