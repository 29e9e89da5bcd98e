import { effect, signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { OnRefusal } from './actions.js';
import { world } from './resource.js';
import type { Trouble } from './service.js';

/** Refused request, with the place on the page where it was made. */
interface RefusedRequest {
  readonly place: object;
  /** Subject of the request, for forms elsewhere that show its fields: `run CORE`. */
  readonly about: string;
  readonly trouble: Trouble;
}

/** Last request, if it was refused. The next one replaces it. */
const last = signal<RefusedRequest | null>(null);

/** A busy service may answer after a change. */
effect(() => {
  void world.value;
  if (last.peek()?.trouble.retrySeconds != null) last.value = null;
});

/** Refusal of the last request about a subject; null if it was accepted. */
export const refusalAbout = (about: string): Trouble | null =>
  last.value?.about === about ? last.value.trouble : null;

/** Clears the refusal, because the request changed. */
export function forgetRefusal(about: string): void {
  if (last.value?.about === about) last.value = null;
}

export interface Asking {
  /** Refusal of the last request from this place. */
  readonly trouble: Trouble | null;
  /** Sends a request about something. */
  ask<T>(about: string, request: (onRefusal: OnRefusal) => Promise<T>): Promise<T>;
}

/** A source of requests that shows why one was refused. */
export function useAsking(): Asking {
  const [place] = useState({});
  return {
    trouble: last.value?.place === place ? last.value.trouble : null,
    ask(about, request) {
      last.value = null;
      return request((trouble) => {
        last.value = { place, about, trouble };
      });
    },
  };
}

/** Subject of requests for runs: the form of their terms shows the refusals. */
export const runOf = (id: string): string => `run ${id}`;
