import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { createTrouble, type Trouble, worldVersion } from './service.js';

export interface LatestRequest<T> {
  /** Last response. It is kept while another request is pending. */
  readonly data: T | undefined;
  readonly trouble: Trouble | null;
  /** True if the last response belongs to an earlier request. */
  readonly isBehind: boolean;
}

/** Time in milliseconds after the last change. It is about as long as a pause in typing. */
const PAUSE_MS = 220;

/**
 * Sends a request that changes while the user types. Only one request is pending at a time. After its response, the
 * latest request is sent.
 * @param key identifies the request; null sends none
 * @param turn repeats the request when it changes; the last response is kept until the new one arrives
 */
export function useOneAtATime<T>(key: string | null, ask: () => Promise<T>, turn = 0): LatestRequest<T> {
  const data = useSignal<T | undefined>(undefined);
  const trouble = useSignal<Trouble | null>(null);
  const answeredQuestion = useSignal<string | null>(null);
  const asking = useMemo(() => ({ ask, wanted: key, isBusy: false, isTyped: key === null }), []);
  asking.ask = ask;
  asking.wanted = key;

  useEffect(() => {
    if (key === null) return undefined;
    // A request that exists from the beginning is not typed, so it does not wait for a pause.
    const timer = setTimeout(() => void run(), asking.isTyped ? PAUSE_MS : 0);
    asking.isTyped = true;
    return () => clearTimeout(timer);
  }, [key, turn]);
  // If the service refused a request, it is sent again after the service changed, for example after another store was
  // served.
  const now = worldVersion.value;
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
    for (let sentKey: string | null = null; asking.wanted !== null && sentKey !== asking.wanted;) {
      const question: string = asking.wanted;
      sentKey = question;
      try {
        data.value = await asking.ask();
        trouble.value = null;
      } catch (thrown) {
        const newTrouble = createTrouble(thrown);
        trouble.value = newTrouble;
        if (newTrouble.retrySeconds !== null) setTimeout(() => void retry(question), newTrouble.retrySeconds * 1000);
      }
      answeredQuestion.value = sentKey;
    }
    asking.isBusy = false;
  }

  /** Repeats a request that the service could not answer yet. Does nothing if there is a newer request. */
  async function retry(question: string): Promise<void> {
    if (asking.wanted === question) await run();
  }

  return {
    data: data.value,
    trouble: key === null ? null : trouble.value,
    isBehind: key !== null && answeredQuestion.value !== key,
  };
}
