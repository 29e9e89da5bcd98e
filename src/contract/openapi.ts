import { z } from 'zod';
import { type ErrorCode, ERRORS } from '#domain/base/refusals.js';
import { FORMATS } from '#domain/definition/catalogue.js';
import { listMissingCodes } from '#domain/definition/reach.js';
import { NOTE_LENGTH_MAX } from '#domain/definition/versions.js';
import { GLOSSARY } from './glossary.js';
import { ErrorEnvelope } from './payloads.js';
import { type Body, defineQuery, listPathParameters, type Route, STORE_ERRORS, type Success } from './route.js';

/**
 * Examples of the OpenAPI document. All use the same data: the index LARGE-100 on a generated market, with a run, a
 * risk model and a report. The tests send each example to a service, in an order in which every request succeeds.
 */

/** Values of path and query parameters in the examples, by name. */
const PARAMETER_EXAMPLES: Readonly<Record<string, unknown>> = {
  index_id: 'LARGE-100',
  identifier: 'BEDV',
  job_id: 'backtest:LARGE-100',
  constraint_set_id: 'core',
  run_id: '20241231T210000-5f2b9c1a',
  model_id: 'large',
  strategy_id: 'LARGE-100-LOW-TURNOVER',
  template_id: 'MONTHLY',
  render_id: '20241231T210500-0a4be7d3',
  store_id: 'two-names',
  watchlist_id: 'favourites',
  schedule_id: 'close',
  procedure_id: 'cessation',
  calendar_code: 'XLON',
  client_id: 'ACME',
  file_name: 'LARGE-100_20240621_closing.csv',
  approval_id: 1,
  action_id: '0123456789abcdef0123',
  plugin_id: 'near-high',
  sweep_id: 'caps',
  batch_id: 'clients',
  rerun_id: 'after-refresh',
  study_id: 'aversions',
  page: 'backtest',
  kind: 'index',
  document_id: 'LARGE-100',
  ids: ['LARGE-100', 'EQUAL-100'],
  identifiers: ['BEDV', 'BIDN'],
  expiries: ['2025-03-21', '2025-06-20'],
  front_expiry: '2025-03-21',
  back_expiry: '2025-06-20',
  as_of: '2024-06-28',
  date: '2024-06-21',
  asof: '2024-06-28',
  start: '2024-01-02',
  end: '2024-12-31',
  benchmark: 'EQUAL-100',
  table: 'levels',
};

/** Recorded responses by operation id, with long lists shortened. The build records them. */
export type ExampleResponses = Readonly<Record<string, unknown>>;

type JsonSchema = Record<string, unknown>;

type Direction = 'input' | 'output';

interface SchemaConversion {
  /** Returns the JSON Schema of a request body or parameter. `resolve` completes its references. */
  request(schema: z.ZodType): JsonSchema;
  response(schema: z.ZodType): JsonSchema;
}

/**
 * Named schemas of a document as components. A schema that differs between requests and responses has two components,
 * `Name` and `NameInput`. For example, a field with a default is optional only in requests.
 */
interface SchemaRegistry extends SchemaConversion {
  components(): Record<string, JsonSchema>;
  /** Returns a value in which all schema references point to components. */
  resolve<T>(value: T): T;
}

/**
 * Creates the schema registry of a document.
 * @param visitSchemas asks for the conversion of every schema in the document. All schemas are converted together,
 * because each conversion includes every schema that it refers to.
 */
function createSchemaRegistry(visitSchemas: (conversion: SchemaConversion) => unknown): SchemaRegistry {
  const requestedSchemas = { input: new Set<z.ZodType>(), output: new Set<z.ZodType>() };
  const createCollector = (io: Direction) => (schema: z.ZodType) => {
    requestedSchemas[io].add(schema);
    return {};
  };
  visitSchemas({ request: createCollector('input'), response: createCollector('output') });
  const conversions = {
    input: convert(requestedSchemas.input, 'input'),
    output: convert(requestedSchemas.output, 'output'),
  };
  const namedSchemas = { input: conversions.input.named, output: conversions.output.named };
  const twofoldIds = listTwofoldIds(namedSchemas);

  const getName = (io: Direction, id: string): string => (io === 'input' && twofoldIds.has(id) ? `${id}Input` : id);
  const resolve = <T>(value: T): T =>
    mapRefs(value, (ref) => {
      const match = /^#\/(input|output)\/(.*)$/.exec(ref);
      return match === null ? ref : `#/components/schemas/${getName(match[1] as Direction, match[2]!)}`;
    }) as T;

  return {
    request: (schema) => conversions.input.schemas.get(schema)!,
    response: (schema) => conversions.output.schemas.get(schema)!,
    components() {
      const namedEntries = (['output', 'input'] as const).flatMap((io) =>
        [...namedSchemas[io]].map(([id, schema]) => [getName(io, id), resolve(schema)] as const),
      );
      return Object.fromEntries(namedEntries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    },
    resolve,
  };
}

/** Converts schemas and the named schemas that they refer to. */
function convert(requestedSchemas: ReadonlySet<z.ZodType>, io: Direction) {
  const schemas = [...requestedSchemas];
  if (schemas.length === 0) return { schemas: new Map<z.ZodType, JsonSchema>(), named: new Map<string, JsonSchema>() };
  const { prefixItems = [], $defs = {} } = z.toJSONSchema(z.tuple(schemas as [z.ZodType, ...z.ZodType[]]), {
    io,
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => simplifySchema(jsonSchema),
  });
  return {
    schemas: new Map(schemas.map((schema, k) => [schema, markRefs(prefixItems[k], io) as JsonSchema])),
    named: new Map(
      Object.entries($defs).map(([id, schema]) => [id, addMeanings(markRefs(schema, io), id) as JsonSchema]),
    ),
  };
}

/**
 * Returns the ids of schemas that differ between requests and responses. The difference may be in a schema that they
 * refer to.
 */
function listTwofoldIds({ input, output }: Record<Direction, ReadonlyMap<string, JsonSchema>>): Set<string> {
  const removeDirection = (schema: JsonSchema | undefined) =>
    JSON.stringify(schema).replaceAll(/"#\/(?:input|output)\//g, '"#/');
  const sharedIds = [...output.keys()].filter((id) => input.has(id));
  const twofoldIds = new Set(
    sharedIds.filter((id) => removeDirection(input.get(id)) !== removeDirection(output.get(id))),
  );
  for (let previousSize = -1; previousSize !== twofoldIds.size;) {
    previousSize = twofoldIds.size;
    for (const id of sharedIds) {
      const text = JSON.stringify(output.get(id));
      if ([...twofoldIds].some((other) => text.includes(`"#/output/${other}"`))) twofoldIds.add(id);
    }
  }
  return twofoldIds;
}

/** Adds a description to each field of a named schema. It comes from the field or from the glossary. */
function addMeanings(schema: unknown, id: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => addMeanings(item, id));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, member]) => [
      key,
      key === 'properties' ? describeProperties(member as Record<string, JsonSchema>, id) : addMeanings(member, id),
    ]),
  );
}

function describeProperties(properties: Readonly<Record<string, JsonSchema>>, id: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => {
      const meaning = GLOSSARY[`${id}.${name}`] ?? GLOSSARY[name];
      const describedField = addMeanings(field, id) as JsonSchema;
      return [
        name,
        meaning === undefined || 'description' in field || 'const' in field
          ? describedField
          : { ...describedField, description: meaning },
      ];
    }),
  );
}

function markRefs(schema: unknown, io: Direction): unknown {
  return mapRefs(schema, (ref) => ref.replace(/^#\/\$defs\//, `#/${io}/`));
}

function mapRefs(value: unknown, change: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapRefs(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string' ? change(member) : mapRefs(member, change),
    ]),
  );
}

function simplifySchema(schema: JsonSchema): void {
  removeSafeRange(schema);
  moveLabelToTitle(schema);
}

/** Moves the label and the help of a catalogue parameter to the title and the description of its schema. */
function moveLabelToTitle(schema: JsonSchema): void {
  const { label, help, unit } = schema;
  if (label !== undefined) schema['title'] = label;
  if (help !== undefined) schema['description'] = unit === undefined ? help : `${String(help)} Unit: ${String(unit)}.`;
  for (const word of ['label', 'help', 'unit', 'ref', 'when']) delete schema[word];
  if (String(schema['format']) in FORMATS && schema['format'] !== 'date') delete schema['format'];
}

/** Removes the range of exact integers from a schema. It does not help readers. */
function removeSafeRange(schema: JsonSchema): void {
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
}

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
  'X-Source': {
    description: 'Address of the result with everything pinned, for a footnote of a text. Absent for documentation.',
    schema: { type: 'string' },
  },
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
      [success.status]: describeSuccess(route, success, schemas),
      ...(unchanged === undefined ? {} : { [unchanged.status]: describeSuccess(route, unchanged, schemas) }),
      ...(acknowledged === undefined ? {} : { [acknowledged.status]: describeSuccess(route, acknowledged, schemas) }),
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
  const pathParameters = listPathParameters(path);
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

function describeSuccess({ method, scope }: Route, success: Success, schemas: SchemaConversion): Json {
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
    headers: describeHeaders(
      'X-Request-Id',
      'X-Engine-Version',
      ...(method === 'GET' ? (['ETag'] as const) : []),
      ...(method === 'GET' || (scope === 'read' && status === 200) ? (['X-Source'] as const) : []),
    ),
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
      ...(route.errors ?? []),
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
