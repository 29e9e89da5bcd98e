import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal, isUnavailable } from '#domain/refusals/refusal.js';
import type { ArtifactPlace } from './artifact-place.js';
import type { ArtifactHealth } from '../access/artifact-health.js';
import { openMarker, type PlaceMarker } from './marker.js';
import { codeOf } from '../access/place-fault.js';

/** Looks at a place from time to time, so that nobody who asks waits for it. */
export interface PlaceWatch extends ArtifactHealth {
  close(): void;
}

/** Between two looks, while all is well and while it is not. */
const LOOK_MS = 5000;
const FAULT_LOOK_MS = 1000;
/** A look without an answer for so long is a fault, and the next one waits for its end. */
const ANSWER_MS = 5000;

export interface PlaceWatchOptions {
  /** That the place has to be. */
  readonly storeId: string;
  /** Receives what is wrong once it is, and undefined once nothing is any more. */
  readonly onChange?: ((fault: string | undefined) => void) | undefined;
  /** Receives what will keep it from being had before long, and undefined once nothing will. */
  readonly onWarning?: ((warning: string | undefined) => void) | undefined;
}

export async function watchPlace(
  place: ArtifactPlace,
  { storeId, onChange = () => {}, onWarning = () => {} }: PlaceWatchOptions,
): Promise<PlaceWatch> {
  const marker = await openMarker(place, { patienceMs: 0, answerMs: ANSWER_MS });
  let fault: string | undefined;
  let warning: string | undefined;
  /** Something failed since the place could last be written. */
  let isSuspect = false;
  let looking: Promise<string | undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function say(found: string | undefined): void {
    const isNews = (found === undefined) !== (fault === undefined);
    fault = found;
    if (isNews && !isClosed) onChange(found);
    const warned = marker.warning();
    const isWarning = (warned === undefined) !== (warning === undefined);
    warning = warned;
    if (isWarning && !isClosed) onWarning(warned);
  }

  function look(): Promise<void> {
    looking ??= faultOf(storeId, { marker, isProbed: isSuspect }).finally(() => (looking = undefined));
    const late = sleep(ANSWER_MS, `${SAID} does not answer.`, { ref: false });
    return Promise.race([looking, late]).then((found) => {
      say(found);
      if (found === undefined) isSuspect = false;
    });
  }

  function lookLater(): void {
    clearTimeout(timer);
    if (isClosed) return;
    timer = setTimeout(() => void look().finally(lookLater), isSuspect || fault ? FAULT_LOOK_MS : LOOK_MS);
    timer.unref();
  }

  lookLater();
  return {
    fault: () => fault,
    async explain(thrown) {
      if (isUnavailable(thrown)) {
        isSuspect = true;
        if (fault === undefined) say(thrown.message);
        lookLater();
        return thrown;
      }
      if (thrown instanceof Refusal && thrown.code !== 'DOCUMENT_UNREADABLE') return thrown;
      await look();
      lookLater();
      return fault === undefined ? thrown : new Refusal('STORE_UNAVAILABLE', fault, null, { cause: thrown });
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

interface Look {
  readonly marker: PlaceMarker;
  /** Whether to write something as well. */
  readonly isProbed: boolean;
}

/** What is wrong with a place now. Never rejects. */
async function faultOf(storeId: string, { marker, isProbed }: Look): Promise<string | undefined> {
  try {
    const found = (await marker.read())?.storeId;
    if (found === undefined) return `${SAID} is away: there is no marker of the store ${storeId}.`;
    if (found !== storeId) return `${SAID} is the store ${found}; the database names the store ${storeId}.`;
    if (isProbed) await marker.probe();
    return undefined;
  } catch (thrown) {
    return thrown instanceof Refusal ? thrown.message : `${SAID} cannot be used: ${codeOf(thrown) ?? thrown}.`;
  }
}

/** Faults reach clients: where the place is stands in the log alone. */
const SAID = 'The place of the results';
