import { NOTE_LENGTH_MAX } from '#domain/documents/version-document.js';
import { listMissingCodes } from '#domain/documents/named-documents.js';
import { ERRORS, type ErrorCode } from '#domain/refusals/refusal.js';
import { ErrorEnvelope } from './common.js';
import { PARAMETER_EXAMPLES, type ExampleResponses } from './examples.js';
import { defineQuery, STORE_ERRORS } from './common-query.js';
import type { Body, Route, Success } from './route.js';
import { createSchemaRegistry, type JsonSchema, type SchemaConversion } from './schema-registry.js';

type Json = Readonly<Record<string, unknown>>;

/** Parts of the OpenAPI document that other code reads. */
export interface OpenApiDocument {
  readonly openapi: '3.1.1';
  readonly info: Json;
  readonly servers: readonly Json[];
  readonly tags: readonly Json[];
  readonly security: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Readonly<
    Record<'schemas' | 'responses' | 'headers' | 'securitySchemes', Readonly<Record<string, Json>>>
  >;
}

/**
 * Creates the OpenAPI 3.1 document for a table of routes. All schemas with an id become components, and all errors are
 * listed.
 * @param answers example responses of routes that declare no example
 * @cost some tenths of a second; build it once
 */
export function createOpenApiDocument(
  api: Readonly<Record<string, Route>>,
  version: string,
  answers: ExampleResponses = {},
): OpenApiDocument {
  const operations = Object.entries(api).map(([id, route]) => ({
    id,
    route: addResponse(route, answers[id]),
    query: defineQuery(route),
  }));
  const buildPaths = (schemas: SchemaConversion) => {
    const paths: Record<string, Record<string, Json>> = {};
    for (const operation of operations) {
      const { path, method } = operation.route;
      (paths[path] ??= {})[method.toLowerCase()] = describeOperation(operation, schemas);
    }
    return paths;
  };
  const registry = createSchemaRegistry((schemaConversion) => {
    schemaConversion.response(ErrorEnvelope);
    buildPaths(schemaConversion);
  });
  return {
    openapi: '3.1.1',
    info: {
      title: 'Divisor',
      version,
      summary: SUMMARY,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(Object.values(api).map(({ tag }) => tag))].map((name) => ({ name })),
    security: [{ bearer: [] }, { apiKey: [] }, {}],
    paths: registry.resolve(buildPaths(registry)),
    components: {
      schemas: registry.components(),
      responses: Object.fromEntries(
        SHARED_ERRORS.map(([status, codes]) => [`Error${status}`, registry.resolve(describeErrorResponse(codes))]),
      ),
      headers: HEADERS,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'Key of the form dvs_<keyId>_<secret>. Without keys, the service accepts only loopback clients.',
        },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'Key in a separate header.',
        },
      },
    },
  };
}

function addResponse(route: Route, answer: unknown): Route {
  return answer === undefined || route.success.example !== undefined
    ? route
    : { ...route, success: { ...route.success, example: answer } };
}

const SUMMARY = 'Index construction and analytics as a service.';

const DESCRIPTION = `Bodies are JSON in UTF-8. Dates are \`YYYY-MM-DD\`; return-like figures, rates and weights are fractions; null means not measured or not applicable.

Every response that is not 2xx or 304 is an ErrorEnvelope, whose \`error.code\` is stable. Checks come in this order: key, path, method, scope, syntax of the body,
ids and query, the named resource, the body, its state, availability of data, then the work itself.

GETs of stored documents carry a strong \`ETag\` and honour \`If-None-Match\` (304), except for bodies with members beyond the document, such as the problems of a strategy; PUT, PATCH and DELETE honour \`If-Match\` (412).
HEAD is answered as GET without a body; OPTIONS and other methods are 405, whose \`Allow\` names those of the path. Writes of documents that have versions take a note in \`X-Change-Note\`. Every answer carries \`X-Request-Id\` (yours, when you send one) and \`X-Engine-Version\`; a request with a valid W3C \`traceparent\` is answered with \`traceresponse\`, and jobs keep its trace.`;

const HEADERS = {
  'X-Request-Id': {
    description: 'The request id that was sent, or a new id.',
    schema: { type: 'string', maxLength: 128 },
  },
  'X-Engine-Version': { description: 'The running engine version.', schema: { type: 'string' } },
  'X-Version': { description: 'Number of the version.', schema: { type: 'string' } },
  ETag: { description: 'SHA-256 of the stored document, quoted.', schema: { type: 'string' } },
  Allow: { description: 'Methods that the path accepts.', schema: { type: 'string' } },
  'Retry-After': {
    description: 'Number of seconds after which the request can be repeated.',
    schema: { type: 'integer' },
  },
  'WWW-Authenticate': { description: 'Bearer.', schema: { type: 'string' } },
} as const;

const describeHeaders = (...names: (keyof typeof HEADERS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

interface Operation {
  readonly id: string;
  readonly route: Route;
  /**
   * Query of the route with the common parameters. It must always be the same object, because the schema registry
   * compares references.
   */
  readonly query: Route['query'];
}

function describeOperation({ id, route, query }: Operation, schemas: SchemaConversion): Json {
  const { method, tag, summary, description, scope, body, success, unchanged, acknowledged } = route;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: scope === 'open' ? [] : [{ bearer: [scope] }, { apiKey: [scope] }, {}],
    parameters: listParameters(route, query, schemas),
    ...(body === undefined ? {} : { requestBody: describeRequestBody(body, schemas) }),
    responses: {
      [success.status]: describeSuccess(method, success, schemas),
      ...(unchanged === undefined ? {} : { [unchanged.status]: describeSuccess(method, unchanged, schemas) }),
      ...(acknowledged === undefined ? {} : { [acknowledged.status]: describeSuccess(method, acknowledged, schemas) }),
      ...(method === 'GET' && success.status === 200
        ? {
            304: {
              description: 'The content with the ETag in If-None-Match is current.',
              headers: describeHeaders('X-Request-Id', 'X-Engine-Version', 'ETag'),
            },
          }
        : {}),
      ...describeErrors(route),
    },
  };
}

function listParameters(route: Route, query: Route['query'], schemas: SchemaConversion): Json[] {
  const { path, params, method, versioned, conditional } = route;
  const pathParameters = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const isWrite = method === 'PUT' || method === 'PATCH' || method === 'DELETE' || conditional === true;
  return [
    ...pathParameters.map((name) => {
      const field = params?.shape[name];
      if (field === undefined) throw new Error(`${path} has no schema for {${name}}`);
      return createParameter(name, 'path', true, schemas.request(field));
    }),
    ...listFields(query, schemas).map(({ name, schema, required }) => createParameter(name, 'query', required, schema)),
    ...(isWrite && pathParameters.length > 0
      ? [
          createParameter('If-Match', 'header', false, {
            type: 'string',
            description: 'The document is changed only if its ETag is one of these ETags.',
          }),
        ]
      : []),
    ...(versioned === true
      ? [
          createParameter('X-Change-Note', 'header', false, {
            type: 'string',
            maxLength: NOTE_LENGTH_MAX,
            description: 'Reason for the write, stored with the version and in the audit log.',
          }),
        ]
      : []),
  ];
}

function listFields(
  query: Route['query'],
  schemas: SchemaConversion,
): { name: string; schema: JsonSchema; required: boolean }[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemas.request(query) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({ name, schema, required: required.includes(name) }));
}

function createParameter(
  name: string,
  location: 'path' | 'query' | 'header',
  isRequired: boolean,
  { description, example: ownExample, ...schema }: JsonSchema,
): Json {
  const example = PARAMETER_EXAMPLES[name] ?? ownExample;
  return {
    name,
    in: location,
    required: isRequired,
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    schema,
  };
}

function describeRequestBody({ schema, optional, example, bytesMax, upload }: Body, schemas: SchemaConversion): Json {
  const wire = schemas.request(schema);
  const content = {
    schema: optional === true ? { anyOf: [wire, { type: 'null' }] } : wire,
    ...(example === undefined ? {} : { example }),
  };
  const uploads = Object.fromEntries(
    (upload?.media ?? []).map((type) => [
      type,
      { schema: { description: `Bytes of the media type ${type}, at most ${upload?.bytesMax}.` } },
    ]),
  );
  return {
    required: optional !== true,
    ...(bytesMax === undefined ? {} : { description: `At most ${bytesMax} bytes.` }),
    content: { 'application/json': content, ...uploads },
  };
}

function describeSuccess(method: Route['method'], success: Success, schemas: SchemaConversion): Json {
  const { description, schema, media = [], mediaByBody = [], example, status } = success;
  const json =
    schema === undefined
      ? {}
      : { 'application/json': { schema: schemas.response(schema), ...(example === undefined ? {} : { example }) } };
  const binaryMedia = Object.fromEntries(
    [...media, ...mediaByBody].map((type) => [type, { schema: { description: `Bytes of the media type ${type}.` } }]),
  );
  const content = { ...json, ...binaryMedia };
  return {
    description,
    headers: describeHeaders('X-Request-Id', 'X-Engine-Version', ...(method === 'GET' ? (['ETag'] as const) : [])),
    ...(status === 204 || Object.keys(content).length === 0 ? {} : { content }),
  };
}

/** Error codes that every route may return, by status. */
const SHARED_ERRORS: readonly (readonly [number, readonly ErrorCode[]])[] = [
  [400, ['MALFORMED_REQUEST']],
  [401, ['UNAUTHENTICATED']],
  [403, ['FORBIDDEN_SCOPE', 'FORBIDDEN_ID', 'QUOTA_EXCEEDED', 'READ_ONLY', 'FORBIDDEN_ORIGIN']],
  [404, ['ROUTE_NOT_FOUND', 'DOCUMENT_UNREADABLE']],
  [405, ['METHOD_NOT_ALLOWED']],
  [406, ['NOT_ACCEPTABLE']],
  [422, ['VALIDATION_FAILED', 'QUERY_LIMIT']],
  [429, ['RATE_LIMITED']],
  [500, ['INTERNAL']],
  [501, ['NOT_SUPPORTED']],
  [503, ['NO_DATA_SOURCE', 'STORE_UNAVAILABLE', 'OVERLOADED', 'DRAINING', 'STORAGE_FULL']],
];

/** Statuses for missing permissions. Open routes never return them. */
const KEY_STATUSES: ReadonlySet<number> = new Set([401, 403, 429]);

/**
 * Returns all error codes of a route: the codes of all routes, the codes that follow from its parts, and its declared
 * codes.
 */
export function listErrorCodes(route: Route): ErrorCode[] {
  const isOpen = route.scope === 'open';
  // a response without a form in JSON is sent whatever `Accept` says
  const isNegotiated = route.success.schema !== undefined;
  const isImpossible = (status: number) => (isOpen && KEY_STATUSES.has(status)) || (status === 406 && !isNegotiated);
  const sharedCodes = SHARED_ERRORS.flatMap(([status, codes]) => (isImpossible(status) ? [] : codes));
  const isWrite = route.method === 'PUT' || route.method === 'PATCH' || route.method === 'DELETE';
  return [
    ...new Set<ErrorCode>([
      ...sharedCodes,
      ...(route.body === undefined ? [] : (['BODY_TOO_LARGE'] as const)),
      ...(route.params === undefined ? [] : (['INVALID_IDENTIFIER'] as const)),
      ...(isOpen ? [] : listMissingCodes(listNames(route))), // a write to an id that the caller may not use also returns these codes
      ...(route.onStore === undefined ? [] : STORE_ERRORS),
      ...(isWrite && route.params !== undefined ? (['PRECONDITION_FAILED'] as const) : []),
      ...route.errors,
    ]),
  ];
}

const listNames = ({ params, query }: Route): string[] => Object.keys({ ...params?.shape, ...query?.shape });

function describeErrors(route: Route): Json {
  const codesByStatus = new Map<number, ErrorCode[]>();
  for (const code of listErrorCodes(route)) {
    const { status } = ERRORS[code];
    if (status === null) throw new Error(`${route.method} ${route.path} declares ${code}, which only jobs carry`);
    codesByStatus.set(status, [...(codesByStatus.get(status) ?? []), code]);
  }
  const sharedCodes = new Map(SHARED_ERRORS.map(([status, codes]) => [status, codes.join()]));
  return Object.fromEntries(
    [...codesByStatus].map(([status, codes]) => [
      status,
      sharedCodes.get(status) === codes.join()
        ? { $ref: `#/components/responses/Error${status}` }
        : describeErrorResponse(codes),
    ]),
  );
}

function describeErrorResponse(codes: readonly ErrorCode[]): Json {
  const { status } = ERRORS[codes[0]!];
  const ownProperties =
    status === 405
      ? (['Allow'] as const)
      : status === 401
        ? (['WWW-Authenticate'] as const)
        : status === 503 ||
            status === 429 ||
            codes.some((code) => code === 'STORE_LOADING' || code === 'STORE_REFRESHING')
          ? (['Retry-After'] as const)
          : [];
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].help}`).join('\n\n'),
    headers: describeHeaders('X-Request-Id', 'X-Engine-Version', ...ownProperties),
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/output/ErrorEnvelope' },
            { type: 'object', properties: { error: { type: 'object', properties: { code: { enum: codes } } } } },
          ],
        },
      },
    },
  };
}
