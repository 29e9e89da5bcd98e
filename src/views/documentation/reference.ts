import type { OpenApiDocument } from '#contract/openapi.js';
import { FINDING_CODES } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { ERRORS } from '#domain/base/refusals.js';
import {
  createGuideGroup,
  createMarkup,
  createPage,
  type Group,
  type GuidePage,
  joinParts,
  type Markup,
  NO_MARKUP,
  type Page,
  renderPhrase,
  renderProse,
  toMarkup,
} from './page.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: JsonSchema;
}

export interface Media {
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

export interface DocumentedResponse {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
}

/** Operation of an OpenAPI document with its method and path. The documentation is rendered from it. */
export interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly description?: string;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

/** Returns the operations of a document in order. The references of their responses are resolved. */
export function listOperations({ paths, components }: OpenApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, declared]) => {
      const answers = declared['responses'] as Record<string, { readonly $ref?: string }>;
      const responses = Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [
          status,
          answer.$ref === undefined ? answer : components.responses[answer.$ref.split('/').at(-1)!],
        ]),
      );
      // `createOpenApiDocument` creates these members.
      return { ...declared, responses, path, method: method.toUpperCase() } as unknown as Operation;
    }),
  );
}

/**
 * Returns the success statuses with their responses, in order. The last status is the usual one; an earlier one means
 * that there was nothing to do. If there are several success statuses, those without a body are left out.
 */
export function listSuccesses({
  responses,
}: Pick<Operation, 'responses'>): (readonly [status: string, answer: DocumentedResponse])[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .filter(([, { content }], _, all) => content !== undefined || all.length === 1);
}

export interface ExampleRequest {
  readonly method: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly body?: unknown;
}

/**
 * Returns the example request of an operation. Its parameters are filled in; it has the required query parameters and
 * the example body.
 * @param knownExamples values that replace examples, by parameter name
 */
export function createExampleRequest(
  operation: Operation,
  knownExamples: Readonly<Record<string, string>> = {},
): ExampleRequest {
  const examples = new Map(operation.parameters.map(({ name, example }) => [name, knownExamples[name] ?? example]));
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(examples.get(name))).replaceAll('%3A', ':'),
  );
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(
      ({ name }) =>
        `${name}=${[examples.get(name)]
          .flat()
          .map((value) => encodeURIComponent(String(value)))
          .join(',')}`,
    );
  const body = operation.requestBody?.content['application/json']?.example;
  return {
    method: operation.method,
    path: query.length === 0 ? path : `${path}?${query.join('&')}`,
    ...(body === undefined ? {} : { body }),
  };
}

/** Formats a value as JSON. If it fits into `columns` characters, it is on one line. */
export function formatJson(value: unknown, columns = 100, indent = ''): string {
  const flatText = formatFlat(value);
  if (flatText.length + indent.length <= columns || typeof value !== 'object' || value === null) return flatText;
  const innerIndent = `${indent}  `;
  const formatMember = (member: unknown) => formatJson(member, columns, innerIndent);
  if (Array.isArray(value))
    return `[\n${value.map((item) => innerIndent + formatMember(item)).join(',\n')}\n${indent}]`;
  return `{\n${Object.entries(value)
    .map(([key, member]) => `${innerIndent}${JSON.stringify(key)}: ${formatMember(member)}`)
    .join(',\n')}\n${indent}}`;
}

function formatFlat(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatFlat).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${formatFlat(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** Width of a sample in characters. */
const COLUMNS = 64;

/**
 * Formats a request as a curl command. `$DIVISOR` is the address of the service.
 * @param file file name for a response that is not text
 */
function formatCurl({ method, path, body }: ExampleRequest, file?: string): string {
  const defaultMethod = body === undefined ? 'GET' : 'POST';
  return [
    'curl',
    ...(method === defaultMethod ? [] : [`-X ${method}`]),
    quoteAddress(path),
    ...(body === undefined ? [] : [`--json '${formatJson(body, COLUMNS).replaceAll("'", String.raw`'\''`)}'`]),
    ...(file === undefined ? [] : [`-o ${file}`]),
  ].join(' ');
}

/** Puts a path in quotes if the shell or curl would interpret one of its characters, such as `?`, `&` and brackets. */
const quoteAddress = (path: string) => (/[?&[\]{}]/.test(path) ? `"$DIVISOR${path}"` : `$DIVISOR${path}`);

/** Maximum depth to which nested objects are shown. A deeper object is shown as `object`. */
const DEPTH_MAX = 3;

/**
 * Renders a table of the fields of a schema with name, type and meaning. The fields of a nested object follow the field
 * that contains it.
 */
function renderSchemaFields(schema: JsonSchema): Markup {
  const rows = renderRows(schema, '', 0);
  return rows.length === 0 ? NO_MARKUP : createMarkup`<table class="fields"><tbody>${rows}</tbody></table>`;
}

function renderRows(schema: JsonSchema, prefix: string, depth: number): Markup[] {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  const requiredNames = (schema['required'] ?? []) as readonly string[];
  return Object.entries(properties).flatMap(([name, field]) => {
    const innerObject = depth < DEPTH_MAX ? findInnerObject(field) : undefined;
    return [
      renderFieldRow(prefix + name, field, requiredNames.includes(name)),
      ...(innerObject === undefined
        ? []
        : renderRows(innerObject.schema, `${prefix}${name}${innerObject.mark}.`, depth + 1)),
    ];
  });
}

/**
 * Returns the nested object of a field: the field itself, or the items of its list. Returns undefined if there is none.
 */
function findInnerObject(field: JsonSchema): { readonly schema: JsonSchema; readonly mark: string } | undefined {
  const [one = field, ...others] = listAlternatives(field).filter(({ type }) => type !== 'null');
  if (others.length > 0) return undefined;
  if (one['properties'] !== undefined) return { schema: one, mark: '' };
  const items = one['items'] as JsonSchema | undefined;
  return items?.['properties'] === undefined ? undefined : { schema: items, mark: '[]' };
}

function renderFieldRow(
  name: string,
  schema: JsonSchema,
  isRequired: boolean,
  description = schema['description'],
): Markup {
  const markupNotes = [
    ...(typeof description === 'string' ? [renderPhrase(description)] : []),
    ...describeBounds(schema),
  ];
  return createMarkup`<tr><th scope="row"><code>${name}</code>${isRequired ? createMarkup` <span class="required" title="required">*</span>` : NO_MARKUP}</th><td class="type">${renderType(schema)}</td><td>${joinParts(markupNotes, ' ')}</td></tr>`;
}

function listAlternatives(schema: JsonSchema): readonly JsonSchema[] {
  return ((schema['anyOf'] ?? schema['oneOf']) as readonly JsonSchema[] | undefined) ?? [schema];
}

/** Returns a type in the notation of the guide, such as `T | null`, `[T]` or `map<string, T>`. Components are links. */
function renderType(schema: JsonSchema): Markup {
  const branches = listAlternatives(schema);
  if (branches.length > 1 || branches[0] !== schema) return joinParts(branches.map(renderType), ' | ');
  const { $ref, type, items, additionalProperties, format } = schema;
  if (typeof $ref === 'string') return renderComponentLink($ref);
  if (schema['const'] !== undefined) return createMarkup`<code>${JSON.stringify(schema['const'])}</code>`;
  if (Array.isArray(schema['enum']))
    return joinParts(
      schema['enum'].map((value) => createMarkup`<code>${JSON.stringify(value)}</code>`),
      ' | ',
    );
  if (type === 'array')
    return createMarkup`[${items === undefined ? toMarkup('any') : renderType(items as JsonSchema)}]`;
  if (type === 'object' && schema['properties'] === undefined && typeof additionalProperties === 'object')
    return createMarkup`map&lt;string, ${renderType(additionalProperties as JsonSchema)}&gt;`;
  if (format === 'date') return toMarkup('date');
  if (Array.isArray(type)) return toMarkup(type.join(' | '));
  return createMarkup`${typeof type === 'string' ? type : 'any'}`;
}

function renderComponentLink(ref: string): Markup {
  const name = ref.split('/').at(-1)!;
  return createMarkup`<a href="#schema-${name}">${name}</a>`;
}

function describeBounds(schema: JsonSchema): Markup[] {
  const alternative = listAlternatives(schema).find(({ type }) => type !== 'null') ?? schema;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems } =
    alternative;
  const range = [describeLowerBound(minimum, exclusiveMinimum), describeUpperBound(maximum, exclusiveMaximum)].filter(
    (text) => text !== undefined,
  );
  const fallback = schema['default'];
  const notes = [
    ...(range.length === 0 ? [] : [range.join(' and ')]),
    ...describeCount('characters', minLength, maxLength),
    ...describeCount('entries', minItems, maxItems),
    ...(fallback === undefined ? [] : [`default ${JSON.stringify(fallback)}`]),
  ];
  return notes.length === 0 ? [] : [createMarkup`<span class="bounds">${notes.join('; ')}</span>`];
}

const describeLowerBound = (minimum: unknown, exclusiveMinimum: unknown) =>
  exclusiveMinimum !== undefined
    ? `> ${formatFigure(exclusiveMinimum)}`
    : minimum !== undefined
      ? `>= ${formatFigure(minimum)}`
      : undefined;
const describeUpperBound = (maximum: unknown, exclusiveMaximum: unknown) =>
  exclusiveMaximum !== undefined
    ? `< ${formatFigure(exclusiveMaximum)}`
    : maximum !== undefined
      ? `<= ${formatFigure(maximum)}`
      : undefined;

/** Formats a number of 1e9 or more in scientific notation. */
function formatFigure(value: unknown): string {
  return typeof value === 'number' && value >= 1e9 ? value.toExponential().replace('+', '') : String(value);
}

function describeCount(unit: string, minimum: unknown, maximum: unknown): string[] {
  if (minimum === undefined && maximum === undefined) return [];
  if (minimum === undefined || maximum === undefined)
    return [`${maximum === undefined ? `at least ${String(minimum)}` : `at most ${String(maximum)}`} ${unit}`];
  return [`${String(minimum)} to ${String(maximum)} ${unit}`];
}

/**
 * Renders the section of an operation: its purpose on the left, and its request and response on the right.
 * @param sharedCodes error codes that every operation can return; they are not repeated
 */
function renderOperation(operation: Operation, sharedCodes: ReadonlySet<string>): Markup {
  const { operationId, method, path, summary, description } = operation;
  return createMarkup`<section class="operation" id="${operationId}">
<h3><a href="#${operationId}"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></a></h3>
<div class="columns"><div class="words">
<p class="summary">${renderPhrase(summary)}</p>${description === undefined ? NO_MARKUP : renderProse(description)}
<p class="facts"><code>${operationId}</code>, ${renderScope(operation)}</p>
${renderParameters(operation)}${renderBody(operation)}${renderResponses(operation, sharedCodes)}
</div><div class="samples">${renderSamples(operation)}</div></div>
</section>
`;
}

function renderScope({ security }: Operation): Markup {
  const scope = security[0]?.['bearer']?.[0];
  return scope === undefined ? toMarkup('needs no key') : createMarkup`scope <code>${scope}</code>`;
}

function renderParameters({ parameters }: Operation): Markup {
  if (parameters.length === 0) return NO_MARKUP;
  const rows = parameters.map(({ name, in: location, required, schema, description }) =>
    renderFieldRow(
      location === 'header' ? `${name}:` : name,
      schema,
      required,
      description ?? (location === 'path' ? 'In the path.' : undefined),
    ),
  );
  return createMarkup`<h4>Parameters</h4><table class="fields"><tbody>${rows}</tbody></table>`;
}

function renderBody({ requestBody }: Operation): Markup {
  if (requestBody === undefined) return NO_MARKUP;
  const media = requestBody.content['application/json']!;
  return createMarkup`<h4>Body${requestBody.required ? '' : ', optional'}</h4>${requestBody.description === undefined ? NO_MARKUP : renderProse(requestBody.description)}${renderShape(media.schema)}`;
}

/** Renders a link if the schema is a component; otherwise renders the fields of the schema. */
function renderShape(schema: JsonSchema): Markup {
  const ref = typeof schema['$ref'] === 'string' ? schema['$ref'] : undefined;
  if (ref !== undefined) return createMarkup`<p>${renderComponentLink(ref)}</p>`;
  const fields = renderSchemaFields(schema);
  return fields === NO_MARKUP ? createMarkup`<p>${renderType(schema)}</p>` : fields;
}

function renderResponses({ responses }: Operation, sharedCodes: ReadonlySet<string>): Markup {
  const rows = Object.entries(responses).flatMap(([status, { description, content = {} }]) => {
    if (status === '304') return [];
    const codes = listCodes(description).filter((code) => !sharedCodes.has(code));
    if (status >= '400')
      return codes.length === 0 ? [] : [renderResponseRow(status, joinParts(codes.map(renderErrorLink), ' '))];
    return [
      renderResponseRow(
        status,
        createMarkup`${renderPhrase(description)} ${joinParts(
          Object.entries(content).map(([type, media]) => renderMedia(type, media)),
          ', ',
        )}`,
      ),
    ];
  });
  return createMarkup`<h4>Responses</h4><table class="answers"><tbody>${rows}</tbody></table>`;
}

const renderResponseRow = (status: string, meaning: Markup) =>
  createMarkup`<tr><th scope="row"><code>${status}</code></th><td>${meaning}</td></tr>`;
const renderErrorLink = (code: string) => createMarkup`<a href="#error-${code}"><code>${code}</code></a>`;

const listCodes = (description: string) => [...description.matchAll(/^`([A-Z_]+)`/gm)].map((match) => match[1]!);
const renderMedia = (type: string, { schema }: Media) =>
  type === 'application/json' ? renderType(schema) : createMarkup`<code>${type}</code>`;

function renderSamples(operation: Operation): Markup {
  const answer = listSuccesses(operation).at(-1);
  const example = answer?.[1].content?.['application/json']?.example;
  return createMarkup`${renderSample('Request', formatCurl(createExampleRequest(operation), findBinaryName(operation)))}${example === undefined ? NO_MARKUP : renderSample(`Response ${answer![0]}, lists shortened`, formatJson(example, COLUMNS))}`;
}

const renderSample = (title: string, text: string) =>
  createMarkup`<figure><figcaption>${title}</figcaption><pre><code>${text}</code></pre></figure>`;

/** File names for responses, by media type. */
const FILE_NAMES: Readonly<Record<string, string>> = {
  'application/pdf': 'report.pdf',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'template.xlsx',
};

function findBinaryName({ responses }: Operation): string | undefined {
  const types = listSuccesses({ responses }).flatMap(([, { content = {} }]) => Object.keys(content));
  return types.includes('application/json')
    ? undefined
    : types.map((type) => FILE_NAMES[type]).find((name) => name !== undefined);
}

/**
 * Builds the API reference as one page. First come the operations by family, with requests, responses and errors; then
 * schemas, error codes and limits.
 * @cost about 20 ms; build it once
 */
export function renderReferencePage(document: OpenApiDocument, guide: readonly GuidePage[]): Page {
  const operations = listOperations(document);
  const getFamily = ({ tags }: Operation) => tags[0] ?? 'other';
  const families = [...new Set(operations.map(getFamily))].map((family): Family => [
    family,
    operations.filter((operation) => getFamily(operation) === family),
  ]);
  const sharedCodes = listSharedCodes(document);
  const content = createMarkup`<h1>${toText(document.info['title'])} ${toText(document.info['version'])}</h1>
<p class="summary">${toText(document.info['summary'])}</p>
${renderProse(toText(document.info['description']))}
<p>Samples use <code>$DIVISOR</code>: <code>export DIVISOR=http://127.0.0.1:8080</code>. A service with keys also requires <code>-H "Authorization: Bearer $DIVISOR_API_KEY"</code>.
Every route can answer ${joinParts(
    [...sharedCodes].map((code) => createMarkup`<a href="#error-${code}"><code>${code}</code></a>`),
    ', ',
  )} besides what it lists itself.
The same contract for programs: <a href="/openapi.json">/openapi.json</a>. Begin with <a href="/docs/guide">the guide</a>.</p>
${families.map(([family, members]) => createMarkup`<div class="group"><h2 id="${family}"><a href="#${family}">${family}</a></h2>${members.map((operation) => renderOperation(operation, sharedCodes))}</div>`)}
${renderSchemas(document)}
${renderErrors()}
${renderLimits()}`;
  return createPage({
    title: 'Divisor: reference',
    kind: 'reference',
    groups: [createGuideGroup(guide), ...listGroups(families), APPENDIX],
    content,
    current: '/docs',
  });
}

/** Returns the error codes of responses that the document declares once for all operations. */
function listSharedCodes({ components }: OpenApiDocument): Set<string> {
  return new Set(Object.values(components.responses).flatMap(({ description }) => listCodes(toText(description))));
}

const toText = (value: unknown) => (typeof value === 'string' ? value : '');

type Family = readonly [name: string, members: readonly Operation[]];

function listGroups(families: readonly Family[]): Group[] {
  return families.map(([family, members]) => ({
    title: createMarkup`<a href="#${family}">${family}</a>`,
    links: members.map(({ operationId, method, path }) => ({
      href: `#${operationId}`,
      text: createMarkup`<span class="method ${method.toLowerCase()}">${method}</span> ${path}`,
    })),
  }));
}

const APPENDIX: Group = {
  title: createMarkup`appendix`,
  links: [
    { href: '#schemas', text: createMarkup`Schemas` },
    { href: '#errors', text: createMarkup`Error codes` },
    { href: '#findings', text: createMarkup`Finding codes` },
    { href: '#limits', text: createMarkup`Limits` },
  ],
};

function renderSchemas({ components }: OpenApiDocument): Markup {
  const sections = Object.entries(components.schemas).map(([name, schema]) => renderSchema(name, schema));
  return createMarkup`<div class="group"><h2 id="schemas"><a href="#schemas">schemas</a></h2><p>A <span class="required">*</span> marks a member that is always there, or must be sent. <code>NameInput</code> is what a client sends of <code>Name</code>: members with a default may be left out.</p>${sections}</div>`;
}

function renderSchema(name: string, schema: JsonSchema): Markup {
  const fields = renderSchemaFields(schema);
  const description = schema['description'];
  return createMarkup`<section class="operation" id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>
${typeof description === 'string' ? renderProse(description) : NO_MARKUP}${fields === NO_MARKUP ? createMarkup`<p>${describeAlternatives(schema)}</p>` : fields}</section>
`;
}

/** Describes a schema that has no fields. A union is described by its alternatives, every other schema by its type. */
function describeAlternatives(schema: JsonSchema): Markup {
  const branches = (schema['oneOf'] ?? schema['anyOf']) as readonly JsonSchema[] | undefined;
  if (branches === undefined) return renderType(schema);
  return createMarkup`One of ${joinParts(
    branches.map((branch) =>
      typeof branch['$ref'] === 'string' ? renderComponentLink(branch['$ref']) : renderType(branch),
    ),
    ', ',
  )}.`;
}

function renderErrors(): Markup {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, help }]) =>
      createMarkup`<tr id="error-${code}"><th scope="row"><code>${code}</code></th><td>${status ?? 'job'}</td><td>${renderPhrase(help)}</td></tr>`,
  );
  const findings = joinParts(
    FINDING_CODES.map((code) => createMarkup`<code>${code}</code>`),
    ', ',
  );
  return createMarkup`<div class="group"><h2 id="errors"><a href="#errors">error codes</a></h2><p>Under which status each travels; a failed job carries the same codes, and those marked <em>job</em> only it can carry.</p>
<table class="fields"><tbody>${rows}</tbody></table></div>
<div class="group"><h2 id="findings"><a href="#findings">finding codes</a></h2><p>Of the findings in <code>detail.findings</code>: ${findings}.</p></div>`;
}

function renderLimits(): Markup {
  const rows = Object.entries(LIMITS).map(
    ([name, value]) =>
      createMarkup`<tr><th scope="row"><code>${name}</code></th><td>${value.toLocaleString('en-GB')}</td></tr>`,
  );
  return createMarkup`<div class="group"><h2 id="limits"><a href="#limits">limits</a></h2><p>Served as <code>limits</code> of <a href="#getHealth"><code>GET /health</code></a>.</p><table class="fields"><tbody>${rows}</tbody></table></div>`;
}
