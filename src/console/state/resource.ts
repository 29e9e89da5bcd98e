import { effect, signal, useSignal, useSignalEffect } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { isReached, troubleOf, type Trouble } from './service.js';

/**
 * Increases whenever displayed data may have changed: a job ended, a document was saved, the service became available.
 */
export const world = signal(0);

export function notifyChange(): void {
  world.value++;
}

/** State of a response of the service. */
export interface Resource<T> {
  /** Last answer; undefined before the first. It is kept while a newer one is pending. */
  readonly data: T | undefined;
  readonly trouble: Trouble | null;
  readonly isLoading: boolean;
  reload(): void;
}

export interface ResourceOptions {
  /** True if the answer is requested again after changes. Default: true. */
  readonly follows?: boolean;
  /** True if the previous answer is kept until the new one arrives, for example after a change of dates. */
  readonly keeps?: boolean;
  /** True if the request waits until others are answered, because the page is readable without it. */
  readonly isLater?: boolean;
}

/** Pending requests, except those that wait for others. */
const busy = signal(0);
/** True if no request has been pending for a moment. */
const settled = signal(false);
/** Time in which an answer may cause further requests of a page. */
const SETTLED_MS = 40;
effect(() => {
  if (busy.value > 0) {
    settled.value = false;
    return undefined;
  }
  const timer = setTimeout(() => {
    settled.value = true;
  }, SETTLED_MS);
  return () => clearTimeout(timer);
});

/** Answers requested before their page was loaded. */
const primed = new Map<string, Promise<unknown>>();

/** Makes the first request of a page before the page is loaded. @param key of the request, as used by the page */
export function prime<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): void {
  if (primed.has(key)) return;
  const answer = ask(new AbortController().signal);
  answer.catch(() => undefined); // The page takes the failure.
  primed.set(key, answer);
}

/** Earlier answers, so that a revisited page shows them immediately. */
const seen = new Map<string, unknown>();
const SEEN_MAX = 60;

function keep(key: string, data: unknown): void {
  seen.delete(key);
  seen.set(key, data);
  const [oldest] = seen.keys();
  if (seen.size > SEEN_MAX && oldest !== undefined) seen.delete(oldest);
}

/** Forgets what was seen: another key may see other things. */
export function forgetSeen(): void {
  seen.clear();
}

/**
 * Makes a request, and repeats it when the key or `world` changes, and when a service that could not answer may be
 * ready. An obsolete request is aborted.
 * @param key identifies the request; null makes none
 */
export function useResource<T>(
  key: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  { follows = true, keeps = false, isLater = false }: ResourceOptions = {},
): Resource<T> {
  const data = useSignal<T | undefined>(undefined);
  const trouble = useSignal<Trouble | null>(null);
  const isLoading = useSignal(key !== null);
  const turn = useSignal(0);
  const wanted = useSignal(key);
  const question = useMemo(() => ({ ask, asked: key }), []);
  question.ask = ask;
  wanted.value = key;

  useSignalEffect(() => {
    void turn.value;
    if (follows) void world.value;
    const asked = wanted.value;
    if (asked === null) {
      data.value = undefined;
      trouble.value = null;
      isLoading.value = false;
      return undefined;
    }
    if (isLater && !seen.has(asked) && !settled.peek()) {
      void settled.value; // Asked again once it is.
      return undefined;
    }
    const known = seen.get(asked) as T | undefined;
    if (known !== undefined || (!keeps && question.asked !== asked)) data.value = known;
    question.asked = asked;
    const retry = () => void turn.value++;
    return answerInto({ key: asked, ask: question.ask, isLater, data, trouble, isLoading, again: retry });
  });

  return {
    data: data.value,
    trouble: trouble.value,
    isLoading: isLoading.value,
    reload: () => void turn.value++,
  };
}

/** Adds the automatic retry to the message of a failed read. Actions of a user are not retried. */
const askedAgain = (trouble: Trouble): Trouble =>
  trouble.code === null && trouble.retrySeconds !== null
    ? { ...trouble, message: `${trouble.message} The page retries automatically.` }
    : trouble;

interface Answering<T> {
  readonly key: string;
  readonly ask: (signal: AbortSignal) => Promise<T>;
  readonly isLater: boolean;
  readonly data: { value: T | undefined; peek(): T | undefined };
  readonly trouble: { value: Trouble | null };
  readonly isLoading: { value: boolean };
  again(): void;
}

/** @returns a function that aborts the request */
function answerInto<T>({ key, ask, isLater, data, trouble, isLoading, again }: Answering<T>): () => void {
  const given = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  isLoading.value = true;
  const early = primed.get(key) as Promise<T> | undefined; // It answers the same request.
  primed.delete(key);
  const answered = early ?? ask(given.signal);
  if (!isLater) {
    busy.value = busy.peek() + 1;
    const end = () => {
      busy.value = busy.peek() - 1;
    };
    answered.then(end, end);
  }
  answered.then(
    (answer) => {
      if (given.signal.aborted) return;
      keep(key, answer);
      data.value = answer;
      trouble.value = null;
      isLoading.value = false;
    },
    (thrown: unknown) => {
      if (given.signal.aborted) return;
      isLoading.value = false;
      const told = askedAgain(troubleOf(thrown));
      // Numbers of another request are not shown together with a refusal.
      if (told.retrySeconds === null && !seen.has(key)) data.value = undefined;
      // An unreachable service is reported once, above the page. Loaded data is kept.
      if (isReached.peek() || data.peek() === undefined) trouble.value = told;
      if (told.retrySeconds !== null) timer = setTimeout(again, told.retrySeconds * 1000);
    },
  );
  return () => {
    clearTimeout(timer);
    given.abort();
  };
}
