import { API } from '#contract/api.js';
import { createOpenApiDocument } from '#contract/openapi.js';
import { callOnce } from '#base/once.js';

/** Returns the API document of all routes for version 1.2.3. It is created once per test worker. */
export const getApiDocument = callOnce(() => createOpenApiDocument(API, '1.2.3'));
