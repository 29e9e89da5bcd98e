import { computed, signal } from '@preact/signals';
import { createDivisorClient, DivisorError, UnreachableError } from '#clients/typescript/divisor.js';

/** Kept as long as the tab is open, and nowhere else. */
const KEY_PLACE = 'divisor.key';

const keyKept = signal(sessionStorage.getItem(KEY_PLACE) ?? undefined);

/** Whether the last request reached the service. */
export const isReached = signal(true);

/** Whether the service wants a key, or another one than was given: the sentence it said. */
export const keyWanted = signal<string | null>(null);

/** A fetch that notes whether the service is there. */
const noting: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init);
    isReached.value = true;
    // The answer of a request that was given up meanwhile cannot be read: what another one said stays.
    if (response.status === 401)
      keyWanted.value = (await sentenceOf(response.clone())) ?? keyWanted.value ?? 'The service asks for a key.';
    return response;
  } catch (failure) {
    if (init?.signal?.aborted !== true) isReached.value = false;
    throw failure;
  }
};

async function sentenceOf(response: Response): Promise<string | undefined> {
  const body = (await response.json().catch(() => null)) as { readonly error?: { readonly message?: string } } | null;
  return body?.error?.message;
}

/** The service that served this page. */
export const service = computed(() => createDivisorClient({ url: location.origin, key: keyKept.value, fetch: noting }));

/** What the tabs of a browser share is shared by those with the same key. */
export const sharedName = computed(() => `divisor.jobs ${keyKept.value ?? ''}`);

export const hasKey = computed(() => keyKept.value !== undefined);

export function takeKey(key: string): void {
  sessionStorage.setItem(KEY_PLACE, key);
  keyKept.value = key;
  keyWanted.value = null;
}

export function forgetKey(): void {
  sessionStorage.removeItem(KEY_PLACE);
  keyKept.value = undefined;
}

/** What went wrong, for people. */
export interface Trouble {
  readonly message: string;
  readonly code: string | null;
  readonly findings: DivisorError['findings'];
  readonly detail: DivisorError['detail'];
  readonly requestId: string | null;
  readonly status: number | null;
}

export function troubleOf(thrown: unknown): Trouble {
  const nothing = { findings: [], detail: null, requestId: null, status: null };
  if (thrown instanceof DivisorError) {
    const { code, findings, detail, requestId, status } = thrown;
    return { message: thrown.message.slice(code.length + 2), code, findings, detail, requestId, status };
  }
  if (thrown instanceof UnreachableError)
    return { ...nothing, message: 'The service does not answer. The page asks again by itself.', code: null };
  return { ...nothing, message: thrown instanceof Error ? thrown.message : String(thrown), code: null };
}
