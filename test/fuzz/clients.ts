import { SCOPES } from '#contract/route.js';
import { type IssuedKey, issueKey } from '#services/keys/keys.js';
import { startProvider } from '../http/oidc-provider.js';
import { signIn } from '../security/signed-in.js';
import { SPARE_IDS } from './request-arbitrary.js';

/** A client of the service, possibly limited to a part of the stored documents. */
export interface Client {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** True if some stored documents must be invisible to the client. */
  readonly isLimited: boolean;
}

/** Prefixes of the ids that limited clients may use. They match some of the ids in the vocabulary. */
const PREFIXES = ['BETA', 'CHILD', 'NEW', 'own', 'names', 'limits', 'plan', 'extra', ...SPARE_IDS.slice(0, 1)];

/**
 * Creates the clients of a service with teams: the operator, and a team with limited access. The team has a key, a
 * token and a browser session.
 */
export async function openTeams() {
  const provider = await startProvider('console');
  const [operator, limited] = [undefined, PREFIXES].map((prefixes, i) =>
    issueKey({ name: `key-${i}`, scopes: SCOPES, expires: null, ...(prefixes && { prefixes }) }, Date.now()),
  ) as [IssuedKey, IssuedKey];
  const allScopes = SCOPES.join('+');
  const formatRecord = ({ record: { name, id, sha256, prefixes } }: IssuedKey): string =>
    `${name}:${id}:${sha256}:${allScopes}${prefixes === undefined ? '' : `:${prefixes.join('+')}`}`;
  const { issuer } = provider;
  const flags = [
    '--tenancy',
    'prefix',
    '--oidc-issuer',
    issuer,
    '--oidc-audience',
    'divisor',
    '--oidc-client-id',
    'console',
  ];
  provider.person = { sub: 'person', team: 'limited' };
  return {
    flags: [...flags, '--oidc-scopes', `team=limited:${allScopes}:${PREFIXES.join('+')}`],
    environment: { DIVISOR_API_KEYS: [operator, limited].map(formatRecord).join(',') },
    operator: { 'x-api-key': operator.key },
    async clients(url: string): Promise<readonly Client[]> {
      const { cookie, csrf } = await signIn(url);
      const token = await provider.token(provider.person, { expires: 7200 });
      return [
        { name: 'operator', headers: { 'x-api-key': operator.key }, isLimited: false },
        { name: 'key', headers: { 'x-api-key': limited.key }, isLimited: true },
        { name: 'token', headers: { authorization: `Bearer ${token}` }, isLimited: true },
        { name: 'browser', headers: { cookie, 'x-csrf-token': csrf }, isLimited: true },
      ];
    },
    close: () => provider.close(),
  };
}

/** The client of a service without keys, on the same machine. */
export const OPEN_ACCESS = {
  flags: [],
  environment: {},
  operator: {},
  clients: async (): Promise<readonly Client[]> => [{ name: 'anybody', headers: {}, isLimited: false }],
  close: async () => {},
};
