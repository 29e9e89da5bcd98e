import { z } from 'zod';
import { routes } from './route.js';

export const documentationRoutes = routes({
  getOpenApi: {
    method: 'GET',
    path: '/openapi.json',
    scope: 'read',
    tag: 'service',
    summary: 'The whole contract as an OpenAPI 3.1 document.',
    success: {
      status: 200,
      description: 'The document every response of the service satisfies.',
      schema: z.record(z.string(), z.unknown()).meta({ id: 'OpenApiDocument', description: 'An OpenAPI 3.1 document.' }),
    },
    errors: [],
  },
});
