import type { Configuration } from 'openid-client';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Principal } from '../handler.js';
import { createPrincipal, type ClaimGrant } from './claims.js';

export interface SignInTerms {
  readonly issuer: string;
  readonly clientId: string;
  /** Secret of a confidential client. */
  readonly clientSecret: string | undefined;
  readonly grants: readonly ClaimGrant[];
}

/** Data of a sign-in that is in progress. The browser returns it after it was at the provider. */
export interface Attempt {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly redirect: string;
}

/** Authorization code flow with PKCE. */
export interface SignIn {
  /** @param redirect address to which the provider returns the browser */
  begin(redirect: string): Promise<{ readonly url: string; readonly attempt: Attempt }>;
  /** @param search query string from the provider @throws Refusal UNAUTHENTICATED */
  finish(search: string, attempt: Attempt): Promise<Principal>;
}

/** Creates the sign-in service. It looks up the provider's addresses when the first browser signs in. */
export function createSignIn({ issuer, clientId, clientSecret, grants }: SignInTerms): SignIn {
  let configuration: Promise<Configuration> | undefined;
  const loadLibrary = () => import('openid-client');

  async function readConfiguration(): Promise<Configuration> {
    const { discovery, allowInsecureRequests, enableNonRepudiationChecks } = await loadLibrary();
    const isLocal = issuer.startsWith('http:'); // the schema of the setting admits only such addresses
    configuration ??= discovery(new URL(issuer), clientId, clientSecret, undefined, {
      execute: [enableNonRepudiationChecks, ...(isLocal ? [allowInsecureRequests] : [])],
    });
    configuration.catch(() => (configuration = undefined)); // The next browser tries again.
    return configuration;
  }

  return {
    async begin(redirect) {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } =
        await loadLibrary();
      const attempt = { verifier: randomPKCECodeVerifier(), state: randomState(), nonce: randomNonce(), redirect };
      const url = buildAuthorizationUrl(await readConfiguration().catch(refuseUnanswered), {
        redirect_uri: redirect,
        scope: 'openid profile email',
        code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
        state: attempt.state,
        nonce: attempt.nonce,
      });
      return { url: url.href, attempt };
    },
    async finish(search, { verifier, state, nonce, redirect }) {
      const { authorizationCodeGrant } = await loadLibrary();
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
      const callbackUrl = new URL(`${redirect}?${search}`);
      const tokens = await authorizationCodeGrant(
        await readConfiguration().catch(refuseUnanswered),
        callbackUrl,
        checks,
      ).catch((cause: unknown) => {
        throw new Refusal('UNAUTHENTICATED', 'The provider did not confirm the sign-in.', null, { cause });
      });
      return createPrincipal(tokens.claims()!, grants); // the request required an ID token
    },
  };
}

function refuseUnanswered(cause: unknown): never {
  throw new Refusal('STORE_UNAVAILABLE', 'The OpenID provider does not respond.', null, { cause });
}
