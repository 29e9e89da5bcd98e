import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProvider, type Provider } from '../http/oidc-provider.js';
import { runService, type RunningService } from '../services/running-service.js';
import { signIn } from './signed-in.js';
import { DIVISOR_API_KEYS, GRANTS, createIndex, keys } from './two-tenants.js';

/** Service for a user of a tenant. The subject of the user equals the id or the name of the tenant's key. */
let service: RunningService;
let provider: Provider;

beforeAll(async () => {
  provider = await startProvider('console');
  const oidcFlags = ['--oidc-issuer', provider.issuer, '--oidc-audience', 'divisor', '--oidc-client-id', 'console'];
  const grants = GRANTS.flatMap((grant) => ['--oidc-scopes', grant]);
  service = await runService(['--tenancy', 'prefix', ...oidcFlags, ...grants], { DIVISOR_API_KEYS });
  await service.ask('PUT', '/indices/alpha-eq', createIndex('alpha-eq'), createKeyHeader('alpha-'));
});
afterAll(async () => {
  await service.close();
  await provider.close();
});

const createKeyHeader = (tenant: keyof typeof keys) => ({ 'x-api-key': keys[tenant].key });

test.each([
  ['name', 'bravo'],
  ['id', keys['bravo-'].record.id],
])('a subject that equals the %s of a key is another client: sharing, owner and principal', async (_, word) => {
  const person = { sub: word, name: word, team: 'bravo-' };
  provider.person = person;
  const { cookie } = await signIn(service.url());
  const token = { authorization: `Bearer ${await provider.token(person)}` };
  const readShare = (names: readonly string[]) =>
    service.ask('PUT', '/access/index/alpha-eq', { shared_with: names }, createKeyHeader('alpha-'));
  const readStatuses = async (): Promise<number[]> => {
    const answers: number[] = [];
    for (const client of [createKeyHeader('bravo-'), token, { cookie }])
      answers.push((await service.ask('GET', '/indices/alpha-eq', undefined, client)).status);
    return answers;
  };
  await readShare([word]);
  expect(await readStatuses()).toEqual([200, 404, 404]);
  await readShare([`sub:${word}`]);
  expect(await readStatuses()).toEqual([404, 200, 200]);
  await readShare([]);
  expect(await readStatuses()).toEqual([404, 404, 404]);

  const { body } = await service.ask('GET', '/principal', undefined, token);
  expect(body).toMatchObject({ key_id: `sub:${word}` });
  const id = `bravo-${word.toLowerCase()}`;
  expect((await service.ask('PUT', `/indices/${id}`, createIndex(id), token)).status).toBe(200);
  const { body: access } = await service.ask('GET', `/access/index/${id}`, undefined, token);
  expect(access).toMatchObject({ owner: { key_id: `sub:${word}`, name: word } });
});
