import { Refusal } from '#domain/refusals/refusal.js';
import { queryKeys } from './ask-for-keys.js';
import type { QueriedKeySource, Keys, KeySource } from '../../access/key-source.js';

/** Current keys of a source. */
export interface CurrentKeys {
  /**
   * Returns valid keys. @throws Refusal STORE_UNAVAILABLE if there are none; an ArtifactStoreFault for a failure that
   * requires other settings
   */
  get(): Promise<Keys>;
  /**
   * Marks keys as expired, so that the next call of `get` requests new ones. Called when the object store reports the
   * expiry. @returns false for fixed keys, which cannot be renewed
   */
  expired(keys: Keys): boolean;
  /** Returns the reason why the last request for keys failed. Returns undefined if it succeeded. */
  fault(): string | undefined;
}

/**
 * Time before their expiry at which temporary keys are renewed. Keys with a shorter lifetime are renewed in their last
 * quarter.
 */
const AHEAD_MS = 300_000;
/** Time before their expiry from which on keys are no longer used. A request takes time to arrive. */
const MARGIN_MS = 5000;
/** Age at which keys without an expiry are read again. A file may contain new keys. */
const UNDATED_MS = 60_000;
/** Delay between two attempts. */
const RETRY_MS = 2000;

/** Keys of this thread by source, shared by all users of the source. */
const keysBySource = new Map<string, CurrentKeys>();

export function createCurrentKeys(source: KeySource): CurrentKeys {
  if (source.kind === 'given') return { get: async () => source, expired: () => false, fault: () => undefined };
  const name = JSON.stringify(source);
  const result = keysBySource.get(name) ?? createRenewedKeys(source);
  keysBySource.set(name, result);
  return result;
}

export interface RenewalOptions {
  readonly now?: () => number;
  readonly ask?: (source: QueriedKeySource) => Promise<Keys>;
}

export function createRenewedKeys(
  source: QueriedKeySource,
  { now = Date.now, ask = queryKeys }: RenewalOptions = {},
): CurrentKeys {
  let keys: Keys | undefined;
  /** Time of the next request for keys. */
  let dueAt = 0;
  let failure: Refusal | undefined;
  let pendingRenewal: Promise<Keys> | undefined;

  async function requestKeys(): Promise<Keys> {
    try {
      keys = await ask(source);
      failure = undefined;
      dueAt = now() + computeLifetime(keys, now());
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

  /** Renews the keys; concurrent calls share one renewal. */
  function renew(): Promise<Keys> {
    pendingRenewal ??= requestKeys().finally(() => (pendingRenewal = undefined));
    return pendingRenewal;
  }

  const isValid = ({ expiresAt = Infinity }: Keys): boolean => now() < expiresAt - MARGIN_MS;

  return {
    async get() {
      const isDue = now() >= dueAt;
      if (keys !== undefined && (isValid(keys) || (!isDue && failure === undefined))) {
        if (isDue) renew().catch(() => {}); // `fault` reports the failure, and the next call retries
        return keys;
      }
      if (failure !== undefined && !isDue && pendingRenewal === undefined) throw failure;
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

/** Returns the time for which keys are used before new keys are requested. */
function computeLifetime({ expiresAt }: Keys, now: number): number {
  if (expiresAt === undefined) return UNDATED_MS;
  const remainingMs = expiresAt - now;
  return Math.max(RETRY_MS, remainingMs - Math.min(AHEAD_MS, remainingMs / 4));
}
