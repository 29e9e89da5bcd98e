import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { OnRefusal } from './actions.js';
import type { Trouble } from './service.js';

/** A request that the service refused, with the place on the page that it was asked from. */
interface RefusedRequest {
  readonly place: object;
  /** What it asked for, where forms elsewhere show its fields: `run CORE`. */
  readonly about: string;
  readonly trouble: Trouble;
}

/** The last request, where it was refused: the next one takes its place. */
const last = signal<RefusedRequest | null>(null);

/** What the service said against the last request about something; null where it was not refused. */
export const refusalAbout = (about: string): Trouble | null =>
  last.value?.about === about ? last.value.trouble : null;

/** Forgets it: what was asked is changed. */
export function forgetRefusal(about: string): void {
  if (last.value?.about === about) last.value = null;
}

export interface Asking {
  /** What the service said against the last request, where it came from here. */
  readonly trouble: Trouble | null;
  /** Sends a request about something. */
  ask<T>(about: string, request: (onRefusal: OnRefusal) => Promise<T>): Promise<T>;
}

/** A place that requests come from, and that tells why one was refused. */
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
