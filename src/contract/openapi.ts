import { z } from 'zod';
import { type ErrorCode, ERRORS } from '#domain/base/refusals.js';
import { FORMATS } from '#domain/definition/catalogue.js';
import { listMissingCodes } from '#domain/definition/reach.js';
import { NOTE_LENGTH_MAX } from '#domain/definition/versions.js';
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

const DATE_FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  date: 'The date.',
  start: 'First date.',
  end: 'Last date.',
  as_of: 'The resolved date.',
  requested_as_of: 'Requested value; null if omitted.',
  requested_start: 'Requested value; the first date of the run if omitted.',
  requested_end: 'Requested value; the last date of the run if omitted.',
  'AttributionView.start':
    'End of the first complete period, which is the session after the first date of the window. A full timestamp.',
  'AttributionView.end': 'Latest date of the run on or before the requested end. A full timestamp.',
  'GroupAttributionView.start': 'End of the first complete period. A full timestamp.',
  'GroupAttributionView.end': 'Latest date of the run on or before the requested end. A full timestamp.',
  'OverviewView.start': "First date of the run's levels.",
  'OverviewView.end': 'Last date of the levels of the run.',
  'CompareView.start': 'First common date.',
  'CompareView.end': 'Last common date.',
  'DatasetCoverage.start': 'Earliest date of the data.',
  'DatasetCoverage.end': 'Latest date of the data.',
  'GenerateSyntheticRequest.start': 'First session.',
  base_date: 'Base date: the first rebalance is on the first session on or after this date.',
  rebalance_date: 'Date of the rebalance in force.',
  last_rebalance: 'Date of the latest rebalance.',
  resolved_date: 'Latest session with data on or before the date; null if the date is before the first session.',
  since: 'Date of the rebalance from which the drift is measured.',
  expiry: 'Expiry of the contract.',
  maturity: 'Last date of the swap.',
  front_expiry: 'Expiry of the contract that is sold.',
  back_expiry: 'Expiry of the contract that is bought.',
  ex_date: 'First day without the entitlement.',
  filled_on: 'Later session on which the order was filled; null if it was never filled.',
  run_at: 'Time of the run, ISO-8601 UTC with offset.',
  created_at: 'Time of creation, ISO-8601 UTC with offset.',
  updated_at: 'Time of the last change, ISO-8601 UTC with offset.',
  finished_at: 'Time of the end, ISO-8601 UTC with offset; null while it has not ended.',
  last_loaded_at: 'Time of the last load.',
  last_refreshed_at: 'Time of the last refresh.',
  uptime_seconds: 'Seconds since the start of the process.',
  window_start: 'First date of the levels of the run. The estimation period begins on this date.',
  window_end: 'Last date of the levels of the run.',
  covered_start: 'First date that the calendar covers.',
  covered_end: 'Last date that the calendar covers.',
  trimmed_start: 'True if the calendar begins after the requested start.',
  trimmed_end: 'True if the calendar ends before the requested end.',
};

/** Descriptions of fields of documents, definitions and requests about them. */
const DOCUMENT_FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  // Fields of documents.
  id: 'Id: 1 to 64 letters, digits, dashes and underscores.',
  name: 'Display name.',
  'FunctionSpec.name': 'Name of the function.',
  'MemberSpec.name': 'Name of the member.',
  'ParameterSpec.name': 'Name of the parameter.',
  'SqlColumn.name': 'Name of the column.',
  'TemplateNeed.name': 'Name of the column, series or universe.',
  description: 'Free text.',
  kind: 'Kind of the object.',
  type: 'Class name.',
  'CorporateAction.type': 'Type of the corporate action.',
  'DataRepair.type': 'Type of the corporate action.',
  'MemberSpec.type': 'Type of the value.',
  'ParameterSpec.type': 'Type of the value.',
  label: 'Human-readable name.',
  tags: 'Free labels.',
  index_id: 'The index, or the strategy of a run.',
  index_ids: 'The requested indices.',
  identifier: 'Asset identifier.',
  identifiers: 'Asset identifiers.',
  asset_id: 'Asset identifier.',
  store_id: 'The data store.',
  model_id: 'The risk model.',
  run_id: 'The optimisation run.',
  sweep_id: 'The sweep.',
  rerun_id: 'The rerun.',
  study_id: 'The study of optimisations.',
  strategy_id: 'The strategy.',
  template_id: 'The template.',
  watchlist_id: 'The watchlist.',
  plugin_id: 'The plug-in.',
  schedule_id: 'The schedule.',
  procedure_id: 'The procedure.',
  client_id: 'The client.',
  'RecordedCalendarClosures.effect': 'Effect of the changes.',
  constraint_set_id: 'The constraint set.',
  portfolio_id: 'portfolio-{index_id}.',
  source_index_id: 'Parent of the derived index; it cannot be changed.',
  'DerivedSource.source':
    'Explanation of the weight in the parent, on the effective date of the composition that was optimised.',
  rule_id: 'Id of the rule; null for the universe.',
  rule_type: 'Class of the rule; null for the universe.',
  row_id: 'Id of the rule or constraint, if it has one.',
  params: 'Parameters of the type, by name.',
  document: 'The definition.',
  'BenchmarkRef.id': 'Index id, or market-data identifier.',
  'BenchmarkRef.kind': '`index`: a stored definition. `identifier`: a security of the market or a series.',
  price_column: 'Column of the market; ignored if kind is `index`.',

  // Fields of definitions.
  calendar: 'Exchange MIC from /indices/calendars.',
  currency: 'ISO 4217 code.',
  universe: 'Universe of the selection.',
  'UniverseMembership.universe': 'Name of the universe.',
  rebalance: 'Schedule of the rebalances.',
  pipeline: 'Rules of a rule-based index. A definition has exactly one of pipeline and derivation.',
  derivation: 'Optimisation of a derived index. A definition has exactly one of pipeline and derivation.',
  selection:
    'Rules in order, each applied to the securities that the previous rule kept. Without rules, the whole universe is kept.',
  treatment: 'Treatment of events and gaps in prices.',
  weighting: 'Weighting of the selected securities.',
  'RuleTypes.selection': 'Selection classes.',
  'RuleTypes.weighting': 'Weighting classes.',
  'RuleTypes.fields': 'All other fields of a definition, by section.',
  'IndexExplanation.weighting':
    'Computation of the uncapped weight from the datapoints; null for an excluded security.',
  cap: 'Maximum weight of a security; null if there is none.',
  floor: 'Minimum weight of a security.',
  expected_returns: 'Expected returns of the objective: a model of `/optimise/objective-types` with its parameters.',
  uncertainty: 'Uncertainty sets of expected returns and covariances; the objective is optimised for the worst case.',
  'Uncertainty.covariance': 'Errors of the covariances; null if there are none.',
  resampling: 'Frontier that is averaged over draws; null for only the frontier of the estimates.',
  costs: 'Trading costs, linear and market impact. In a result, their sum as a fraction of value.',
  objective_type: 'Type of the objective.',
  objective:
    'Objective: an object with a type of `/optimise/objective-types` and its parameters, or only the type. A derived index accepts only the type `min_tracking_error` without an object.',
  constraints: 'Constraints. Without constraints, weights are long-only and add up to 1.',
  anchor: 'Day within each period.',
  weekday: 'Weekday: 0 is Monday, 4 is Friday.',
  'LimitState.dates': 'Dates of the window.',
  dividends: 'Return variant: dividends excluded, reinvested, or reinvested after withholding tax.',
  'DerivedActions.dividends': 'Number of derived dividends.',
  'DerivedActions.splits': 'Number of derived splits.',
  field: 'Datapoint or reference column.',
  group: 'The group.',
  'GroupAttributionView.groups': 'One row per group.',
  aggregate: 'Aggregation of a window to one value.',
  operand: 'Condition that must be false.',
  operands: 'Nodes in any order.',
  'ArithmeticNode.operands': 'Operands, in order.',
  'FunctionNode.operands': 'Arguments of the function, in order.',
  comparison: 'Comparison of the datapoint with the value.',
  amount: 'Index points.',

  // Fields of the catalogue.
  category: 'Catalogue that contains the class.',
  help: 'Description in one or two sentences.',
  parameters: 'Parameters of the class in the order of a form.',
  'ObjectiveTypeSpec.measure': 'Measure in which a run reports the objective and its changes.',
  unit: 'Unit of the figure.',
  convex: 'False for classes that make a result heuristic.',
  example: 'Complete valid example.',
  required: 'True if the parameter is required.',
  default: 'Default value.',
  order: 'Position in a form.',
  choices: 'Accepted values; null: any value of the type.',
  ref: 'Schema of the value.',

  // Fields of previews and what-if comparisons.
  in_universe: 'True if the security could be selected on the decision date.',
  included:
    'True if the index holds the security at the close of as_of. Constituents can also change between rebalances.',
  excluded_by: 'First rule that excluded the security; null if no rule excluded it.',
  datapoints: 'Values that the definition read for the security.',
  rules: 'Every rule and its result for the security.',
  kept: 'True if the rule kept the security.',
  rank: 'Rank, 1 for the best; null if the rule does not rank.',
  test: 'The condition in words.',
  position: 'Position in the order.',
  capping: 'Effect of the cap on the weight; null for an excluded security.',
  formula: 'The formula of the raw weight.',
  scale: 'Factor applied to the weights that are not capped.',
  change: 'Value after less value before.',
  before: 'Value before the change.',
  after: 'Value after the change.',
  added: 'Securities that are only in the changed definition.',
  removed: 'Securities that are only in the base.',
  changed: 'Securities with different weights in the two definitions.',
  // Fields of methodology templates.
  templates: 'Methodologies that the service contains.',
  title: 'Title.',
  source: 'Public document that the template follows.',
  'DatapointRequest.source': 'Source code of the plug-in.',
  'IndexDocument.source': 'Source code of the plug-in.',
  'IndexDocumentBody.source': 'Source code of the plug-in.',

  number: 'Number of the sentence.',
  text: 'The sentence.',
};

/** Descriptions of fields of derivatives, simulations and sweeps. */
const PRICING_FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  // Fields of derivatives.
  spot: 'Level of the underlying index.',
  days: 'Calendar days.',
  year_fraction: 'days / 365.',
  fair_value: 'Theoretical price.',
  basis: 'fair_value less spot.',
  'InspectResult.basis': 'Proposed adjustment, and its reason.',
  annualised_carry: 'ln(fair_value / spot) / year_fraction.',
  carry: 'Components of the basis.',
  financing: 'spot x (exp(r tau) - 1).',
  'LeverageOverlay.financing':
    'Series of the store with the interest rate of borrowings and cash, in percent per year; null for a rate of 0.',
  borrow: 'spot x (exp(-b tau) - 1).',
  risk_free_rate: 'Financing rate that was used.',
  borrow_rate: 'Borrow rate that was used.',
  dividend_yield: 'Dividend yield that was used.',
  front_price: 'Theoretical price of the front contract.',
  back_price: 'Theoretical price of the back contract.',
  points: 'By expiry.',
  'ResampledFrontier.points': 'Points by rank.',
  shape: 'Shape of the prices: rising, falling, flat or mixed.',
  direction: 'Direction of the return: received or paid.',
  return_type: 'Treatment of dividends in the return.',
  reset_frequency: 'Frequency of resets of the swap.',
  initial_level: 'Level at the last reset.',
  equity_leg: 'Value of the return leg.',
  financing_leg: 'Value of the financing leg.',
  accrued_equity: 'Return since the last reset, in money.',
  accrued_financing: 'Interest since the last reset, in money.',
  equity: 'Value of the return of the period.',
  'TrsPriceResponse.financing': 'Value of the interest of the period.',
  'TrsPriceResponse.periods': 'Current and future periods.',
  discount_factor: 'Discount factor at the end of the period.',

  // Fields of simulations and sweeps.
  method: 'Method of drawing returns.',
  horizon: 'Sessions ahead.',
  paths: 'Number of paths.',
  seed: 'Seed of the random numbers. Equal seeds give equal paths.',
  shortfall: 'Fraction of the paths that end or fall below the level.',
  mean: 'Mean of the distribution.',
  minimum: 'Least.',
  maximum: 'Greatest.',
  variants: 'Number of requested variants.',
  refused: 'Number of variants that could not be run.',
  rank_by: 'Metric of the ranking.',
  partitions: 'Number of blocks of time.',
  skewness: 'Skewness of the returns of the best variant.',
  deflated_sharpe_ratio:
    'Probability that the true Sharpe ratio exceeds the best Sharpe ratio expected among all trials if all true ratios were zero.',
};

/** Descriptions of fields of series, runs, weights and risk. */
const RUN_FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  // Fields of series and tables.
  index: 'Labels of the rows.',
  'SavedIndex.index': 'The stored document.',
  'BacktestResultSummary.index': 'Series of the index: target and optimised.',
  columns: 'Labels of the columns.',
  'DataRepair.columns': 'Columns that are scaled.',
  'DataRepair.inverse_columns': 'Columns of share counts. On these days, their values are divided by the factor.',
  data: 'Rows of cells.',
  'RunsDifference.data': 'Changes of the data.',
  'SeriesPayload.name': 'Name of the series.',

  // Fields of runs.
  level: 'Level, 100 at the start.',
  levels: 'The levels.',
  index_level: 'Level of the tracked index, rebased to 100 on the same dates.',
  divisor: 'Market value divided by level.',
  variant: 'Return variant.',
  'SweepFoldsView.variant': 'Position of the selected variant.',
  returns: 'Returns of the level, beginning with the second date.',
  'Uncertainty.returns': 'Errors of the expected returns; null if there are none.',
  drawdown: 'Level relative to its running peak, less 1; 0 at a high.',
  metrics: 'Figures of the run.',
  total_return: 'Last level divided by the first, less 1.',
  index_return: 'Return of the run over the same dates.',
  benchmark_return: 'Return of the benchmark over the same dates.',
  excess_return: 'Return less the return of the reference.',
  volatility: 'Annualised standard deviation of returns.',
  tracking_error: 'Annualised standard deviation of return differences.',
  beta: 'Covariance of the returns with the returns of the reference, divided by the variance of the returns of the reference.',
  correlation: 'Correlation of the returns.',
  expected_return: 'Annualised expected return.',
  'StudyFigures.expected_return': 'Annualised expected return before costs; null without expected returns.',
  sharpe: 'Excess return divided by volatility.',
  benchmark: 'Benchmark of the comparison; null if there is none.',
  'FieldExposure.benchmark': 'Exposure of the benchmark; null if there is none.',
  reference: 'The benchmark as written in the request.',
  initial_capital: 'Initial capital of the portfolio.',
  total_costs: 'Transaction costs paid.',
  observations: 'Number of dates used.',
  rebalances: 'Compositions, by date.',
  'OverviewView.rebalances': 'Number of rebalances in the run.',
  rebalances_total: 'Total number of rebalances, including rebalances that are not returned.',
  rebalances_held: 'Rebalances at which the run held the security.',
  weights_dates_total: 'Number of dates of the whole table.',
  calendar_coverage: 'Set only if the calendar does not cover the requested range.',
  portfolio: 'Simulated portfolio.',
  unfilled: 'Orders that could not be filled on their day.',
  cash: 'Cash after each close.',
  'RiskControlOverlay.cash':
    'Series of the store with the interest rate of cash, in percent per year; null for no interest.',
  positions: 'Holdings after each close, in long form. Only the most recent rows are returned.',
  positions_total: 'Number of rows of the whole table.',
  transactions: 'Every trade, in long form.',
  'PortfolioBookPayload.weights':
    'Weights held after each close, dates by security. Only the latest dates are returned.',
  target: 'Series of the definition; for a derived index, the series of its parent.',
  optimised: 'Series of the derived index; null for a rule-based index.',
  side: 'Bought or sold.',
  'LimitRowSummary.side': 'Bound of the constraint: lower or upper.',
  'SolvedRow.side': 'Bound of the constraint: lower or upper; `eq` for an equality.',
  target_weight: 'Target weight of the rebalance.',
  held_weight: 'Weight held after the close.',
  notional: 'Value of the order, positive.',
  'TrsPriceRequest.notional': 'Notional of the swap.',
  'TrsPriceResponse.notional': 'Notional of the swap.',
  reason: 'Reason.',
  price: 'CLOSE on the dates of the run.',
  weight_history: 'Applied weight on each rebalance date on which the run held the security.',
  raw_weight_history: 'Weight before capping, on the same dates.',
  backtests: 'Stored records by id.',
  store_content_hash: 'SHA-256 of the data that was read.',
  engine_version: 'Version of the engine that computed the result.',
  backtest_record_deleted: 'True if a stored record was deleted too.',

  // Fields of weights and risk.
  concentration: 'Concentration of the weights.',
  constituents: 'Number of securities with a weight above 0.',
  effective_assets:
    '1 divided by the sum of squared weights: the number of equal weights with the same concentration. Cash raises the number, and leverage lowers it.',
  herfindahl: 'Sum of the squared weights.',
  percentiles:
    'Weighted quantile: the smallest value for which the securities with at most this value have this fraction of the weights.',
  'ActionChoice.received': 'Shares of another security; null if there are none.',
  benchmark_weights: 'Sum of the weights of the benchmark by date; null without a benchmark.',
  largest: 'Largest weight.',
  capped: 'True if the cap limits the weight of the security.',
  cap_redistributed: 'Weight that was redistributed from capped securities.',
  total_weight:
    'Sum of the weights. It is 1 unless the index is empty, a WeightSum constraint leaves cash, or an overlay has an exposure other than 1 to its underlying securities.',
  active_weight: 'Weight minus the weight in the benchmark.',
  active_risk_contribution: 'Contribution to the tracking error. It can be negative.',
  risk_contribution: 'Contribution to the annualised volatility; null if the security has no estimate.',
  delta_since_rebalance: 'Held weight less target weight; null on the rebalance date.',
  shares_outstanding:
    'Shares outstanding on the date in the data of the run (not the shares that the index holds). Null if other data is served, or if there is no value.',
  drift: 'Drift of the weights since the rebalance; null on the rebalance date.',
  total_absolute: 'Sum of the absolute changes.',
  turnover: 'One-way turnover: half the sum of the absolute changes.',
  'DriftPayload.maximum': 'Largest single change.',
  risk: 'Decomposition of the volatility, if it was requested.',
  active_risk: 'Decomposition of the tracking error, if a benchmark and risk were requested.',
  covered_weight: 'Fraction of the weights that the estimate covers.',
  uncovered: 'Securities without an estimate.',
  contributions_not_held: 'Contributions of securities that only the benchmark holds.',
  average_weight: 'Mean weight at the beginning of the periods.',
  contribution: 'Linked contribution to the total return.',
  cap_drag: 'Return of the index less the return of the same index without its cap; null if there is no cap.',
  cost_drag: 'Effect of transaction costs; null without costs.',
  periods: 'Number of periods.',
  residual: 'Residual, which contains only rounding errors.',
  'ReconciliationCheck.residual':
    'left less right; 0 or 1 for a comparison of bytes, and 1 if a value is not a number.',
  reconciles: 'True if the residual is within its tolerance.',
  factor_share: 'Fraction of the total variance that the factors explain.',
  factor_variance: 'Variance that the factors explain.',
  specific_variance: 'Specific variance of the securities.',
  total_variance: 'Total variance.',
  model: 'The factor model.',
  factors: 'Factors of the model.',
  assets: 'Number of securities.',
  positive_semi_definite: 'True if no eigenvalue is negative.',
  repaired: 'True if negative eigenvalues were clipped.',
  smallest_eigenvalue: 'Smallest eigenvalue of the matrix in the response.',
  diagnostics: 'Diagnostics of the estimate.',
  risk_models: 'Summaries by id.',
  holdings: 'Number of securities with a weight above 0.',
  gross_holdings: 'Number of securities with a position, long or short. Absent from results of earlier versions.',
  iterations: 'Number of solver iterations.',
  solver_message: 'Status of the solver.',
  frontier: 'Efficient frontier within the constraints.',
  constraint_set: 'The stored set.',
  constraint_sets: 'Stored sets by id.',
  'IndexCollection.indices': 'Summaries by id.',
  strategy: 'The stored strategy.',
  strategies: 'Stored strategies by id.',
  watchlists: 'Watchlists by id.',
  plugins: 'Plug-ins by id.',
  stores: 'Stores by id.',
};

/** Descriptions of fields of data, findings, health and reports. */
const SERVICE_FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  // Fields of findings and errors.
  severity: 'Errors prevent a save; warnings do not.',
  code: 'Stable error code for programs.',
  message: 'Message in one sentence.',
  path: 'Path of the field, as the client wrote it.',
  'ExplainedRule.path': 'Path of the comparison in the expression; empty for the whole expression.',
  accepted: 'Accepted values, if the field has a fixed set of values.',
  'Finding.value': 'The refused value, if it is short.',
  'Finding.count':
    'Number of problems that this finding combines. More than 20 problems with the same code and data column are combined into one finding, with the first problem as an example. For a run, the number of times that securities lacked data or a risk model at its rebalances.',
  'Finding.places': 'Paths of the first ten of these problems.',
  'Finding.first_date': 'For a run, the first rebalance with the finding. Rebalances before the run are not included.',
  'Finding.last_date': 'The last of these rebalances.',
  'Finding.file':
    'Name of the file, sheet or archive member with the problem. If there are several, the first one. The path contains the row.',
  detail: 'Further details that depend on the code; null if there are none.',
  error: 'The error.',
  'Publication.error': 'Difference from published closes, with the decision; null if there is none.',
  findings: 'Findings, most severe first.',
  valid: 'True if a PUT of this body would succeed.',
  skipped: 'Number of stored documents that are omitted because they cannot be read.',
  skipped_causes: 'Number of omitted documents by cause.',
  unreadable: 'The file could not be read, or is not JSON.',
  invalid: 'The JSON does not satisfy the schema of the document.',
  unsupported: 'The document has a newer format version than this engine can read.',

  // Fields of data.
  dataset: 'Name of the table.',
  datasets: 'Coverage by table.',
  'ImportResult.identifiers': 'Distinct identifiers.',
  'DatasetCoverage.identifiers': 'Distinct identifiers.',
  'IdentifierSearch.identifiers': 'Matching names.',
  'SeriesCollection.series': 'Series by identifier.',
  'IdentifierSearch.name': 'Display name, if the reference data has one.',
  'DataStore.kind': 'Source of the data.',
  'DataStore.label': 'Name of the file.',
  bytes: 'Size in bytes.',
  sha256: 'SHA-256 of its bytes.',
  store: 'The store.',
  universes: 'Universes that contain the security.',
  sectors: 'Number of sectors.',
  market_volatility: 'Annual volatility of the market.',
  specific_volatility: 'Specific volatility of a security relative to the market, annualised.',
  dates_added: 'Number of new dates.',
  identifiers_added: 'Number of new securities.',
  restatements_total: 'Number of changed values.',
  column: 'The column.',
  confidence: 'Confidence of the data warning, 0 to 1.',
  total: 'Total number, including entries that are not listed.',
  'CarryDecomposition.total': 'Fair value less spot.',
  factor: 'Factor by which the values are multiplied.',
  from: 'First day of the change.',
  to: 'Last day of the change.',
  action: 'The corporate action.',
  value: 'The value.',
  heading: 'One of the headings of Keep a Changelog.',
  coverage: 'Days for which the calendar has sessions.',

  // Fields of health checks and proofs.
  checks: 'Checks with their results.',
  ok: 'True if the check passes.',
  'Health.limits': 'Every limit that applies to clients, by name.',
  'Health.heavy': 'Queue of backtests, optimisations, sweeps and other long jobs.',
  'Health.huge': 'Queue of heavy jobs that are expected to need more than 2 GiB of memory.',
  'Health.light': 'Queue of loads of data stores and documents.',
  pending: 'Number of waiting jobs.',
  running: 'Number of running jobs.',
  meaning: 'Description of the identity.',
  right: 'Value that `left` must equal; null for a comparison of bytes.',
  holds: 'True if both sides are equal within the tolerance.',
  stored: 'Stored value.',
  replayed: 'Recomputed value.',
  stored_run_hash: 'Hash of the stored run.',
  replayed_run_hash: 'Hash of the new run.',
  stored_engine_version: 'Engine of the stored run.',
  replayed_engine_version: 'Running engine.',

  // Fields of reports.
  page: 'Size, orientation and margin of the pages.',
  size: 'Paper size.',
  orientation: 'Portrait or landscape.',
  blocks: 'Number of blocks.',
  pages: 'Number of pages.',
  entries: 'Entries, in the order of the request.',
};

/** Descriptions of fields of monitored limits, rebalance orders, scenarios and dividend points. */
const STUDY_FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  'AnnouncedDividend.status': 'State of the action; null if the store has none.',
  'AnnouncedDividends.dividends_total': 'Number of announced dividends.',
  'DividendPointsView.trailing': 'Sum of the twelve months that end on as_of.',
  'DividendPointsView.announced': 'Dividends after as_of.',
  'DividendPointsView.year': 'Calendar year.',
  'LimitBreach.row': 'Constraint whose bound is exceeded.',
  'LimitBreach.worst': 'Date with the smallest headroom, with value and bound.',
  'LimitRowSummary.row': 'Constraint of the rule, or class, id and side of a requested constraint.',
  'LimitRowSummary.breached_sessions': 'Number of dates on which the bound is exceeded.',
  'LimitRowSummary.least': 'Date with the smallest headroom, with value and bound.',
  'LimitRowSummary.latest': 'Last date with the constraint, with value and bound.',
  'LimitIssuer.issuer': 'Issuer, or the identifier of a security without a known issuer.',
  'LimitIssuer.weight': 'Absolute value of the net weight of the issuer, as a fraction.',
  'LimitsView.state': 'Nearest bound on each date.',
  'LimitsView.rows_total': 'Number of constraints.',
  'LimitsView.breaches_total': 'Number of breaches.',
  'LimitsView.distance':
    'Nearest breach that a price move of one security causes; null beyond a bound, or if no move causes a breach.',
  'PackTrade.shares': 'Number of traded shares.',
  'PackTrade.weight_target': 'Weight in the index.',
  'RebalancePack.accounts': 'Accounts in the order of the request; the account of `aum` is the last.',
  'RebalancePack.days_to_trade': 'Number of days that the orders require, over the traded securities.',
  'RebalancePack.share': 'Fraction of the holdings that is sold within this number of days.',
  'RebalancePack.aum': 'Maximum assets under management; null if a security has no volume.',
  'RebalancePackRequest.accounts': 'Accounts that the orders align with the index.',
  'RebalancePackRequest.cost': 'Trading costs.',
  'DaysToTrade.p50': 'Median.',
  'DaysToTrade.p90': '90th percentile over the securities.',
  'DaysToTrade.max': 'Maximum over the securities.',
  'ScenarioGroup.contribution': 'Sum of the contributions of its securities.',
  'ScenarioGroup.weight': 'Weight of the group on as_of.',
  'ScenarioName.weight': 'Weight on as_of.',
  'ScenarioName.return': 'Return of the security in the scenario.',
  'ScenarioRequest.scenarios': 'Past windows and shocks.',
  'ScenarioResult.worst_session': 'Session of the window with the lowest return; null for shocks.',
  'ScenarioResult.worst_sessions':
    'Five sessions of the window with the lowest returns, beginning with the lowest. Empty for shocks.',
  'ScenarioResult.proxy': 'Group whose return is used, or all securities.',
  'ScenarioResult.return': 'Sum of the contributions. In worst_session and worst_sessions, the return of that session.',
  'ScenariosView.by': 'Reference column of groups and proxies.',
  'ScenariosView.scenarios': 'Results in the order of the request.',
  'ShockScenario.regression_sessions': 'Number of sessions up to as_of for the estimate of the responses.',
};

/**
 * Descriptions of fields whose schema has no description. An entry `field` applies to all schemas with this field. An
 * entry `Schema.field` overrides it, also in the inline objects of the schema.
 */
export const GLOSSARY: Readonly<Record<string, string>> = {
  ...DOCUMENT_FIELD_DESCRIPTIONS,
  ...DATE_FIELD_DESCRIPTIONS,
  ...RUN_FIELD_DESCRIPTIONS,
  ...PRICING_FIELD_DESCRIPTIONS,
  ...SERVICE_FIELD_DESCRIPTIONS,
  ...STUDY_FIELD_DESCRIPTIONS,
};
