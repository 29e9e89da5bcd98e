import { Refusal } from '#domain/refusals/refusal.js';
import { askForKeys } from './ask-for-keys.js';
import type { AskedKeySource, Keys, KeySource } from '../../access/key-source.js';

/** The keys of a source as they are now. */
export interface CurrentKeys {
  /** @throws Refusal STORE_UNAVAILABLE where there are none that hold; a PlaceFault for what only another setting mends */
  get(): Promise<Keys>;
  /** The object store says that keys have expired: others are asked for. @returns whether there may be any */
  expired(keys: Keys): boolean;
  /** Why keys that still hold could not be renewed; undefined while they could. */
  fault(): string | undefined;
}

/** Temporary keys are renewed so long before they expire, or in the last quarter of a shorter life. */
const AHEAD_MS = 300_000;
/** Keys are used no more so shortly before they expire: the request has to arrive. */
const MARGIN_MS = 5000;
/** Keys that say nothing of their end are looked for again, as a file may have others. */
const UNDATED_MS = 60_000;
/** Between two tries. */
const RETRY_MS = 2000;

/** Of this thread, by source: all that use a source share its keys. */
const opened = new Map<string, CurrentKeys>();

export function currentKeys(source: KeySource): CurrentKeys {
  if (source.kind === 'given') return { get: async () => source, expired: () => false, fault: () => undefined };
  const name = JSON.stringify(source);
  const found = opened.get(name) ?? renewedKeys(source);
  opened.set(name, found);
  return found;
}

export interface RenewalOptions {
  readonly now?: () => number;
  readonly ask?: (source: AskedKeySource) => Promise<Keys>;
}

export function renewedKeys(
  source: AskedKeySource,
  { now = Date.now, ask = askForKeys }: RenewalOptions = {},
): CurrentKeys {
  let keys: Keys | undefined;
  /** When keys are asked for next. */
  let dueAt = 0;
  let failure: Refusal | undefined;
  let renewing: Promise<Keys> | undefined;

  async function renew(): Promise<Keys> {
    try {
      keys = await ask(source);
      failure = undefined;
      dueAt = now() + lifeOf(keys, now());
      return keys;
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      failure =
        keys !== undefined || !(thrown instanceof Refusal)
          ? new Refusal('STORE_UNAVAILABLE', `The keys of the object store cannot be renewed. ${reason}`)
          : thrown;
      dueAt = now() + RETRY_MS;
      throw failure;
    }
  }

  /** One at a time. */
  function renewed(): Promise<Keys> {
    renewing ??= renew().finally(() => (renewing = undefined));
    return renewing;
  }

  const hold = ({ expiresAt = Infinity }: Keys): boolean => now() < expiresAt - MARGIN_MS;

  return {
    async get() {
      const isDue = now() >= dueAt;
      if (keys !== undefined && (hold(keys) || (!isDue && failure === undefined))) {
        if (isDue) renewed().catch(() => {}); // It is told by `fault`, and tried again.
        return keys;
      }
      if (failure !== undefined && !isDue && renewing === undefined) throw failure;
      return renewed();
    },
    expired(used) {
      if (keys === used) keys = { ...used, expiresAt: 0 };
      if (failure === undefined) dueAt = Math.min(dueAt, now());
      return true;
    },
    fault: () => failure?.message,
  };
}

/** How long keys are used before others are asked for. */
function lifeOf({ expiresAt }: Keys, now: number): number {
  if (expiresAt === undefined) return UNDATED_MS;
  const left = expiresAt - now;
  return Math.max(RETRY_MS, left - Math.min(AHEAD_MS, left / 4));
}
