import { signal } from '@preact/signals';

/** State of the sign-in with an identity provider. */
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

/** Reads the session of the signed-in user, if there is one. */
export async function readSession(): Promise<void> {
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
export function addToken(init: RequestInit | undefined): RequestInit | undefined {
  const token = session.peek()?.csrf_token; // without a subscription, because requests must not be repeated when the session changes
  if (token === undefined || (init?.method ?? 'GET') === 'GET') return init;
  const headers = new Headers(init?.headers);
  headers.set('x-csrf-token', token);
  return { ...init, headers };
}
