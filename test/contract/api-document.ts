import { API } from '#contract/api.js';
import { createOpenApiDocument } from '#contract/openapi.js';
import { callOnce } from '#base/once.js';

/** Returns the document of all routes for version 1.2.3, created once per test worker. */
export const apiDocument = callOnce(() => createOpenApiDocument(API, '1.2.3'));
