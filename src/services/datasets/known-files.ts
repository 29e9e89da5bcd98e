import type { EarlierContentFiles } from '#jobs/tasks/files.js';
import type { ArtifactStore } from '#store/port.js';
import type { DataVersions } from './data-versions.js';

interface VersionFilesDependencies {
  readonly artifacts: Pick<ArtifactStore, 'file'>;
  readonly dataVersions: Pick<DataVersions, 'before'>;
}

/** Returns the contents that were known before a version, as files on this machine. @throws Refusal NO_DATA_KNOWN */
export async function listVersionFilesBefore(
  { artifacts, dataVersions }: VersionFilesDependencies,
  version: number | null,
): Promise<EarlierContentFiles> {
  const { knownOn, earlier } = await dataVersions.before(version);
  const files = earlier.map(async ({ artifact, ...content }) => ({
    ...content,
    path: await artifacts.file({ name: artifact }),
  }));
  return { knownOn, earlier: await Promise.all(files) };
}
