import type { Jobs } from '#jobs/job-kind.js';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';
import type { ResultBytes } from '../operations/jobs.js';

interface ResultUpgradeDependencies {
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'query'>;
}

/**
 * Upgrades results of backtests that an earlier version stored: those without snapshots that are stored by themselves.
 */
export function resultUpgrade({
  artifacts,
  jobs,
}: ResultUpgradeDependencies): (artifact: ArtifactRef) => Promise<ResultBytes> | null {
  return (artifact) => (artifact.inset === undefined ? upgraded(artifact) : null);

  async function upgraded(artifact: ArtifactRef): Promise<ResultBytes> {
    const path = await artifacts.file(artifact);
    const { bytes } = await jobs.query('upgrade-result', { path, sha256: artifact.sha256 });
    return { length: bytes.length, open: async () => new Blob([bytes]).stream() };
  }
}
