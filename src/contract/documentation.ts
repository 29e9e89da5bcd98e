import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Id } from '#domain/schema/shape.js';
import { MARKDOWN_MEDIA, PAGE_MEDIA } from './media-formats.js';
import { defineRoutes } from './route.js';

export const documentationRoutes = defineRoutes({
  getOpenApi: {
    method: 'GET',
    path: '/openapi.json',
    scope: 'read',
    tag: 'documentation',
    summary: 'Returns the whole contract as an OpenAPI 3.1 document.',
    success: {
      status: 200,
      description: 'Every response of the service satisfies this document.',
      schema: z
        .record(z.string(), z.unknown())
        .meta({ id: 'OpenApiDocument', description: 'An OpenAPI 3.1 document.' }),
    },
    errors: [],
  },
  getDocumentation: {
    method: 'GET',
    path: '/docs',
    scope: 'read',
    tag: 'documentation',
    summary: 'Returns the API reference as an HTML page.',
    description:
      'The page is generated from the OpenAPI document. It is self-contained, works without scripts, and can be printed and saved.',
    success: { status: 200, description: 'The page.', media: ['text/html'] },
    errors: [],
  },
  getGuide: {
    method: 'GET',
    path: '/docs/guide',
    scope: 'read',
    tag: 'documentation',
    summary: 'Returns the first page of the guide, which lists all pages.',
    success: { status: 200, description: 'The page.', media: [PAGE_MEDIA, MARKDOWN_MEDIA] },
    errors: [],
  },
  getGuidePage: {
    method: 'GET',
    path: '/docs/guide/{page}',
    scope: 'read',
    tag: 'documentation',
    summary: 'Returns one page of the guide.',
    params: defineObject(() => ({ page: Id.meta({ description: 'Name of the page.' }) })),
    success: { status: 200, description: 'The page.', media: [PAGE_MEDIA, MARKDOWN_MEDIA] },
    errors: [],
  },
  getGuidePicture: {
    method: 'GET',
    path: '/docs/guide/pictures/{picture}',
    scope: 'read',
    tag: 'documentation',
    summary: 'Returns an image of the guide.',
    params: defineObject(() => ({ picture: Id.meta({ description: 'Name of the image.', example: 'home' }) })),
    success: { status: 200, description: 'The picture.', media: ['image/webp'] },
    errors: [],
  },
});
