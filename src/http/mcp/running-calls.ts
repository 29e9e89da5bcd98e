import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';

/** Identity of a request: its sender, its session and its id, which clients choose themselves. */
export interface CallName {
  readonly keyId: string | null;
  /** Session id in the first response of the service; undefined for a client that does not store it. */
  readonly session: string | undefined;
  readonly id: string | number;
}

/** Running requests of agents, which a later message may cancel. */
export interface RunningCalls {
  /** Registers a running request. @throws Refusal RATE_LIMITED if the key has too many running requests */
  begin(name: CallName): { readonly signal: AbortSignal; end(): void };
  /** Aborts a request; ignores an unknown or ended request, as the protocol requires. */
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

/** Abort reason of a cancellation by the client, distinct from a lost connection. */
export const CANCELLED = Symbol('cancelled');

/**
 * Returns no key for clients without a session, because they may use the same ids; their requests cannot be
 * cancelled.
 */
const formatKey = ({ keyId, session, id }: CallName): string | undefined =>
  session === undefined ? undefined : JSON.stringify([keyId, session, id]);
