export interface BrowserSession {
  readonly cookie: string;
  /** CSRF token that write requests must repeat. */
  readonly csrf: string;
  /** Header with which the service set the cookie. It has the attributes of the cookie. */
  readonly attributes: string;
}

/** Returns the cookie of a response in the form in which a browser sends it. */
export const readCookie = (answer: Response): string => answer.headers.get('set-cookie')!.split(';')[0]!;

export const fetchWithoutRedirect = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { redirect: 'manual', headers });

/** Signs in the person whom the provider signs in next. @param url URL of the service */
export async function signIn(url: string): Promise<BrowserSession> {
  const loginAnswer = await fetchWithoutRedirect(`${url}/auth/login`);
  const redirectUrl = (await fetchWithoutRedirect(loginAnswer.headers.get('location')!)).headers.get('location')!;
  const signedInAnswer = await fetchWithoutRedirect(redirectUrl, { cookie: readCookie(loginAnswer) });
  if (signedInAnswer.headers.get('location') !== '/')
    throw new Error(`the sign-in ended with ${signedInAnswer.status}`);
  const cookie = readCookie(signedInAnswer);
  const { csrf_token: csrf } = (await (await fetchWithoutRedirect(`${url}/auth/session`, { cookie })).json()) as {
    csrf_token: string;
  };
  return { cookie, csrf, attributes: signedInAnswer.headers.get('set-cookie')! };
}
