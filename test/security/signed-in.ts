/** Session of a signed-in browser. */
export interface BrowserSession {
  readonly cookie: string;
  /** CSRF token that write requests must repeat. */
  readonly csrf: string;
  /** Cookie with its attributes, as set by the service. */
  readonly attributes: string;
}

/** Returns the cookie of a response in the form in which a browser sends it. */
export const cookieOf = (answer: Response): string => answer.headers.get('set-cookie')!.split(';')[0]!;

export const fetchWithoutRedirect = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { redirect: 'manual', headers });

/** Signs in the provider's next person. @param url URL of the service */
export async function signIn(url: string): Promise<BrowserSession> {
  const begun = await fetchWithoutRedirect(`${url}/auth/login`);
  const back = (await fetchWithoutRedirect(begun.headers.get('location')!)).headers.get('location')!;
  const done = await fetchWithoutRedirect(back, { cookie: cookieOf(begun) });
  if (done.headers.get('location') !== '/') throw new Error(`the sign-in ended with ${done.status}`);
  const cookie = cookieOf(done);
  const { csrf_token: csrf } = (await (await fetchWithoutRedirect(`${url}/auth/session`, { cookie })).json()) as {
    csrf_token: string;
  };
  return { cookie, csrf, attributes: done.headers.get('set-cookie')! };
}
