import { effect, signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { OnRefusal } from './actions.js';
import { worldVersion } from './resource.js';
import type { Trouble } from './service.js';

/** Request that was refused, and the component that sent it. */
interface RefusedRequest {
  readonly place: object;
  /**
   * Subject of the request, such as `run CORE`. A form in another place that shows its fields finds the refusal by it.
   */
  readonly about: string;
  readonly trouble: Trouble;
}

/** Last request if it was refused. The next request clears it. */
const lastRefusal = signal<RefusedRequest | null>(null);

/** After a change, clears the refusal of a busy service. The service may accept the request now. */
effect(() => {
  void worldVersion.value;
  if (lastRefusal.peek()?.trouble.retrySeconds != null) lastRefusal.value = null;
});

/** Returns the refusal of the last request about a subject; null if there is none. */
export const findRefusal = (about: string): Trouble | null =>
  lastRefusal.value?.about === about ? lastRefusal.value.trouble : null;

/** Clears the refusal because the request was changed. */
export function forgetRefusal(about: string): void {
  if (lastRefusal.value?.about === about) lastRefusal.value = null;
}

export interface RefusedQuery {
  /** Refusal of the last request from this component. */
  readonly trouble: Trouble | null;
  /** Sends a request about a subject. */
  ask<T>(about: string, request: (onRefusal: OnRefusal) => Promise<T>): Promise<T>;
}

/** Returns a function that sends requests, and the refusal of the last request. */
export function useAsking(): RefusedQuery {
  const [place] = useState({});
  return {
    trouble: lastRefusal.value?.place === place ? lastRefusal.value.trouble : null,
    ask(about, request) {
      lastRefusal.value = null;
      return request((trouble) => {
        lastRefusal.value = { place, about, trouble };
      });
    },
  };
}

/** Returns the subject of run requests. The form of the terms shows refusals of this subject. */
export const formatRunSubject = (id: string): string => `run ${id}`;
