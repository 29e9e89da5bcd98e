import type { OpenApiDocument } from '#contract/openapi.js';
import {
  operationsOf,
  successesOf,
  type Answer,
  type JsonSchema,
  type Media,
  type Operation,
  type Parameter,
} from '#views/documentation/operation.js';

/** The TypeScript of a contract: a type for every schema, and for every operation what to send and what comes back. */
export function contractSource(document: OpenApiDocument): string {
  const operations = operationsOf(document);
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => declaration(name, schema));
  const signatures = operations.map(
    (operation) =>
      `${comment(operation.summary, '  ')}  ${operation.operationId}: {\n    request: ${requestType(operation)};\n    answer: ${answerType(operation)};\n${unchangedMember(operation)}  };\n`,
  );
  const table = operations.map(({ operationId, method, path }) => `  ${operationId}: '${method} ${path}',\n`);
  return `// Written from the OpenAPI document by \`npm run generate\`; edit the contract instead.

${schemas.join('\n')}
/** What every operation takes and answers. */
export interface Operations {
${signatures.join('')}}

export type OperationId = keyof Operations;

/** Method and path of every operation. */
export const OPERATIONS: Readonly<Record<OperationId, string>> = {
${table.join('')}};
`;
}

function declaration(name: string, schema: JsonSchema): string {
  const head = comment(schema['description'], '');
  const type = typeOf(schema, '');
  return Object.keys(schema['properties'] ?? {}).length > 0
    ? `${head}export interface ${name} ${type}\n`
    : `${head}export type ${name} = ${type};\n`;
}

function comment(text: unknown, indent: string): string {
  return typeof text === 'string' && text !== ''
    ? `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s*\n\s*/g, ' ')} */\n`
    : '';
}

function typeOf(schema: JsonSchema, indent: string): string {
  const { $ref, type, items, additionalProperties, properties, anyOf, oneOf } = schema;
  if (typeof $ref === 'string') return $ref.split('/').at(-1)!;
  if (schema['const'] !== undefined) return literal(schema['const']);
  if (Array.isArray(schema['enum'])) return schema['enum'].map(literal).join(' | ');
  const branches = (anyOf ?? oneOf) as readonly JsonSchema[] | undefined;
  if (branches !== undefined) return [...new Set(branches.map((branch) => typeOf(branch, indent)))].join(' | ');
  if (Array.isArray(type)) return type.map((name: string) => typeOf({ type: name }, indent)).join(' | ');
  if (type === 'array')
    return `readonly ${bracketed(items === undefined ? 'unknown' : typeOf(items as JsonSchema, indent))}[]`;
  if (properties !== undefined)
    return objectType(
      properties as Record<string, JsonSchema>,
      (schema['required'] ?? []) as readonly string[],
      indent,
    );
  if (type === 'object')
    return `Readonly<Record<string, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties as JsonSchema, indent) : 'unknown'}>>`;
  return PLAIN[String(type)] ?? 'unknown';
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
};
const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
const bracketed = (type: string) => (type.includes(' | ') || type.startsWith('readonly ') ? `(${type})` : type);

function objectType(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  indent: string,
): string {
  const deeper = `${indent}  `;
  const members = Object.entries(properties).map(([name, schema]) => {
    const type = typeOf(schema, deeper);
    return `${comment(schema['description'], deeper)}${deeper}readonly ${name}${required.includes(name) ? `: ${type}` : `?: ${type} | undefined`};\n`;
  });
  return members.length === 0 ? 'Readonly<Record<string, never>>' : `{\n${members.join('')}${indent}}`;
}

const INDENT = '    ';

function requestType({ parameters, requestBody }: Operation): string {
  const parts = [...parameterPart('params', parameters, 'path'), ...parameterPart('query', parameters, 'query')];
  if (requestBody !== undefined)
    parts.push(
      `readonly body${requestBody.required ? ': ' : '?: '}${typeOf(bodySchema(requestBody.content), INDENT)}${requestBody.required ? '' : ' | undefined'}`,
    );
  return parts.length === 0 ? 'Readonly<Record<never, never>>' : `{ ${parts.join('; ')} }`;
}

const bodySchema = (content: Readonly<Record<string, Media>>) => content['application/json']!.schema;

function parameterPart(part: 'params' | 'query', parameters: readonly Parameter[], place: Parameter['in']): string[] {
  const here = parameters.filter((parameter) => parameter.in === place);
  if (here.length === 0) return [];
  const members = here.map(
    ({ name, required, schema }) =>
      `readonly ${name}${required ? ': ' : '?: '}${typeOf(schema, INDENT)}${required ? '' : ' | undefined'}`,
  );
  return [
    `readonly ${part}${here.some(({ required }) => required) ? ': ' : '?: '}{ ${members.join('; ')} }${here.some(({ required }) => required) ? '' : ' | undefined'}`,
  ];
}

function answerType(operation: Operation): string {
  return contentType(successesOf(operation).at(-1)?.[1].content);
}

/** What is answered where nothing has changed: the success before the one that says what was begun. */
function unchangedType(operation: Operation): string | undefined {
  const [unchanged, ...others] = successesOf(operation);
  return others.length === 0 ? undefined : contentType(unchanged![1].content);
}

function unchangedMember(operation: Operation): string {
  const type = unchangedType(operation);
  return type === undefined ? '' : `    unchanged: ${type};\n`;
}

function contentType(content: Answer['content']): string {
  if (content === undefined) return 'null';
  const json = content['application/json'];
  if (json !== undefined) return typeOf(json.schema, INDENT);
  return Object.keys(content).some((type) => type.startsWith('text/')) ? 'string' : 'Uint8Array';
}
