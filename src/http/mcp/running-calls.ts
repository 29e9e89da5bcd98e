import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';

/** Identity of a request: its sender, its session and its id. Clients choose the id themselves. */
export interface CallName {
  readonly keyId: string | null;
  /** Session id that the service sent in its first response. Undefined if the client does not send it back. */
  readonly session: string | undefined;
  readonly id: string | number;
}

/** Running requests of agents. A later message can cancel one. */
export interface RunningCalls {
  /** Registers a running request. @throws Refusal RATE_LIMITED if the key has too many running requests */
  begin(name: CallName): { readonly signal: AbortSignal; end(): void };
  /** Aborts a request. Ignores a request that is unknown or has ended, as the protocol requires. */
  cancel(name: CallName): void;
}

export function createRunningCalls(perKeyMax: number = LIMITS.MAX_KEY_TOOL_CALLS): RunningCalls {
  const runningCalls = new Map<string, AbortController>();
  const counts = new Map<string | null, number>();

  return {
    begin(name) {
      const { keyId } = name;
      const count = counts.get(keyId) ?? 0;
      if (count >= perKeyMax) {
        const message = `${count} MCP requests of the key are running; ${perKeyMax} are accepted at once.`;
        throw new Refusal('RATE_LIMITED', message, { limit: perKeyMax });
      }
      counts.set(keyId, count + 1);
      const controller = new AbortController();
      const key = formatKey(name);
      if (key !== undefined) runningCalls.set(key, controller);
      return {
        signal: controller.signal,
        end() {
          if (key !== undefined && runningCalls.get(key) === controller) runningCalls.delete(key);
          const remainingCount = counts.get(keyId)! - 1;
          if (remainingCount === 0) counts.delete(keyId);
          else counts.set(keyId, remainingCount);
        },
      };
    },
    cancel(name) {
      const key = formatKey(name);
      if (key !== undefined) runningCalls.get(key)?.abort(CANCELLED);
    },
  };
}

/** Abort reason if the client cancels a request. A lost connection has another reason. */
export const CANCELLED = Symbol('cancelled');

/**
 * Returns undefined for a client without a session. Such clients may use the same ids, so their requests cannot be
 * cancelled.
 */
const formatKey = ({ keyId, session, id }: CallName): string | undefined =>
  session === undefined ? undefined : JSON.stringify([keyId, session, id]);
