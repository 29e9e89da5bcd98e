import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';

/** Who sent a request, and its name: clients choose the ids of their requests themselves. */
export interface CallName {
  readonly keyId: string | null;
  /** Session that the service named in its first answer; undefined of a client that keeps none. */
  readonly session: string | undefined;
  readonly id: string | number;
}

/** Requests of agents that run now, which a later message may cancel. */
export interface RunningCalls {
  /** @throws Refusal RATE_LIMITED where the key has too many */
  begin(name: CallName): { readonly signal: AbortSignal; end(): void };
  /** Aborts a request; one that is unknown or has ended is ignored, as the protocol requires. */
  cancel(name: CallName): void;
}

export function createRunningCalls(perKeyMax: number = LIMITS.MAX_KEY_TOOL_CALLS): RunningCalls {
  const running = new Map<string, AbortController>();
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
      const key = keyOf(name);
      if (key !== undefined) running.set(key, controller);
      return {
        signal: controller.signal,
        end() {
          if (key !== undefined && running.get(key) === controller) running.delete(key);
          const left = counts.get(keyId)! - 1;
          if (left === 0) counts.delete(keyId);
          else counts.set(keyId, left);
        },
      };
    },
    cancel(name) {
      const key = keyOf(name);
      if (key !== undefined) running.get(key)?.abort(CANCELLED);
    },
  };
}

/** Reason of a signal that a client's message has aborted, where a lost connection has another one. */
export const CANCELLED = Symbol('cancelled');

/** Clients without a session may use the same ids: their requests cannot be cancelled. */
const keyOf = ({ keyId, session, id }: CallName): string | undefined =>
  session === undefined ? undefined : JSON.stringify([keyId, session, id]);
