import { effect, signal, useSignal, useSignalEffect } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { isReached, troubleOf, type Trouble } from './service.js';

/** Grows whenever something that pages show may have changed: a job ended, a document was saved, the service came back. */
export const world = signal(0);

export function notifyChange(): void {
  world.value++;
}

/** State of a response of the service. */
export interface Resource<T> {
  /** The last answer; undefined before the first. It is kept while a newer one is pending. */
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
  /** True if the question waits until the others are answered: the page can be read without the answer. */
  readonly isLater?: boolean;
}

/** Questions under way that nothing waits for. */
const busy = signal(0);
/** True once no question was under way for a moment. */
const settled = signal(false);
/** Time in which an answer leads to the next questions of a page. */
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

/** Answers that were asked for before their page was there. */
const primed = new Map<string, Promise<unknown>>();

/** Asks before a page is loaded what it will ask first. @param key of the question, as the page asks it */
export function prime<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): void {
  if (primed.has(key)) return;
  const answer = ask(new AbortController().signal);
  answer.catch(() => undefined); // The page takes the failure.
  primed.set(key, answer);
}

/** Answers that were seen, so that a page that is come back to shows at once what it showed. */
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
 * Asks the service, and asks again when the key changes or the world does, and when a service that could not answer yet may. A
 * question that is no longer wanted is given up.
 * @param key names the question; null asks nothing
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
    const again = () => void turn.value++;
    return answerInto({ key: asked, ask: question.ask, isLater, data, trouble, isLoading, again });
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

/** @returns how to give the question up */
function answerInto<T>({ key, ask, isLater, data, trouble, isLoading, again }: Answering<T>): () => void {
  const given = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  isLoading.value = true;
  const early = primed.get(key) as Promise<T> | undefined; // Of the same question.
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
      // Under a refusal there are no numbers of another question.
      if (told.retrySeconds === null && !seen.has(key)) data.value = undefined;
      // An unreachable service is reported once, above the page; what was loaded stays.
      if (isReached.peek() || data.peek() === undefined) trouble.value = told;
      if (told.retrySeconds !== null) timer = setTimeout(again, told.retrySeconds * 1000);
    },
  );
  return () => {
    clearTimeout(timer);
    given.abort();
  };
}
