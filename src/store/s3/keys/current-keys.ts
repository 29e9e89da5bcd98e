import { Refusal } from '#domain/refusals/refusal.js';
import { askForKeys } from './ask-for-keys.js';
import type { AskedKeySource, Keys, KeySource } from '../../access/key-source.js';

/** Current keys of a source. */
export interface CurrentKeys {
  /**
   * @throws Refusal STORE_UNAVAILABLE if there are no valid keys; a PlaceFault for a failure that needs other settings
   */
  get(): Promise<Keys>;
  /** Called when the object store reports expired keys, to request new ones. @returns true if there may be new ones */
  expired(keys: Keys): boolean;
  /** Returns the reason why keys that are still valid could not be renewed; undefined if there is none. */
  fault(): string | undefined;
}

/** Time before their expiry at which temporary keys are renewed; shorter-lived ones in their last quarter. */
const AHEAD_MS = 300_000;
/** Time before their expiry at which keys are no longer used, because a request has to arrive. */
const MARGIN_MS = 5000;
/** Age at which keys without an expiry are read again, because a file may have new ones. */
const UNDATED_MS = 60_000;
/** Delay between two tries. */
const RETRY_MS = 2000;

/** Keys of this thread by source, which all users of a source share. */
const opened = new Map<string, CurrentKeys>();

export function createCurrentKeys(source: KeySource): CurrentKeys {
  if (source.kind === 'given') return { get: async () => source, expired: () => false, fault: () => undefined };
  const name = JSON.stringify(source);
  const result = opened.get(name) ?? createRenewedKeys(source);
  opened.set(name, result);
  return result;
}

export interface RenewalOptions {
  readonly now?: () => number;
  readonly ask?: (source: AskedKeySource) => Promise<Keys>;
}

export function createRenewedKeys(
  source: AskedKeySource,
  { now = Date.now, ask = askForKeys }: RenewalOptions = {},
): CurrentKeys {
  let keys: Keys | undefined;
  /** Time of the next request for keys. */
  let dueAt = 0;
  let failure: Refusal | undefined;
  let renewing: Promise<Keys> | undefined;

  async function requestKeys(): Promise<Keys> {
    try {
      keys = await ask(source);
      failure = undefined;
      dueAt = now() + lifeOf(keys, now());
      return keys;
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      failure =
        keys !== undefined || !(thrown instanceof Refusal)
          ? new Refusal('STORE_UNAVAILABLE', `The credentials of the object store cannot be renewed. ${reason}`)
          : thrown;
      dueAt = now() + RETRY_MS;
      throw failure;
    }
  }

  /** Renews the keys, once at a time. */
  function renew(): Promise<Keys> {
    renewing ??= requestKeys().finally(() => (renewing = undefined));
    return renewing;
  }

  const hold = ({ expiresAt = Infinity }: Keys): boolean => now() < expiresAt - MARGIN_MS;

  return {
    async get() {
      const isDue = now() >= dueAt;
      if (keys !== undefined && (hold(keys) || (!isDue && failure === undefined))) {
        if (isDue) renew().catch(() => {}); // `fault` reports it, and the next call retries
        return keys;
      }
      if (failure !== undefined && !isDue && renewing === undefined) throw failure;
      return renew();
    },
    expired(used) {
      if (keys === used) keys = { ...used, expiresAt: 0 };
      if (failure === undefined) dueAt = Math.min(dueAt, now());
      return true;
    },
    fault: () => failure?.message,
  };
}

/** Returns the time for which keys are used before new ones are requested. */
function lifeOf({ expiresAt }: Keys, now: number): number {
  if (expiresAt === undefined) return UNDATED_MS;
  const left = expiresAt - now;
  return Math.max(RETRY_MS, left - Math.min(AHEAD_MS, left / 4));
}
