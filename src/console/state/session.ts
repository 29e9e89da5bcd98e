import { signal } from '@preact/signals';

/** State of sign-in with a provider. */
interface SessionView {
  readonly signed_in: boolean;
  /** True if a provider is configured. */
  readonly sign_in: boolean;
  readonly name?: string;
  /** Token that writes repeat. */
  readonly csrf_token?: string;
}

/** Null until it is known, and if the service has no sessions. */
export const session = signal<SessionView | null>(null);

/** Reads the session of the signed-in person, if there is one. */
export async function lookForSession(): Promise<void> {
  const response = await fetch('/auth/session').catch(() => undefined);
  const isThere = response?.ok === true && response.headers.get('content-type')?.includes('json') === true;
  session.value = isThere ? ((await response.json()) as SessionView) : null; // the service's own answer
}

/** Ends the session and shows the page of a signed-out visitor. */
export async function signOut(): Promise<void> {
  const token = session.value?.csrf_token;
  await fetch('/auth/session', { method: 'DELETE', headers: { 'x-csrf-token': token ?? '' } });
  location.reload();
}

/** Returns a request of a page with what writes of a session repeat. */
export function addToken(init: RequestInit | undefined): RequestInit | undefined {
  const token = session.peek()?.csrf_token; // Requests do not depend on the session.
  if (token === undefined || (init?.method ?? 'GET') === 'GET') return init;
  const headers = new Headers(init?.headers);
  headers.set('x-csrf-token', token);
  return { ...init, headers };
}
