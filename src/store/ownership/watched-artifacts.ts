import { Refusal } from '#domain/refusals/refusal.js';
import { refuseDamagedArtifact } from '../access/artifact-damage.js';
import type { ArtifactStore } from '../port.js';
import type { ArtifactHealth } from '../access/artifact-health.js';
import { isUnavailable } from '../access/artifact-fault.js';

/**
 * Wraps an artifact store that may become unavailable. Missing files are then reported as STORE_UNAVAILABLE and not as
 * damage. While the store is unavailable, writes fail at once and reads use the local cache. Files are not removed; a
 * later sweep of unreferenced files removes them.
 */
export function watchArtifacts(artifacts: ArtifactStore, health: ArtifactHealth): ArtifactStore {
  function assertWell(): void {
    const fault = health.fault();
    if (fault !== undefined) throw new Refusal('STORE_UNAVAILABLE', fault);
  }

  async function explainFailure<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw await health.explain(thrown);
    }
  }

  async function writeText<T>(work: () => Promise<T>): Promise<T> {
    assertWell();
    return explainFailure(work);
  }

  return {
    health,
    ...(artifacts.forRequests && { forRequests: watchArtifacts(artifacts.forRequests, health) }),
    destination: artifacts.destination,
    newName: artifacts.newName,
    write: (bytes, sha256) => writeText(() => artifacts.write(bytes, sha256)),
    writeFile: (path) => writeText(() => artifacts.writeFile(path)),
    link: (files) => writeText(() => artifacts.link(files)),
    settle: () => writeText(() => artifacts.settle()),
    stream: (ref, range) => explainFailure(() => artifacts.stream(ref, range)),
    read: (ref, range) => explainFailure(() => artifacts.read(ref, range)),
    file: (ref) => explainFailure(() => artifacts.file(ref)),
    claim: (bytes) => writeText(() => artifacts.claim(bytes)),
    async isIntact(ref) {
      if (await artifacts.isIntact(ref)) return true;
      const refusal = refuseDamagedArtifact(ref.name);
      const cause = await health.explain(refusal);
      if (cause === refusal) return false;
      throw cause;
    },
    async damaged(files) {
      if (health.fault() !== undefined) return new Set();
      try {
        const result = await artifacts.damaged(files);
        const [first] = result;
        if (first === undefined) return result;
        // Files that are missing because the store has just become unavailable are not damaged.
        const refusal = refuseDamagedArtifact(first);
        return (await health.explain(refusal)) === refusal ? result : new Set();
      } catch (thrown) {
        if (isUnavailable(thrown)) return new Set();
        throw thrown;
      }
    },
    async remove(names) {
      if (health.fault() !== undefined) return;
      await artifacts.remove(names).catch((thrown: unknown) => {
        if (!isUnavailable(thrown)) throw thrown;
      });
    },
    async discard(names) {
      if (health.fault() !== undefined) return;
      await artifacts.discard(names).catch((thrown: unknown) => {
        if (!isUnavailable(thrown)) throw thrown;
      });
    },
    restore: (names) => writeText(() => artifacts.restore(names)),
    async sweep(referenced, options) {
      assertWell();
      return artifacts.sweep(referenced, options);
    },
  };
}
