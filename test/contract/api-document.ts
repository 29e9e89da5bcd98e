import { API } from '#contract/api.js';
import { openApiDocument } from '#contract/openapi.js';
import { once } from '#base/once.js';

/** The document of all routes, of a version 1.2.3: it takes half a second, and files that share a worker share it. */
export const apiDocument = once(() => openApiDocument(API, '1.2.3'));
