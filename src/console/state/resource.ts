import { signal, useSignal, useSignalEffect } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { isReached, troubleOf, type Trouble } from './service.js';

/** Grows whenever something that pages show may have changed: a job ended, a document was saved, the service came back. */
export const world = signal(0);

export function changed(): void {
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
  { follows = true, keeps = false }: ResourceOptions = {},
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
    const known = seen.get(asked) as T | undefined;
    if (known !== undefined || (!keeps && question.asked !== asked)) data.value = known;
    question.asked = asked;
    const again = () => void turn.value++;
    return answerInto({ key: asked, ask: question.ask, data, trouble, isLoading, again });
  });

  return {
    data: data.value,
    trouble: trouble.value,
    isLoading: isLoading.value,
    reload: () => void turn.value++,
  };
}

/** An answer that could not be had is asked for again; what somebody does is not done again by itself. */
const askedAgain = (trouble: Trouble): Trouble =>
  trouble.code === null && trouble.retrySeconds !== null
    ? { ...trouble, message: `${trouble.message} The page retries automatically.` }
    : trouble;

interface Answering<T> {
  readonly key: string;
  readonly ask: (signal: AbortSignal) => Promise<T>;
  readonly data: { value: T | undefined; peek(): T | undefined };
  readonly trouble: { value: Trouble | null };
  readonly isLoading: { value: boolean };
  again(): void;
}

/** @returns how to give the question up */
function answerInto<T>({ key, ask, data, trouble, isLoading, again }: Answering<T>): () => void {
  const given = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  isLoading.value = true;
  ask(given.signal).then(
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
