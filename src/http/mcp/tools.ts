import { startsJobs } from '#contract/common-query.js';
import { isTool, getToolset } from '#contract/mcp.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import { isReading, type Route } from '#contract/route.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { listOperations, type JsonSchema, type Operation, type Parameter } from '#views/documentation/operation.js';
import { createShallowSchema } from './shallow-schema.js';

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

/** A route that an agent may call. */
export interface Tool {
  readonly listed: ListedTool;
  readonly route: Route;
  readonly toolset: string;
  readonly parameters: readonly ToolParameter[];
  readonly hasBody: boolean;
}

/** Mapping of an argument to the request. */
export interface ToolParameter {
  /** Name of the argument. */
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

/** Lists the routes that are tools, by operation id. */
export function createTools(
  api: Readonly<Record<string, Route>>,
  document: OpenApiDocument,
): ReadonlyMap<string, Tool> {
  const { schemas } = document.components;
  return new Map(
    listOperations(document).flatMap((operation) => {
      const route = api[operation.operationId];
      return route === undefined || !isTool(route) || route.tag === 'mcp'
        ? []
        : [[operation.operationId, createTool(operation, route, schemas)]];
    }),
  );
}

function createTool(operation: Operation, route: Route, components: Readonly<Record<string, unknown>>): Tool {
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
    route,
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

/** Name of the one tool without a route. */
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
