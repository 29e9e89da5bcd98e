import { createHmac, createSecretKey } from 'node:crypto';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createPrincipal, createTokens, isLocalIssuer, parseClaimGrant } from '#http/oidc/tokens.js';
import { createSessions } from '#http/oidc/sign-in.js';
import { startProvider, type Provider } from '../http/oidc-provider.js';
import { runService, type RunningService } from '../services/running-service.js';
import { readCookie, fetchWithoutRedirect, signIn } from './signed-in.js';
import { createEqualIndex } from '../equal-index.js';

let provider: Provider;
let service: RunningService;

beforeAll(async () => {
  provider = await startProvider('console');
  service = await runService(
    `--oidc-issuer ${provider.issuer} --oidc-audience divisor --oidc-client-id console --tenancy prefix
    --oidc-scopes groups=desk:read+write --oidc-scopes groups=alpha:read+write:alpha-`.split(/\s+/),
  );
});
afterAll(async () => {
  await service.close();
  await provider.close();
});

const ada = { sub: 'ada', name: 'Ada Lovelace', groups: ['desk'] };
const requestStatus = async (token: string, method = 'GET', path = '/indices', body?: unknown): Promise<number> =>
  (await service.ask(method, path, body, { authorization: `Bearer ${token}` })).status;

const createIndex = (id: string) => createEqualIndex(id, { base_date: '2023-01-03' });

describe('a token of the provider', () => {
  test('is accepted with the scopes that its claims grant', async () => {
    const token = await provider.token(ada);
    expect(await requestStatus(token)).toBe(200);
    const { body } = await service.ask('GET', '/principal', undefined, { authorization: `Bearer ${token}` });
    expect(body).toMatchObject({ key_id: 'sub:ada', scopes: ['read', 'write'] });
    expect(await requestStatus(token, 'GET', '/audit')).toBe(403);
    expect(await requestStatus(await provider.token({ sub: 'nobody' }))).toBe(403);
  });

  test('without a token indices are refused, and health has only status and version, although no key is configured', async () => {
    expect((await service.ask('GET', '/indices')).status).toBe(401);
    expect((await service.ask('GET', '/health')).body).toEqual({ status: 'live', version: expect.any(String) });
  });

  test('versions contain its subject and name', async () => {
    const authorization = `Bearer ${await provider.token(ada)}`;
    await service.ask('PUT', '/indices/ada-eq', createIndex('ada-eq'), { authorization });
    const { body } = await service.ask('GET', '/indices/ada-eq/versions', undefined, { authorization });
    expect(body).toMatchObject({ versions: [{ author: 'Ada Lovelace', key_id: 'sub:ada' }] });
  });

  test('is limited to the prefixes of its grant', async () => {
    const token = await provider.token({ sub: 'al', groups: ['alpha'] });
    expect(await requestStatus(token, 'PUT', '/indices/alpha-eq', createIndex('alpha-eq'))).toBe(200);
    expect(await requestStatus(token, 'PUT', '/indices/bravo-eq', createIndex('bravo-eq'))).toBe(404);
    expect(await requestStatus(token, 'GET', '/indices/ada-eq')).toBe(404);
  });

  test.each([
    ['of another issuer', () => provider.token(ada, { issuer: 'https://elsewhere.example' })],
    ['for another audience', () => provider.token(ada, { audience: 'other' })],
    ['for no audience', () => provider.token(ada, { audience: undefined })],
    ['that ended more than a minute ago', () => provider.token(ada, { expires: -90 })],
    ['that never ends', () => provider.token(ada, { expires: null })],
    ['that begins later', () => provider.token({ ...ada, nbf: Math.floor(Date.now() / 1000) + 120 })],
    ['without a subject', () => provider.token({ groups: ['desk'] })],
    ['with an empty subject', () => provider.token({ ...ada, sub: '' })],
    ['with a subject of more than 255 characters', () => provider.token({ ...ada, sub: 'a'.repeat(256) })],
    ['signed by another key', async () => provider.token(ada, { key: (await generateKeyPair('ES256')).privateKey })],
    ['of which a character is changed', async () => (await provider.token(ada)).replace(/\.(\w)/, '.A$1')],
  ])('%s is refused', async (_, made) => {
    expect(await requestStatus(await made())).toBe(401);
  });

  test('is accepted up to a minute after its expiry, because clocks differ', async () => {
    expect(await requestStatus(await provider.token(ada, { expires: -30 }))).toBe(200);
  });

  test('without a signature, or signed with the public key as a secret, is refused', async () => {
    const [head, body] = [{ alg: 'none' }, { ...ada, iss: provider.issuer, aud: 'divisor', exp: 4_000_000_000 }].map(
      (part) => Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    expect(await requestStatus(`${head}.${body}.`)).toBe(401);
    const { keys } = (await (await fetch(`${provider.issuer}/keys`)).json()) as { keys: object[] };
    const confusedToken = await new SignJWT(ada)
      .setProtectedHeader({ alg: 'HS256', kid: 'first' })
      .setIssuer(provider.issuer)
      .setAudience('divisor')
      .setExpirationTime('5m')
      .sign(createSecretKey(Buffer.from(JSON.stringify(keys[0]))));
    expect(await requestStatus(confusedToken)).toBe(401);
  });

  test.each([
    ['an unknown critical extension', { crit: ['exp-policy'], 'exp-policy': 'strict' }],
    ['a critical extension that is absent', { crit: ['exp-policy'] }],
    ['an empty list of critical extensions', { crit: [] }],
    ['critical extensions that are no list', { crit: 'b64' }],
    ['an unencoded payload', { crit: ['b64'], b64: false }],
    ['an algorithm that is no text', { alg: 5 }],
    ['a key id that is no text', { kid: 5 }],
  ])('with %s is invalid, and no failure of the provider', async (_, change) => {
    const failures: unknown[] = [];
    const terms = {
      issuer: provider.issuer,
      audience: 'divisor',
      grants: [],
      onFailure: (cause: unknown) => failures.push(cause),
    };
    const tokens = createTokens(terms);
    const [head = '', ...rest] = (await provider.token(ada)).split('.');
    const header = { ...(JSON.parse(Buffer.from(head, 'base64url').toString()) as object), ...change };
    const changed = [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
    await expect(tokens.verify(changed)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: 'The token is not valid here.',
    });
    expect(failures).toEqual([]);
    const answer = await service.ask('GET', '/indices', undefined, { authorization: `Bearer ${changed}` });
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHENTICATED' } } });
  });

  test('of new keys is accepted after their publication, and a token of the old keys is not', async () => {
    const other = await startProvider('console');
    try {
      const terms = { issuer: other.issuer, audience: 'divisor', grants: [], onFailure: () => {}, cooldownMs: 0 };
      const tokens = createTokens(terms);
      const oldToken = await other.token(ada);
      expect(await tokens.verify(oldToken)).toMatchObject({ keyId: 'sub:ada' });
      await tokens.verify(oldToken);
      expect(other.keysRead()).toBe(1);
      await other.rotate();
      expect(await tokens.verify(await other.token(ada))).toMatchObject({ keyId: 'sub:ada' });
      expect(other.keysRead()).toBe(2);
      await expect(tokens.verify(oldToken)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    } finally {
      await other.close();
    }
  });

  test('is refused while the provider does not respond, which is reported, and accepted afterwards', async () => {
    const failures: unknown[] = [];
    const awayProvider = await startProvider('console');
    const tokens = createTokens({
      issuer: 'http://127.0.0.1:1',
      audience: 'divisor',
      grants: [],
      onFailure: (failure) => failures.push(failure),
    });
    await expect(tokens.verify(await awayProvider.token(ada))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(failures).toHaveLength(1);
    await awayProvider.close();
  });
});

describe('a browser', () => {
  test('signs in by code and PKCE, and keeps a cookie that no script and no other site can read', async () => {
    provider.person = { sub: 'person-1', name: 'Ada', groups: ['desk'] };
    const loginAnswer = await fetchWithoutRedirect(`${service.url()}/auth/login`);
    expect(new URL(loginAnswer.headers.get('location')!).searchParams.get('code_challenge_method')).toBe('S256');
    const { cookie, attributes } = await signIn(service.url());
    expect(attributes).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect((await fetchWithoutRedirect(`${service.url()}/indices`, { cookie })).status).toBe(200);
    expect(await (await fetchWithoutRedirect(`${service.url()}/principal`, { cookie })).json()).toMatchObject({
      key_id: 'sub:person-1',
    });
  });

  test('writes only with the secret of its session, and from pages of the service', async () => {
    const { cookie, csrf } = await signIn(service.url());
    const put = async (headers: Record<string, string>) =>
      (await service.ask('PUT', '/indices/session', createIndex('session'), { cookie, ...headers })).status;
    expect(await put({})).toBe(403);
    expect(await put({ 'x-csrf-token': `${csrf.slice(0, -1)}_` })).toBe(403);
    expect(await put({ 'x-csrf-token': csrf, origin: 'https://evil.example' })).toBe(403);
    expect(await put({ 'x-csrf-token': csrf, origin: service.url() })).toBe(200);
  });

  test('that did not begin the sign-in, or sends another state or a used code, is refused', async () => {
    const loginAnswer = await fetchWithoutRedirect(`${service.url()}/auth/login`);
    const redirectUrl = (await fetchWithoutRedirect(loginAnswer.headers.get('location')!)).headers.get('location')!;
    expect((await fetchWithoutRedirect(redirectUrl)).status).toBe(401);
    const other = await fetchWithoutRedirect(`${service.url()}/auth/login`);
    expect((await fetchWithoutRedirect(redirectUrl, { cookie: readCookie(other) })).status).toBe(401);
    const forgedUrl = new URL(redirectUrl);
    forgedUrl.searchParams.set('state', 'other');
    expect((await fetchWithoutRedirect(forgedUrl.href, { cookie: readCookie(loginAnswer) })).status).toBe(401);
    expect((await fetchWithoutRedirect(redirectUrl, { cookie: readCookie(loginAnswer) })).status).toBe(302);
    expect((await fetchWithoutRedirect(redirectUrl, { cookie: readCookie(loginAnswer) })).status).toBe(401);
  });

  const encodeUnsigned = (head: object, claims: object): string =>
    [head, { ...claims, iss: provider.issuer, aud: 'console', iat: 1, exp: 4_000_000_000 }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
  test.each<[string, Provider['idTokenOf']]>([
    ['for another client', (claims) => provider.token(claims, { audience: 'other' })],
    ['of another issuer', (claims) => provider.token(claims, { audience: 'console', issuer: 'https://other.example' })],
    ['that has ended', (claims) => provider.token(claims, { audience: 'console', expires: -90 })],
    ['without a nonce', (claims) => provider.token({ ...claims, nonce: undefined }, { audience: 'console' })],
    [
      'signed by another key',
      async (claims) =>
        provider.token(claims, { audience: 'console', key: (await generateKeyPair('ES256')).privateKey }),
    ],
    ['without a signature', (claims) => `${encodeUnsigned({ alg: 'none' }, claims)}.`],
    [
      'with a signature of its algorithm only',
      (claims) => `${encodeUnsigned({ alg: 'ES256', kid: 'first' }, claims)}.AAAA`,
    ],
    [
      'signed with the public key as a secret',
      async (claims) => {
        const { keys } = (await (await fetch(`${provider.issuer}/keys`)).json()) as { keys: object[] };
        const text = encodeUnsigned({ alg: 'HS256', kid: 'first' }, claims);
        const secret = createHmac('sha256', JSON.stringify(keys[0]));
        return `${text}.${secret.update(text).digest('base64url')}`;
      },
    ],
  ])('is not let in by an ID token %s', async (_, createIdToken) => {
    provider.idTokenOf = createIdToken;
    onTestFinished(() => void (provider.idTokenOf = undefined));
    const loginAnswer = await fetchWithoutRedirect(`${service.url()}/auth/login`);
    const redirectUrl = (await fetchWithoutRedirect(loginAnswer.headers.get('location')!)).headers.get('location')!;
    expect((await fetchWithoutRedirect(redirectUrl, { cookie: readCookie(loginAnswer) })).status).toBe(401);
  });

  test('is refused with an answer that names another provider', async () => {
    const loginAnswer = await fetchWithoutRedirect(`${service.url()}/auth/login`);
    const redirectUrl = new URL(
      (await fetchWithoutRedirect(loginAnswer.headers.get('location')!)).headers.get('location')!,
    );
    redirectUrl.searchParams.set('iss', 'https://other.example');
    expect((await fetchWithoutRedirect(redirectUrl.href, { cookie: readCookie(loginAnswer) })).status).toBe(401);
  });

  test('has cookies that serve one purpose each', async () => {
    const readValue = (cookie: string): string => cookie.slice(cookie.indexOf('=') + 1);
    const loginAnswer = await fetchWithoutRedirect(`${service.url()}/auth/login`);
    const session = `divisor_session=${readValue(readCookie(loginAnswer))}`;
    expect((await fetchWithoutRedirect(`${service.url()}/indices`, { cookie: session })).status).toBe(401);
    const { cookie } = await signIn(service.url());
    const cookieText = `divisor_login=${readValue(cookie)}`;
    expect(
      (await fetchWithoutRedirect(`${service.url()}/auth/callback?code=x&state=y`, { cookie: cookieText })).status,
    ).toBe(401);
  });

  test('is accepted only with the ID token of its attempt', async () => {
    provider.person = { sub: 'person-1', groups: ['desk'], nonce: 'of another attempt' };
    const loginAnswer = await fetchWithoutRedirect(`${service.url()}/auth/login`);
    const redirectUrl = (await fetchWithoutRedirect(loginAnswer.headers.get('location')!)).headers.get('location')!;
    expect((await fetchWithoutRedirect(redirectUrl, { cookie: readCookie(loginAnswer) })).status).toBe(401);
    provider.person = { sub: 'person-1', groups: ['desk'] };
  });

  test('signs out, and its cookie is invalid afterwards', async () => {
    const { cookie, csrf } = await signIn(service.url());
    const end = (headers: Record<string, string>) =>
      fetch(`${service.url()}/auth/session`, { method: 'DELETE', headers: { cookie, ...headers } });
    expect((await end({})).status).toBe(403);
    const endAnswer = await end({ 'x-csrf-token': csrf });
    expect([endAnswer.status, endAnswer.headers.get('set-cookie')]).toEqual([
      204,
      expect.stringContaining('Max-Age=0'),
    ]);
    expect((await fetchWithoutRedirect(`${service.url()}/indices`, { cookie })).status).toBe(401);
  });

  test('with a changed cookie is not signed in', async () => {
    const { cookie } = await signIn(service.url());
    for (const changedCookie of [`${cookie.slice(0, -2)}AA`, 'divisor_session=', 'divisor_session=AAAA'])
      expect((await fetchWithoutRedirect(`${service.url()}/indices`, { cookie: changedCookie })).status).toBe(401);
  });
});

test('a cookie is invalid after its expiry, when it is cut, changed or sealed by another key', () => {
  let now = 0;
  const endedSessions = { has: () => false, add: async () => {} };
  const openSessions = (byte: number) =>
    createSessions({ key: Buffer.alloc(32, byte), ended: endedSessions, now: () => now });
  const [sessions, otherSessions] = [openSessions(1), openSessions(2)];
  const sealedText = sessions.seal('attempt', { ends: 600_000 });
  now = 599_999;
  expect(sessions.open('attempt', sealedText)).toEqual({ ends: 600_000 });
  expect(sessions.open('session', sealedText)).toBeUndefined();
  expect(otherSessions.open('attempt', sealedText)).toBeUndefined();
  for (let length = 0; length < sealedText.length; length++)
    expect(sessions.open('attempt', sealedText.slice(0, length))).toBeUndefined();
  now = 600_000;
  expect(sessions.open('attempt', sealedText)).toBeUndefined();
});

test('a provider elsewhere is contacted over HTTPS only', async () => {
  for (const localIssuer of ['http://localhost:8080/realms/a', 'http://127.0.0.1', 'http://[::1]:9'])
    expect(isLocalIssuer(localIssuer)).toBe(true);
  for (const otherIssuer of [
    'http://idp.example',
    'http://localhost:x@idp.example',
    'http://localhost.idp.example',
    '',
  ])
    expect(isLocalIssuer(otherIssuer)).toBe(false);
  await expect(runService(['--oidc-issuer', 'http://idp.example', '--oidc-audience', 'divisor'])).rejects.toThrow(
    /https/,
  );
});

test('grants are parsed as they are written, and apply by value and list', () => {
  const grant = parseClaimGrant('groups=desk:read+run:a-+b-')!;
  expect(grant).toEqual({ claim: 'groups', value: 'desk', scopes: ['read', 'run'], prefixes: ['a-', 'b-'] });
  for (const text of ['', 'groups', 'groups=desk', 'groups=desk:fly', 'groups=desk:read:a b', '=x:read'])
    expect(parseClaimGrant(text)).toBeUndefined();
  const resolvePrincipal = (claims: object) =>
    createPrincipal({ sub: 's', ...claims }, [grant, parseClaimGrant('role=all:write')!]);
  expect([...resolvePrincipal({ groups: 'desk' }).scopes]).toEqual(['read', 'run']);
  expect([...resolvePrincipal({ groups: 'x desk' }).scopes]).toEqual([]);
  expect([...resolvePrincipal({ groups: ['desk'] }).scopes]).toEqual(['read', 'run']);
  expect(resolvePrincipal({ groups: ['desk'] }).prefixes).toEqual(['a-', 'b-']);
  expect(resolvePrincipal({ groups: ['desk'], role: 'all' }).prefixes).toBeUndefined();
  expect(resolvePrincipal({ groups: 'desktop' })).toMatchObject({ scopes: new Set() });
  expect(resolvePrincipal({ name: '\u0000\u202eAda' }).name).toBe('Ada');
});

test.each([
  ['groups', 'front desk', []],
  ['groups', ['front desk'], []],
  ['groups', ['front', 'desk'], ['read']],
  ['scope', 'openid desk', ['read']],
  ['scp', 'desk other', ['read']],
  ['scp', ['desk other'], []],
  ['role', 'a desk b', []],
  ['role', 'Desk', []],
])('a claim %s of %j grants %j by the value desk', (claim, value, scopes) => {
  const grant = parseClaimGrant(`${claim}=desk:read`)!;
  expect([...createPrincipal({ sub: 's', [claim]: value }, [grant]).scopes]).toEqual(scopes);
});

test.each([
  [true, ['admin']],
  [false, []],
  ['true', []],
  [1, []],
  [undefined, []],
])('an e-mail address with email_verified %j grants %j', (verified, scopes) => {
  const grant = parseClaimGrant('email=a@desk.example:admin')!;
  const principal = createPrincipal({ sub: 's', email: 'a@desk.example', email_verified: verified }, [grant]);
  expect([...principal.scopes]).toEqual(scopes);
  expect(principal.name).toBe(verified === true ? 'a@desk.example' : 's');
});

test.each(['a\r\nX-Evil: 1', 'a\nb', 'a\u0000', 'a\u0085b', 'a\u2028b'])('a subject %j is refused', (sub) => {
  expect(() => createPrincipal({ sub }, [])).toThrow(/control characters/);
});
