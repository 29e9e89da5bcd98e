import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

/** A local OpenID provider. It publishes keys, signs tokens, and signs in one person. */
export interface Provider {
  readonly issuer: string;
  /** Returns how often the published keys were read. */
  keysRead(): number;
  /** Signs with new keys from now on, and publishes only the new keys. */
  rotate(): Promise<void>;
  token(claims: JWTPayload, terms?: TokenTerms): Promise<string>;
  /** Person who signs in next. The members are the claims of the ID token that differ from the default. */
  person: JWTPayload;
  /** Creates the ID tokens. Default: the tokens of `token`, issued for the client that signs in. */
  idTokenOf: ((claims: JWTPayload) => string | Promise<string>) | undefined;
  close(): Promise<void>;
}

interface TokenTerms {
  readonly issuer?: string;
  readonly audience?: string | undefined;
  /** Seconds until the token expires. */
  readonly expires?: number | null;
  readonly key?: KeyPair['privateKey'];
  readonly kid?: string;
}

export async function startProvider(clientId: string): Promise<Provider> {
  let pair = await generateKeyPair('ES256');
  let kid = 'first';
  let reads = 0;
  const codes = new Map<string, { readonly challenge: string; readonly nonce: string }>();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, readIssuer());
    const sendJson = (body: object, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (url.pathname === '/.well-known/openid-configuration')
      return sendJson({
        issuer: readIssuer(),
        authorization_endpoint: `${readIssuer()}/authorize`,
        token_endpoint: `${readIssuer()}/token`,
        jwks_uri: `${readIssuer()}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
      });
    if (url.pathname === '/keys') {
      reads++;
      return sendJson({ keys: [{ ...(await exportJWK(pair.publicKey)), kid, alg: 'ES256', use: 'sig' }] });
    }
    if (url.pathname === '/authorize') {
      const ask = (name: string) => url.searchParams.get(name) ?? '';
      const code = randomBytes(8).toString('hex');
      if (ask('code_challenge_method') !== 'S256') return sendJson({ error: 'invalid_request' }, 400);
      codes.set(code, { challenge: ask('code_challenge'), nonce: ask('nonce') });
      const redirectUrl = new URL(ask('redirect_uri'));
      redirectUrl.searchParams.set('code', code);
      redirectUrl.searchParams.set('state', ask('state'));
      redirectUrl.searchParams.set('iss', readIssuer());
      response.writeHead(302, { location: redirectUrl.href }).end();
      return;
    }
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const form = new URLSearchParams(text);
    const grant = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (grant === undefined || grant.challenge !== verifier) return sendJson({ error: 'invalid_grant' }, 400);
    const claims = { nonce: grant.nonce, ...provider.person };
    const idToken = await (provider.idTokenOf?.(claims) ?? provider.token(claims, { audience: clientId }));
    sendJson({ access_token: 'opaque', token_type: 'bearer', expires_in: 300, id_token: idToken });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const readIssuer = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: Provider = {
    issuer: readIssuer(),
    keysRead: () => reads,
    async rotate() {
      pair = await generateKeyPair('ES256');
      kid = 'second';
    },
    async token(claims, terms = {}) {
      const now = Math.floor(Date.now() / 1000);
      const token = new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: terms.kid ?? kid })
        .setIssuer(terms.issuer ?? readIssuer())
        .setIssuedAt(now);
      if (terms.audience !== undefined || !('audience' in terms)) token.setAudience(terms.audience ?? 'divisor');
      if (terms.expires !== null) token.setExpirationTime(now + (terms.expires ?? 300));
      return token.sign(terms.key ?? pair.privateKey);
    },
    person: { sub: 'person-1', name: 'Ada', groups: ['desk'] },
    idTokenOf: undefined,
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  };
  return provider;
}
