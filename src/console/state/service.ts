import { computed, effect, signal, useSignal, useSignalEffect } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import {
  createDivisorClient,
  DivisorError,
  type OperationId,
  type Operations,
  type PrincipalView,
  UnreachableError,
} from '#clients/typescript/divisor.js';

interface SessionView {
  readonly signed_in: boolean;
  /** True if an identity provider is configured. */
  readonly sign_in: boolean;
  readonly name?: string;
  /** CSRF token, which write requests must contain. */
  readonly csrf_token?: string;
}

/** State of the sign-in. Null until it is known, and if the service has no sessions. */
export const session = signal<SessionView | null>(null);

async function readSession(): Promise<void> {
  const response = await fetch('/auth/session').catch(() => undefined);
  const isThere = response?.ok === true && response.headers.get('content-type')?.includes('json') === true;
  session.value = isThere ? ((await response.json()) as SessionView) : null; // the service defines this response
}

/** Ends the session and shows the page for signed-out users. */
export async function signOut(): Promise<void> {
  const token = session.value?.csrf_token;
  await fetch('/auth/session', { method: 'DELETE', headers: { 'x-csrf-token': token ?? '' } });
  location.reload();
}

/** Adds the CSRF token of the session to a write request. */
function addToken(init: RequestInit | undefined): RequestInit | undefined {
  const token = session.peek()?.csrf_token; // without a subscription, because requests must not be repeated when the session changes
  if (token === undefined || (init?.method ?? 'GET') === 'GET') return init;
  const headers = new Headers(init?.headers);
  headers.set('x-csrf-token', token);
  return { ...init, headers };
}

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

/**
 * Counter that increases when data on a page may have changed: for example, a job has ended, a document was saved, or
 * the service is available again.
 */
export const worldVersion = signal(0);

export function notifyChange(): void {
  worldVersion.value++;
}

/** State of a request and its response. */
export interface Resource<T> {
  /** Last response; undefined before there is one. It is kept while a newer request is pending. */
  readonly data: T | undefined;
  readonly trouble: Trouble | null;
  readonly isLoading: boolean;
  reload(): void;
}

/** Returns a resource with a part of the response, or with what follows from it. */
export const mapResource = <T, U>(resource: Resource<T>, map: (data: T) => U): Resource<U> => ({
  ...resource,
  data: resource.data === undefined ? undefined : map(resource.data),
});

export interface ResourceOptions {
  /** True if the request is repeated after changes. Default: true. */
  readonly follows?: boolean;
  /** True if the previous response is kept until a new one arrives, for example when dates change. */
  readonly keeps?: boolean;
  /** True if the request waits for other requests, because the page can be read without its response. */
  readonly isLater?: boolean;
}

/** Number of pending requests. Requests that wait for others do not count. */
const busyCount = signal(0);
/** True if no request has been pending for `SETTLED_MS`. */
const isSettled = signal(false);
/** Time in milliseconds in which a page may send further requests after a response. */
const SETTLED_MS = 40;
effect(() => {
  if (busyCount.value > 0) {
    isSettled.value = false;
    return undefined;
  }
  const timer = setTimeout(() => {
    isSettled.value = true;
  }, SETTLED_MS);
  return () => clearTimeout(timer);
});

/** A request that several components of a page use. */
interface SharedRequest {
  readonly answer: Promise<unknown>;
  readonly controller: AbortController;
  /** `worldVersion` when the request was sent. */
  readonly version: number;
  /** Number of components that use the request. The last one that leaves a pending request aborts it. */
  users: number;
  isAnswered: boolean;
}

/**
 * Pending requests and recent responses, by key. Components that are rendered together send one request per key, and so
 * do a page and the code that prefetches for it.
 */
const sharedRequests = new Map<string, SharedRequest>();
/**
 * Time in ms in which further components of a page use a response, unless data may have changed before. Another page
 * sends its own request.
 */
const SHARED_MS = 2000;

function forgetRequest(key: string, request: SharedRequest): void {
  if (sharedRequests.get(key) === request) sharedRequests.delete(key);
}

function sendRequest(key: string, ask: (signal: AbortSignal) => Promise<unknown>): SharedRequest {
  const controller = new AbortController();
  const answer = ask(controller.signal);
  const request = { answer, controller, version: worldVersion.peek(), users: 0, isAnswered: false };
  answer.catch(() => forgetRequest(key, request)); // each user handles the error
  sharedRequests.set(key, request);
  return request;
}

/** @param isRepeat true if the request must be sent again */
function joinRequest(key: string, ask: (signal: AbortSignal) => Promise<unknown>, isRepeat: boolean): SharedRequest {
  const earlier = sharedRequests.get(key);
  const isUsable =
    earlier !== undefined &&
    !isRepeat &&
    earlier.version === worldVersion.peek() &&
    (earlier.users > 0 || !earlier.isAnswered);
  const request = isUsable ? earlier : sendRequest(key, ask);
  request.users++;
  return request;
}

function leaveRequest(key: string, request: SharedRequest): void {
  request.users--;
  if (request.users > 0 || request.isAnswered) return;
  request.controller.abort();
  forgetRequest(key, request);
}

/**
 * Sends the first request of a page before the page is loaded.
 * @param key key of the request, as the page uses it
 */
export function prefetch<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): void {
  if (!sharedRequests.has(key)) sendRequest(key, ask);
}

/** Earlier responses. A page that is visited again can be shown at once. */
const seenValues = new Map<string, unknown>();
const SEEN_MAX = 60;

function keep(key: string, data: unknown): void {
  seenValues.delete(key);
  seenValues.set(key, data);
  const [oldest] = seenValues.keys();
  if (seenValues.size > SEEN_MAX && oldest !== undefined) seenValues.delete(oldest);
}

/** Removes all earlier responses. Used when the key changes, because another key may give access to other data. */
function forgetSeen(): void {
  seenValues.clear();
  sharedRequests.clear();
}

/**
 * Sends a request. Sends it again when the key or `worldVersion` changes and, after some time, if the service could not
 * answer yet. A request that is no longer needed is aborted.
 * @param key identifies the request; null sends none
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
  const wantedKey = useSignal(key);
  const question = useMemo(() => ({ ask, asked: key, turn: 0 }), []);
  question.ask = ask;
  wantedKey.value = key;

  useSignalEffect(() => {
    void turn.value;
    if (follows) void worldVersion.value;
    const requestedKey = wantedKey.value;
    if (requestedKey === null) {
      data.value = undefined;
      trouble.value = null;
      isLoading.value = false;
      return undefined;
    }
    if (isLater && !seenValues.has(requestedKey) && !isSettled.peek()) {
      void isSettled.value; // sends the request again when `isSettled` changes
      return undefined;
    }
    const seenValue = seenValues.get(requestedKey) as T | undefined;
    if (seenValue !== undefined || (!keeps && question.asked !== requestedKey)) data.value = seenValue;
    question.asked = requestedKey;
    const isRepeat = question.turn !== turn.peek();
    question.turn = turn.peek();
    const request = joinRequest(requestedKey, question.ask, isRepeat);
    const retry = () => void turn.value++;
    return answerInto({ key: requestedKey, request, isLater, data, trouble, isLoading, again: retry });
  });

  return {
    data: data.value,
    trouble: trouble.value,
    isLoading: isLoading.value,
    reload: () => void turn.value++,
  };
}

/**
 * Reads the response of an operation. Parts of a page with the same request share it.
 * @param request null sends none
 */
export const useAnswer = <K extends OperationId>(
  operation: K,
  request: Operations[K]['request'] | null,
  options?: ResourceOptions,
): Resource<Operations[K]['answer']> =>
  useResource(
    request === null ? null : `${operation} ${JSON.stringify(request)}`,
    (signal) => (service.value.call as CallOf<K>)(operation, { ...request!, signal }), // not called without a request
    options,
  );

type CallOf<K extends OperationId> = (
  operation: K,
  request: Operations[K]['request'] & { readonly signal: AbortSignal },
) => Promise<Operations[K]['answer']>;

/** Operations that list all documents or types of a kind, by its name. */
const LISTS = {
  backtests: 'listBacktests',
  calendars: 'listCalendars',
  'constraint sets': 'listConstraintSets',
  'constraint types': 'listConstraintTypes',
  'events coming': 'listEvents',
  governance: 'getGovernance',
  indices: 'listIndices',
  'objective types': 'listObjectiveTypes',
  'overlay types': 'listOverlayTypes',
  'plug-ins': 'listPlugins',
  'risk models': 'listRiskModels',
  'rule types': 'listRuleTypes',
  schedules: 'listSchedules',
  series: 'listSeries',
  strategies: 'listStrategies',
  summaries: 'listSummaries',
  templates: 'listTemplates',
  watchlists: 'listWatchlists',
} as const;

/** Reads a whole list. Parts of a page with the same list share one request. */
export const useList = <K extends keyof typeof LISTS>(name: K, options?: ResourceOptions) =>
  useAnswer(LISTS[name], {}, options);

/** Adds to the message of a failed read request that it will be repeated automatically. */
const toRetriedTrouble = (trouble: Trouble): Trouble =>
  trouble.code === null && trouble.retrySeconds !== null
    ? { ...trouble, message: `${trouble.message} The page retries automatically.` }
    : trouble;

interface PendingRequest<T> {
  readonly key: string;
  readonly request: SharedRequest;
  readonly isLater: boolean;
  readonly data: { value: T | undefined; peek(): T | undefined };
  readonly trouble: { value: Trouble | null };
  readonly isLoading: { value: boolean };
  again(): void;
}

/**
 * Stores the response of a request, or the error, in signals.
 * @returns a function that leaves the request
 */
function answerInto<T>({ key, request, isLater, data, trouble, isLoading, again }: PendingRequest<T>): () => void {
  let hasLeft = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  isLoading.value = true;
  const pendingAnswer = request.answer as Promise<T>; // the response has the key of this request
  if (!isLater) {
    busyCount.value = busyCount.peek() + 1;
    const end = () => {
      busyCount.value = busyCount.peek() - 1;
    };
    pendingAnswer.then(end, end);
  }
  pendingAnswer.then(
    (answer) => {
      if (hasLeft) return;
      if (!request.isAnswered) setTimeout(() => forgetRequest(key, request), SHARED_MS);
      request.isAnswered = true;
      keep(key, answer);
      data.value = answer;
      trouble.value = null;
      isLoading.value = false;
    },
    (thrown: unknown) => {
      if (hasLeft) return;
      isLoading.value = false;
      const retriedTrouble = toRetriedTrouble(createTrouble(thrown));
      // The data of another request must not be shown with the error of this one.
      if (retriedTrouble.retrySeconds === null && !seenValues.has(key)) data.value = undefined;
      // If the service cannot be reached, only a banner reports it. Data that is already loaded is kept.
      if (isReached.peek() || data.peek() === undefined) trouble.value = retriedTrouble;
      if (retriedTrouble.retrySeconds !== null) timer = setTimeout(again, retriedTrouble.retrySeconds * 1000);
    },
  );
  return () => {
    clearTimeout(timer);
    hasLeft = true;
    leaveRequest(key, request);
  };
}

export type Scope = PrincipalView['scopes'][number];

/** Identity of the caller; null until the service has responded. */
export const principal = signal<PrincipalView | null>(null);

/** Returns true if the API key has a scope. Actions that need another scope are hidden. */
export function may(scope: Scope): boolean {
  const scopes = principal.value?.scopes;
  return scopes !== undefined && (scopes.includes(scope) || scopes.includes('admin'));
}

/** Reads the identity of the caller. Reads it again after each change of the key. */
export function watchPrincipal(): void {
  let isFirst = true;
  effect(() => {
    const askedService = service.value;
    const isOther = !isFirst;
    isFirst = false;
    askedService.call('getPrincipal').then(
      (view) => {
        if (principal.peek() !== null && principal.peek()?.key_id !== view.key_id) forgetSeen();
        principal.value = view;
        // With another key, the responses on the page may be different.
        if (isOther) notifyChange();
      },
      () => {
        principal.value = null; // the key page or a banner shows the reason
      },
    );
  });
}
