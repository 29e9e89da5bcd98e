import { setTimeout as sleep } from 'node:timers/promises';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import { findCode, isUnavailable as isArtifactUnavailable, refuseDamagedArtifact } from '../artifacts/artifact.js';
import type { ArtifactHealth, ArtifactStore } from '../port.js';
import type { ArtifactLocation } from './artifact-location.js';
import { openMarker, type StoreMarker } from './marks.js';

/** Periodic check of an artifact store. Requests therefore need not check it. */
export interface StoreWatch extends ArtifactHealth {
  close(): void;
}

/** Intervals between checks. The first is for a healthy artifact store, the second for a faulty one. */
const CHECK_INTERVAL_MS = 5000;
const FAULT_CHECK_MS = 1000;
/** Time without an answer after which a check counts as failed. The next check waits for the end of the failed one. */
const ANSWER_MS = 5000;

export interface StoreWatchOptions {
  readonly storeId: string;
  /** Called with the fault when one appears. Called with undefined when it is resolved. */
  readonly onChange?: ((fault: string | undefined) => void) | undefined;
  /** Called with a warning before a failure that is expected. Called with undefined when it is resolved. */
  readonly onWarning?: ((warning: string | undefined) => void) | undefined;
}

export async function watchStore(
  place: ArtifactLocation,
  { storeId, onChange = () => {}, onWarning = () => {} }: StoreWatchOptions,
): Promise<StoreWatch> {
  const marker = await openMarker(place, { patienceMs: 0, answerMs: ANSWER_MS });
  let fault: string | undefined;
  let warning: string | undefined;
  /** True if a call failed since the artifact store was last writable. */
  let isSuspect = false;
  let pendingLook: Promise<string | undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function reportFault(found: string | undefined): void {
    const isNews = (found === undefined) !== (fault === undefined);
    fault = found;
    if (isNews && !isClosed) onChange(found);
    const newWarning = marker.warning();
    const isWarning = (newWarning === undefined) !== (warning === undefined);
    warning = newWarning;
    if (isWarning && !isClosed) onWarning(newWarning);
  }

  function checkStore(): Promise<void> {
    pendingLook ??= readFault(storeId, { marker, isProbed: isSuspect }).finally(() => (pendingLook = undefined));
    const answerTimeout = sleep(ANSWER_MS, `${FAULT_SUBJECT} does not answer.`, { ref: false });
    return Promise.race([pendingLook, answerTimeout]).then((found) => {
      reportFault(found);
      if (found === undefined) isSuspect = false;
    });
  }

  function scheduleCheck(): void {
    clearTimeout(timer);
    if (isClosed) return;
    timer = setTimeout(
      () => void checkStore().finally(scheduleCheck),
      isSuspect || fault ? FAULT_CHECK_MS : CHECK_INTERVAL_MS,
    );
    timer.unref();
  }

  scheduleCheck();
  return {
    fault: () => fault,
    async explain(thrown) {
      if (isStoreUnavailable(thrown)) {
        isSuspect = true;
        if (fault === undefined) reportFault(thrown.message);
        scheduleCheck();
        return thrown;
      }
      if (thrown instanceof Refusal && thrown.code !== 'DOCUMENT_UNREADABLE') return thrown;
      await checkStore();
      scheduleCheck();
      return fault === undefined ? thrown : new Refusal('STORE_UNAVAILABLE', fault, null, { cause: thrown });
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

interface FaultCheck {
  readonly marker: StoreMarker;
  /** True to test writing as well. */
  readonly isProbed: boolean;
}

/** Returns the current fault of an artifact store. Returns undefined if it is healthy. Never rejects. */
async function readFault(storeId: string, { marker, isProbed }: FaultCheck): Promise<string | undefined> {
  try {
    const result = (await marker.read())?.storeId;
    if (result === undefined) return `${FAULT_SUBJECT} is unavailable: there is no marker of the store ${storeId}.`;
    if (result !== storeId) return `${FAULT_SUBJECT} is the store ${result}; the database names the store ${storeId}.`;
    if (isProbed) await marker.probe();
    return undefined;
  } catch (thrown) {
    return thrown instanceof Refusal
      ? thrown.message
      : `${FAULT_SUBJECT} cannot be used: ${findCode(thrown) ?? thrown}.`;
  }
}

/**
 * Subject of faults for clients. It does not contain the location of the artifact store, which only the log contains.
 */
const FAULT_SUBJECT = 'The results storage';

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
        if (isArtifactUnavailable(thrown)) return new Set();
        throw thrown;
      }
    },
    async remove(names) {
      if (health.fault() !== undefined) return;
      await artifacts.remove(names).catch((thrown: unknown) => {
        if (!isArtifactUnavailable(thrown)) throw thrown;
      });
    },
    async discard(names) {
      if (health.fault() !== undefined) return;
      await artifacts.discard(names).catch((thrown: unknown) => {
        if (!isArtifactUnavailable(thrown)) throw thrown;
      });
    },
    restore: (names) => writeText(() => artifacts.restore(names)),
    async sweep(referenced, options) {
      assertWell();
      return artifacts.sweep(referenced, options);
    },
  };
}
