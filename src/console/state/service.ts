import { computed, signal } from '@preact/signals';
import { createDivisorClient, DivisorError, UnreachableError } from '#clients/typescript/divisor.js';
import { readSession, addToken } from './session.js';

void readSession();

/** Name of the API key in session storage. The key is kept while the tab is open. */
const KEY_ENTRY = 'divisor.key';

const storedKey = signal(sessionStorage.getItem(KEY_ENTRY) ?? undefined);

/** True if the last request reached the service. */
export const isReached = signal(true);

/** Message of a service that needs an API key or rejects the given one; null if no key is needed. */
export const requiredKeyMessage = signal<string | null>(null);

/** Wraps `fetch`. Records if the service could be reached. */
const trackReachability: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, addToken(init));
    isReached.value = true;
    // The body of an aborted request cannot be read. The state then does not change.
    if (response.status === 401)
      requiredKeyMessage.value =
        (await readSentence(response.clone())) ?? requiredKeyMessage.value ?? 'The service requires a key.';
    return response;
  } catch (failure) {
    if (init?.signal?.aborted !== true) isReached.value = false;
    throw failure;
  }
};

async function readSentence(response: Response): Promise<string | undefined> {
  const body = (await response.json().catch(() => null)) as { readonly error?: { readonly message?: string } } | null;
  return body?.error?.message;
}

/** Client of the service from which this page was loaded. */
export const service = computed(() =>
  createDivisorClient({ url: location.origin, key: storedKey.value, fetch: trackReachability }),
);

/** Name of the channel for tabs that have the same API key. They share the states of jobs. */
export const sharedName = computed(() => `divisor.jobs ${storedKey.value ?? ''}`);

export const hasKey = computed(() => storedKey.value !== undefined);

export function takeKey(key: string): void {
  sessionStorage.setItem(KEY_ENTRY, key);
  storedKey.value = key;
  requiredKeyMessage.value = null;
}

export function forgetKey(): void {
  sessionStorage.removeItem(KEY_ENTRY);
  storedKey.value = undefined;
}

/** An error that is shown to the user. */
export interface Trouble {
  readonly message: string;
  readonly code: string | null;
  readonly findings: DivisorError['findings'];
  readonly detail: DivisorError['detail'];
  readonly requestId: string | null;
  readonly status: number | null;
  /** Seconds after which the same request may succeed; null if it would fail again. */
  readonly retrySeconds: number | null;
}

/** Time in seconds after which a request is repeated if the service does not answer or names no time. */
const RETRY_SECONDS = 3;

/** Returns true for errors of a service that is busy or starting. */
const isPassing = ({ status }: DivisorError): boolean => status === 503 || status === 429;

/** Matches the error messages of browsers for a script that could not be loaded. */
const SCRIPT_FAILURE = /dynamically imported module|importing a module script/i;
const SCRIPT_MISSING = 'This part of the console could not be loaded. Reload the page.';

/** Replaces the name of the HTTP part in a message such as `1 error in the query.` */
const formatSubject = (message: string): string =>
  message.replace(/in the body\.$/, 'in the request.').replace(/in the query\.$/, 'in the address.');

export function createTrouble(thrown: unknown): Trouble {
  const nothing = { findings: [], detail: null, requestId: null, status: null, retrySeconds: null };
  if (thrown instanceof DivisorError) {
    const { code, findings, detail, requestId, status } = thrown;
    const retrySeconds = isPassing(thrown) ? (thrown.retryAfterSeconds ?? RETRY_SECONDS) : null;
    const message = formatSubject(thrown.message.slice(code.length + 2));
    return { message, code, findings, detail, requestId, status, retrySeconds };
  }
  if (thrown instanceof UnreachableError)
    return {
      ...nothing,
      message: 'The service is not reachable.',
      code: null,
      retrySeconds: RETRY_SECONDS,
    };
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { ...nothing, message: SCRIPT_FAILURE.test(message) ? SCRIPT_MISSING : message, code: null };
}
