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

/** Refusals of the last request, or of the last group of requests. The next request clears them. */
const lastRefusals = signal<readonly RefusedRequest[]>([]);

/** After a change, clears the refusal of a busy service. The service may accept the request now. */
effect(() => {
  void worldVersion.value;
  removeRefusals(({ trouble }) => trouble.retrySeconds !== null);
});

function removeRefusals(isRemoved: (refusal: RefusedRequest) => boolean): void {
  const remainingRefusals = lastRefusals.peek().filter((refusal) => !isRemoved(refusal));
  if (remainingRefusals.length < lastRefusals.peek().length) lastRefusals.value = remainingRefusals;
}

/** Returns the refusal of the last request about a subject; null if there is none. */
export const findRefusal = (about: string): Trouble | null =>
  lastRefusals.value.find((refusal) => refusal.about === about)?.trouble ?? null;

/** Clears the refusal because the request was changed. */
export const forgetRefusal = (about: string): void => removeRefusals((refusal) => refusal.about === about);

/** Request that has not been sent yet. */
interface PendingRequest {
  readonly about: string;
  readonly request: (onRefusal: OnRefusal) => Promise<unknown>;
}

export interface RefusedQuery {
  /** Refusal of the last request from this component. */
  readonly trouble: Trouble | null;
  /** Refusals of the last request, or of all requests of the last group, from this component. */
  readonly troubles: readonly Trouble[];
  /** Sends a request about a subject. */
  ask<T>(about: string, request: (onRefusal: OnRefusal) => Promise<T>): Promise<T>;
  /** Sends a group of requests one after the other. */
  askAll(requests: readonly PendingRequest[]): Promise<void>;
}

/** Returns functions that send requests, and the refusals of the last ones. */
export function useAsking(): RefusedQuery {
  const [place] = useState({});
  const troubles = lastRefusals.value.filter((refusal) => refusal.place === place).map(({ trouble }) => trouble);
  const createHandler =
    (about: string): OnRefusal =>
    (trouble) => {
      lastRefusals.value = [...lastRefusals.peek(), { place, about, trouble }];
    };
  return {
    trouble: troubles.at(-1) ?? null,
    troubles,
    ask(about, request) {
      lastRefusals.value = [];
      return request(createHandler(about));
    },
    async askAll(requests) {
      lastRefusals.value = [];
      for (const { about, request } of requests) await request(createHandler(about));
    },
  };
}

/** Returns the subject of run requests. The form of the terms shows refusals of this subject. */
export const formatRunSubject = (id: string): string => `run ${id}`;
