import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { defineRoutes, SCOPES } from './route.js';

export const PrincipalView = defineObject(() => ({
  key_id: z
    .string()
    .nullable()
    .meta({ description: 'Id of the key, or `sub:` and the subject of the token; null without authentication.' }),
  scopes: z.array(z.enum(SCOPES)).meta({ description: 'Permissions; admin includes all others.' }),
})).meta({ id: 'PrincipalView' });

export const principalRoutes = defineRoutes({
  getPrincipal: {
    method: 'GET',
    path: '/principal',
    scope: 'read',
    tag: 'service',
    summary: 'Returns the caller and the permissions of its key.',
    success: { status: 200, description: 'The key.', schema: PrincipalView },
    errors: [],
  },
});
