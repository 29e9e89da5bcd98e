import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { startProvider } from '../../http/oidc-provider.js';
import { fetchWithoutRedirect, signIn } from '../../security/signed-in.js';
import { openCluster } from './running-cluster.js';

test.skipIf(!hasPostgresql)(
  'a session is valid on both fronts, and a sign-out ends it on both, also after a restart',
  async () => {
    const provider = await startProvider('console');
    const cluster = await openCluster({
      DIVISOR_SECRET_KEY: randomBytes(32).toString('base64'),
      DIVISOR_OIDC_ISSUER: provider.issuer,
      DIVISOR_OIDC_AUDIENCE: 'divisor',
      DIVISOR_OIDC_CLIENT_ID: 'console',
      DIVISOR_OIDC_SCOPES: 'groups=desk:read+write',
    });
    const { frontEnd } = cluster;
    const other = await cluster.startFront();
    const thirdFront = await cluster.startFront(['--oidc-scopes', 'groups=desk:read']);
    const requestAs = async ({ url }: typeof frontEnd, cookie: string) =>
      (await fetchWithoutRedirect(`${url()}/indices`, { cookie })).status;
    const [leavingSession, stayingSession] = [await signIn(frontEnd.url()), await signIn(other.url())];
    for (const node of [frontEnd, other])
      for (const { cookie } of [leavingSession, stayingSession]) expect(await requestAs(node, cookie)).toBe(200);
    // The third service grants other scopes than the session had at its start.
    expect(await requestAs(thirdFront, leavingSession.cookie)).toBe(401);

    const headers = { cookie: leavingSession.cookie, 'x-csrf-token': leavingSession.csrf };
    expect((await fetch(`${frontEnd.url()}/auth/session`, { method: 'DELETE', headers })).status).toBe(204);
    expect(await requestAs(frontEnd, leavingSession.cookie)).toBe(401);
    await expect.poll(() => requestAs(other, leavingSession.cookie)).toBe(401);
    await frontEnd.restart();
    expect(await requestAs(frontEnd, leavingSession.cookie)).toBe(401);
    for (const node of [frontEnd, other]) expect(await requestAs(node, stayingSession.cookie)).toBe(200);
    await cluster.close();
    await provider.close();
  },
);
