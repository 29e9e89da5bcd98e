import { LIMITS } from '#domain/base/limits.js';
import type { OpenApiDocument } from './openapi.js';
import { getToolset, isTool } from './mcp.js';
import { isReading, type Route, startsJobs } from './route.js';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Parameter of an operation, as the OpenAPI document contains it. */
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: JsonSchema;
}

/** Members of an operation that describe its tool. */
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>;
  };
}

/** A tool in a listing for agents. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object' } & JsonSchema;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: false;
  };
}

/** Description of an operation that an agent may call. */
export interface ToolDescription {
  readonly listed: ListedTool;
  readonly toolset: string;
  readonly parameters: readonly ToolParameter[];
  readonly hasBody: boolean;
}

/** Mapping of an argument to the request. */
export interface ToolParameter {
  readonly argument: string;
  /** Name in the request. */
  readonly name: string;
  readonly in: Parameter['in'];
  readonly required: boolean;
}

/** Maximum length of a tool's description. The guide and the contract contain the full text. */
const DESCRIPTION_MAX = 360;
/** Maximum length of the description of a parameter. */
const PARAMETER_MAX = 100;
/** Maximum length of the schema of a body: 600 tokens. */
const BODY_SCHEMA_MAX = 2500;
/** Maximum length of the example of a body. */
const EXAMPLE_MAX = 900;

const UNITS = 'Units: fractions (0.05 is 5%), dates YYYY-MM-DD.';

/** Describes the routes that are tools, in the order of the document. @cost about 50 ms for all routes */
export function describeTools(api: Readonly<Record<string, Route>>, document: OpenApiDocument): ToolDescription[] {
  const { schemas } = document.components;
  // `createOpenApiDocument` creates these members.
  const operations = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods),
  ) as unknown as Operation[];
  return operations.flatMap((operation) => {
    const route = api[operation.operationId];
    return route !== undefined && isTool(route) && route.tag !== 'mcp' ? [createTool(operation, route, schemas)] : [];
  });
}

function createTool(
  operation: Operation,
  route: Route,
  components: Readonly<Record<string, unknown>>,
): ToolDescription {
  const parameters = operation.parameters.filter(isForAgents);
  const body = operation.requestBody?.content['application/json'];
  const schema = body === undefined ? undefined : createShallowSchema(body.schema, components, BODY_SCHEMA_MAX);
  const exampleJson = JSON.stringify(body?.example);
  const properties = {
    ...Object.fromEntries(parameters.map((parameter) => [getArgument(parameter), createParameterSchema(parameter)])),
    ...(schema === undefined ? {} : { body: schema }),
  };
  const requiredNames = [
    ...parameters.filter((parameter) => parameter.required).map(getArgument),
    ...(operation.requestBody?.required === true ? ['body'] : []),
  ];
  return {
    toolset: getToolset(route),
    hasBody: body !== undefined,
    parameters: parameters.map((parameter) => ({ ...parameter, argument: getArgument(parameter) })),
    listed: {
      name: operation.operationId,
      description: [
        formatDescription(operation),
        `${UNITS} ${formatLimits(route)}`,
        ...(exampleJson !== undefined && exampleJson.length <= EXAMPLE_MAX ? [`Example of body: ${exampleJson}`] : []),
      ].join('\n'),
      inputSchema: {
        type: 'object',
        properties,
        ...(requiredNames.length > 0 && { required: requiredNames }),
        additionalProperties: false,
      },
      annotations: createHints(route),
    },
  };
}

/**
 * Returns true for a parameter that agents can use. A callback needs a receiver, people set priorities, an etag needs a
 * client that stores it, and formats other than JSON are for programs.
 */
const isForAgents = ({ name, description: help }: Parameter): boolean =>
  name !== 'callback' &&
  name !== 'priority' &&
  name !== 'If-Match' &&
  !(name === 'format' && help === 'Format of the response. It replaces `Accept`.');

/** Derives the argument name: `X-Change-Note` becomes `change_note`. */
const getArgument = ({ name, in: location }: Parameter): string =>
  location === 'header' ? name.toLowerCase().replace(/^x-/, '').replaceAll('-', '_') : name;

function createParameterSchema({ schema, description: help, example }: Parameter): JsonSchema {
  return {
    ...schema,
    ...(help === undefined ? {} : { description: shortenText(help, PARAMETER_MAX) }),
    ...(help === undefined && example !== undefined ? { examples: [example] } : {}),
  };
}

function formatDescription({ summary, description: more }: Operation): string {
  return shortenText(more === undefined ? summary : `${summary} ${more}`, DESCRIPTION_MAX);
}

/**
 * Shortens a text to its first sentences if they fill at least half of the limit; otherwise to whole words. The
 * contract contains the full text.
 */
function shortenText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const truncatedText = text.slice(0, charactersMax);
  const sentences = truncatedText.lastIndexOf('. ') + 1;
  return sentences >= charactersMax / 2
    ? truncatedText.slice(0, sentences)
    : `${truncatedText.slice(0, truncatedText.lastIndexOf(' '))} …`;
}

function formatLimits(route: Route): string {
  const { body, scope } = route;
  return [
    `Limits: answer ${LIMITS.MAX_TOOL_ANSWER_BYTES} bytes`,
    ...(body === undefined ? [] : [`body ${body.bytesMax ?? LIMITS.MAX_BODY_BYTES} bytes`]),
    `scope ${scope}`,
    ...(startsJobs(route) ? [`starts a job: ${WAIT_TOOL}`] : []),
  ]
    .join('; ')
    .concat('.');
}

export const WAIT_TOOL = 'waitForJob';

function createHints(route: Route): ListedTool['annotations'] {
  const { method } = route;
  const readOnlyHint = isReading(route);
  return {
    readOnlyHint,
    destructiveHint: method === 'DELETE' || method === 'PUT',
    idempotentHint: readOnlyHint || method === 'PUT' || method === 'DELETE',
    openWorldHint: false,
  };
}

type Json = JsonSchema;

/** Maximum nesting depth of a shallow schema. The OpenAPI document contains the full schema. */
const DEPTH_MAX = 8;

/**
 * Writes the schema of a body to the greatest depth that fits into `charactersMax`. Deeper objects keep their
 * description and accept any value; the route validates them.
 * @param components schemas by the names in references
 */
function createShallowSchema(schema: JsonSchema, components: Json, charactersMax: number): JsonSchema {
  let fittingSchema: JsonSchema = { type: 'object' };
  // Tries small depths first, because schemas grow fast with depth: expressions contain expressions.
  for (let depth = 1; depth <= DEPTH_MAX; depth++) {
    const shallowSchema = expandSchema(schema, components, depth) as JsonSchema;
    if (JSON.stringify(shallowSchema).length > charactersMax) break;
    fittingSchema = shallowSchema;
  }
  return fittingSchema;
}

/** Members of a schema whose value maps names to schemas. */
const NAMED_MEMBERS: ReadonlySet<string> = new Set(['properties', 'patternProperties']);
/** Members of a schema that list alternative forms of the same value. They do not increase the depth. */
const ALTERNATIVES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);
/** Members without information for a caller. */
const OMITTED_MEMBERS: ReadonlySet<string> = new Set(['title', 'example', 'examples', 'additionalProperties']);

/** A caller may omit a member whose default is null, as any optional member. */
const isNullDefault = (name: string, member: unknown): boolean => name === 'default' && member === null;

function expandSchema(schema: unknown, components: Json, depth: number): unknown {
  if (Array.isArray(schema)) return schema.map((member) => expandSchema(member, components, depth));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, ...own } = schema as Json;
  if (typeof $ref === 'string') {
    const target = components[$ref.slice($ref.lastIndexOf('/') + 1)] as Json;
    return depth === 0 ? toLeaf({ ...target, ...own }) : expandSchema({ ...target, ...own }, components, depth);
  }
  if (depth === 0) return toLeaf(own);
  return Object.fromEntries(
    Object.entries(own)
      .filter(([name, member]) => !OMITTED_MEMBERS.has(name) && !isNullDefault(name, member))
      .map(([name, member]) => [
        name,
        NAMED_MEMBERS.has(name)
          ? listNamedSchemas(member as Json, components, depth - 1)
          : expandSchema(member, components, ALTERNATIVES.has(name) ? depth : depth - 1),
      ]),
  );
}

const listNamedSchemas = (schemas: Json, components: Json, depth: number): Json =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, expandSchema(schema, components, depth)]));

/** Reduces a schema to its type and description. */
function toLeaf({ type, description, enum: values, const: value }: Json): Json {
  return {
    ...(type === undefined ? {} : { type }),
    ...(description === undefined ? {} : { description }),
    ...(values === undefined ? {} : { enum: values }),
    ...(value === undefined ? {} : { const: value }),
  };
}
