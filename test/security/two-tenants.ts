import { type Scope, SCOPES } from '#contract/route.js';
import { issueKey } from '#services/keys/keys.js';
import { IS_SOAK } from '../soak.js';

/** Returns all items in the soak. Otherwise it returns one item, which depends on the position. */
export const chooseSome = <T>(position: number, all: readonly T[]): readonly T[] =>
  IS_SOAK ? all : [all[position % all.length]!];

if (!IS_SOAK) console.log('each operation is asked by one client in turn; by every client of each tenant with SOAK=1');

/** Id prefixes of the tenants. */
export const TENANTS = ['alpha-', 'bravo-'] as const;
export type Tenant = (typeof TENANTS)[number];
export const getOther = (tenant: Tenant): Tenant => (tenant === 'alpha-' ? 'bravo-' : 'alpha-');

export const issueTestKey = (name: string, prefixes?: readonly string[], scopes: readonly Scope[] = SCOPES) =>
  issueKey({ name, scopes, expires: null, ...(prefixes && { prefixes }) }, Date.now());
/** Key of a client without limits. */
export const operator = issueTestKey('operator');
export const keys = { 'alpha-': issueTestKey('alpha', ['alpha-']), 'bravo-': issueTestKey('bravo', ['bravo-']) };
const formatEnvironment = ({ record }: ReturnType<typeof issueTestKey>) =>
  `${record.name}:${record.id}:${record.sha256}:${record.scopes.join('+')}${record.prefixes ? `:${record.prefixes.join('+')}` : ''}`;
/** Returns the scopes of a client that lacks one scope. `admin` is left out as well, because it includes all others. */
const listAllBut = (scope: Scope): readonly Scope[] => SCOPES.filter((each) => each !== scope && each !== 'admin');
export const keysWithoutScope = SCOPES.map((scope) => ({
  scope,
  issued: issueTestKey(`without-${scope}`, undefined, listAllBut(scope)),
}));
export const DIVISOR_API_KEYS = [
  operator,
  keys['alpha-'],
  keys['bravo-'],
  ...keysWithoutScope.map(({ issued: key }) => key),
]
  .map(formatEnvironment)
  .join(',');
/** Grants by claim. A claim gives a client the scopes of a tenant's team, or all scopes except one. */
export const GRANTS = [
  ...TENANTS.map((tenant) => `team=${tenant}:${SCOPES.join('+')}:${tenant}`),
  ...SCOPES.map((scope) => `lacks=${scope}:${listAllBut(scope).join('+')}`),
];

const AT_ONCE = 16;
/**
 * Maximum number of requests at the same time that the service delays by half a second, as it does for guessed keys. It
 * is less than the number of connections that one address may have.
 */
export const WAITING_AT_ONCE = 400;

/** Processes each item. The number of requests at the same time is limited. */
export async function processInTurns<T>(
  items: readonly T[],
  ask: (item: T) => Promise<void>,
  atOnce: number = AT_ONCE,
): Promise<void> {
  const waitingItems = items.toReversed();
  const processWaiting = async (): Promise<void> => {
    for (let item = waitingItems.pop(); item !== undefined; item = waitingItems.pop()) await ask(item);
  };
  await Promise.all(Array.from({ length: atOnce }, processWaiting));
}

/** Returns an index whose name must not be visible to another tenant. */
export const createIndex = (id: string, extra: object = {}) => ({
  id,
  name: `${id} secret`,
  calendar: 'XNYS',
  base_date: '2023-01-03',
  pipeline: { weighting: { type: 'EqualWeight' } },
  ...extra,
});

/**
 * Repeats a request whose connection was closed. On a busy machine, a client may use a connection that the service has
 * just closed because it was idle.
 */
export const onOpenConnection = <T>(ask: () => Promise<T>): Promise<T> =>
  ask().catch((thrown: unknown) => (thrown instanceof TypeError ? ask() : Promise.reject(thrown)));
