import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal, isUnavailable } from '#domain/refusals/refusal.js';
import type { ArtifactLocation } from './artifact-location.js';
import type { ArtifactHealth } from '../access/artifact-health.js';
import { openMarker, type StoreMarker } from './marker.js';
import { findCode } from '../access/artifact-fault.js';

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
  /** Required id of the store. */
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
      if (isUnavailable(thrown)) {
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
