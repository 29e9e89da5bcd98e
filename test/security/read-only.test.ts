import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProvider, type Provider } from '../http/oidc-provider.js';
import { runService, type RunningService } from '../services/running-service.js';
import { signIn } from './signed-in.js';

/** OpenID provider through which users sign in to a read-only service. */
let provider: Provider;
let service: RunningService;

beforeAll(async () => {
  provider = await startProvider('console');
  const oidcFlags = ['--oidc-issuer', provider.issuer, '--oidc-audience', 'divisor', '--oidc-client-id', 'console'];
  service = await runService(['--read-only', 'on', ...oidcFlags, '--oidc-scopes', 'team=desk:read+write']);
});
afterAll(async () => {
  await service.close();
  await provider.close();
});

test('a sign-out on a read-only front ends only that session', async () => {
  const signInAs = async (sub: string) => {
    provider.person = { sub, name: 'Person', team: 'desk' };
    const { cookie, csrf } = await signIn(service.url());
    return { cookie, 'x-csrf-token': csrf };
  };
  const [leaving, staying] = [await signInAs('leaving'), await signInAs('staying')];
  const requestStatus = async (method: string, path: string, headers: Record<string, string>) =>
    (await fetch(service.url() + path, { method, headers })).status;
  for (const who of [leaving, staying]) expect(await requestStatus('GET', '/indices', who)).toBe(200);
  expect(await service.ask('DELETE', '/indices/any', undefined, leaving)).toMatchObject({
    status: 403,
    body: { error: { code: 'READ_ONLY' } },
  });
  expect(await requestStatus('DELETE', '/auth/session', { cookie: leaving.cookie })).toBe(403); // without the CSRF token
  expect(await requestStatus('DELETE', '/auth/session', leaving)).toBe(204);
  expect(await requestStatus('GET', '/indices', leaving)).toBe(401);
  expect(await requestStatus('GET', '/indices', staying)).toBe(200);
});
