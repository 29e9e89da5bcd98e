import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { world } from './resource.js';
import { troubleOf, type Trouble } from './service.js';

export interface Latest<T> {
  /** The last answer, also while another question is under way. */
  readonly data: T | undefined;
  readonly trouble: Trouble | null;
  /** True if the displayed answer belongs to an earlier request. */
  readonly isBehind: boolean;
}

/** A pause in typing. */
const PAUSE_MS = 220;

/**
 * Asks a question that changes with every key that is typed: at most one request is under way, and the newest question is asked when it
 * has come back.
 * @param key names the question; null asks nothing
 * @param turn asks the question again when it changes; the last answer stays in force until the new one arrives
 */
export function useOneAtATime<T>(key: string | null, ask: () => Promise<T>, turn = 0): Latest<T> {
  const data = useSignal<T | undefined>(undefined);
  const trouble = useSignal<Trouble | null>(null);
  const answered = useSignal<string | null>(null);
  const asking = useMemo(() => ({ ask, wanted: key, isBusy: false }), []);
  asking.ask = ask;
  asking.wanted = key;

  useEffect(() => {
    if (key === null) return undefined;
    const timer = setTimeout(() => void run(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [key, turn]);
  // A refused request may succeed after a change elsewhere: another store, a new risk model.
  const now = world.value;
  useEffect(() => {
    if (key !== null && trouble.peek() !== null) void run();
  }, [now]);
  useEffect(
    () => () => {
      asking.wanted = null;
    },
    [],
  );

  async function run(): Promise<void> {
    if (asking.isBusy) return;
    asking.isBusy = true;
    for (let asked: string | null = null; asking.wanted !== null && asked !== asking.wanted;) {
      const question: string = asking.wanted;
      asked = question;
      try {
        data.value = await asking.ask();
        trouble.value = null;
      } catch (thrown) {
        const told = troubleOf(thrown);
        trouble.value = told;
        if (told.retrySeconds !== null) setTimeout(() => void again(question), told.retrySeconds * 1000);
      }
      answered.value = asked;
    }
    asking.isBusy = false;
  }

  /** Retries a request that the service could not answer yet, unless a newer one was made. */
  async function again(question: string): Promise<void> {
    if (asking.wanted === question) await run();
  }

  return {
    data: data.value,
    trouble: key === null ? null : trouble.value,
    isBehind: key !== null && answered.value !== key,
  };
}
