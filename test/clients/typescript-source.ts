import type { OpenApiDocument } from '#contract/openapi.js';
import {
  type DocumentedResponse,
  type JsonSchema,
  listOperations,
  listSuccesses,
  type Media,
  type Operation,
  type Parameter,
} from '#views/documentation/reference.js';
import { findOneLine, createShape, type Field, type PlainType, type Shape } from './shapes.js';

/**
 * Returns the TypeScript source of a contract. It has a type per schema, and the request and response types of each
 * operation.
 */
export function formatTypescriptSource(document: OpenApiDocument): string {
  const operations = listOperations(document);
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => formatDeclaration(name, schema));
  const signatures = operations.map(
    (operation) =>
      `${formatComment(findOneLine(operation.summary), '  ')}  ${operation.operationId}: {\n    request: ${requestType(operation)};\n    answer: ${answerType(operation)};\n${formatUnchangedMember(operation)}  };\n`,
  );
  const tableLines = operations.map(({ operationId, method, path }) => `  ${operationId}: '${method} ${path}',\n`);
  return `// Written from the OpenAPI document by \`npm run build\`; edit the contract instead.

${schemas.join('\n')}
/** The input and the output of every operation. */
export interface Operations {
${signatures.join('')}}

export type OperationId = keyof Operations;

/** Method and path of every operation. */
export const OPERATIONS: Readonly<Record<OperationId, string>> = {
${tableLines.join('')}};
`;
}

function formatDeclaration(name: string, schema: JsonSchema): string {
  const head = formatComment(findOneLine(schema['description']), '');
  const type = formatType(createShape(schema), '');
  return Object.keys(schema['properties'] ?? {}).length > 0
    ? `${head}export interface ${name} ${type}\n`
    : `${head}export type ${name} = ${type};\n`;
}

function formatComment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;
}

function formatType(shape: Shape, indent: string): string {
  switch (shape.kind) {
    case 'name':
      return shape.name;
    case 'literal':
      return shape.values.map(formatLiteral).join(' | ');
    case 'union':
      return [...new Set(shape.members.map((member) => formatType(member, indent)))].join(' | ');
    case 'list':
      return `readonly ${addBrackets(formatType(shape.of, indent))}[]`;
    case 'record':
      return `Readonly<Record<string, ${formatType(shape.of, indent)}>>`;
    case 'object':
      return formatObjectType(shape.fields, indent);
    case 'plain':
      return PLAIN_TYPES[shape.type];
  }
}

const PLAIN_TYPES: Readonly<Record<PlainType, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
  any: 'unknown',
};
const formatLiteral = (value: unknown) =>
  typeof value === 'string' && !value.includes("'") ? `'${value}'` : JSON.stringify(value);
const addBrackets = (type: string) => (type.includes(' | ') || type.startsWith('readonly ') ? `(${type})` : type);

function formatObjectType(fields: readonly Field[], indent: string): string {
  const deeperIndent = `${indent}  `;
  const members = fields.map(({ name, shape, isRequired, description }) => {
    const type = formatType(shape, deeperIndent);
    return `${formatComment(description, deeperIndent)}${deeperIndent}readonly ${name}${isRequired ? `: ${type}` : `?: ${type} | undefined`};\n`;
  });
  return members.length === 0 ? 'Readonly<Record<string, never>>' : `{\n${members.join('')}${indent}}`;
}

const INDENT = '    ';

function requestType({ parameters, requestBody }: Operation): string {
  const parts = [
    ...formatParameterPart('params', parameters, 'path'),
    ...formatParameterPart('query', parameters, 'query'),
  ];
  if (requestBody !== undefined)
    parts.push(
      `readonly body${requestBody.required ? ': ' : '?: '}${formatType(createShape(readBodySchema(requestBody.content)), INDENT)}${requestBody.required ? '' : ' | undefined'}`,
    );
  return parts.length === 0 ? 'Readonly<Record<never, never>>' : `{ ${parts.join('; ')} }`;
}

const readBodySchema = (content: Readonly<Record<string, Media>>) => content['application/json']!.schema;

function formatParameterPart(
  part: 'params' | 'query',
  parameters: readonly Parameter[],
  location: Parameter['in'],
): string[] {
  const locationParameters = parameters.filter((parameter) => parameter.in === location);
  if (locationParameters.length === 0) return [];
  const members = locationParameters.map(
    ({ name, required, schema }) =>
      `readonly ${name}${required ? ': ' : '?: '}${formatType(createShape(schema), INDENT)}${required ? '' : ' | undefined'}`,
  );
  return [
    `readonly ${part}${locationParameters.some(({ required }) => required) ? ': ' : '?: '}{ ${members.join('; ')} }${locationParameters.some(({ required }) => required) ? '' : ' | undefined'}`,
  ];
}

function answerType(operation: Operation): string {
  return formatContentType(listSuccesses(operation).at(-1)?.[1].content);
}

/**
 * Returns the type of the response when the input has not changed. The contract lists it before the response that
 * reports a new job.
 */
function findUnchangedType(operation: Operation): string | undefined {
  const [unchanged, ...otherSuccesses] = listSuccesses(operation);
  return otherSuccesses.length === 0 ? undefined : formatContentType(unchanged![1].content);
}

function formatUnchangedMember(operation: Operation): string {
  const type = findUnchangedType(operation);
  return type === undefined ? '' : `    unchanged: ${type};\n`;
}

function formatContentType(content: DocumentedResponse['content']): string {
  if (content === undefined) return 'null';
  const json = content['application/json'];
  if (json !== undefined) return formatType(createShape(json.schema), INDENT);
  return Object.keys(content).some((type) => type.startsWith('text/')) ? 'string' : 'Uint8Array';
}
