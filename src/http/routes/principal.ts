import type { principalRoutes } from '#contract/principal.js';
import type { Handlers } from '../handler.js';

export const principalHandlers: Handlers<typeof principalRoutes> = {
  getPrincipal: ({ principal: { keyId, scopes } }) => ({ json: { key_id: keyId, scopes: [...scopes] } }),
};
