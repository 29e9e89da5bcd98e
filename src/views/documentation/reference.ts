import { createHash } from 'node:crypto';
import type { OpenApiDocument } from '#contract/openapi.js';
import { FINDING_CODES } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { ERRORS } from '#domain/base/refusals.js';

/** HTML text that is already escaped. Plain text is escaped when it is inserted; markup is inserted unchanged. */
interface Markup {
  readonly html: string;
}

type Part = string | number | Markup | readonly Markup[];

/** Builds markup from a template. All inserted values that are not markup are escaped. */
function createMarkup(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { html: texts.map((text, i) => (i < parts.length ? text + formatHtml(parts[i]!) : text)).join('') };
}

/** Marks a text as markup without escaping it. */
const toMarkup = (html: string): Markup => ({ html });

const NO_MARKUP: Markup = toMarkup('');

const joinParts = (parts: readonly Markup[], between = ''): Markup =>
  toMarkup(parts.map(({ html }) => html).join(between));

function formatHtml(part: Part): string {
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  return 'html' in part ? part.html : joinParts(part).html;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** Converts a description to markup. Empty lines separate paragraphs; words in backticks become code. */
function renderProse(text: string): Markup {
  return joinParts(
    text
      .trim()
      .split(/\n\s*\n/)
      .map((paragraph) => createMarkup`<p>${renderPhrase(paragraph)}</p>`),
  );
}

/** Converts one paragraph to markup without the surrounding element. */
function renderPhrase(text: string): Markup {
  return joinParts(
    text
      .split(/(`[^`]+`)/)
      .map((part) => (/^`.+`$/s.test(part) ? createMarkup`<code>${part.slice(1, -1)}</code>` : createMarkup`${part}`)),
  );
}

/**
 * Script of a documentation page. It adds a search over the sections, and buttons that copy a sample with the address
 * of the service.
 */
const SCRIPT = `
document.documentElement.classList.add('scripted');
const sections = [...document.querySelectorAll('section[id]')].map((section) => ({ section, link: document.querySelector('nav a[href$="#' + section.id + '"]'), text: section.textContent.toLowerCase() }));
const search = document.querySelector('nav input');
const groups = [...document.querySelectorAll('main > h2, main > .group')];
if (search) {
  search.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const { section, link, text } of sections) {
      const isFound = words.every((word) => text.includes(word));
      section.hidden = !isFound;
      if (link) link.parentElement.hidden = !isFound;
    }
    for (const group of groups) group.hidden = words.length > 0 && !group.querySelector('section:not([hidden])') && !group.matches('h2');
  });
  addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === 'Escape' && document.activeElement === search) { search.value = ''; search.dispatchEvent(new Event('input')); search.blur(); }
  });
  addEventListener('hashchange', () => { search.value = ''; search.dispatchEvent(new Event('input')); document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(); });
}
for (const pre of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const text = pre.querySelector('code').textContent.replaceAll('$DIVISOR', location.protocol === 'file:' ? '$DIVISOR' : location.origin);
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  (pre.closest('figure') ?? pre).append(button);
}
`;

/** Style sheet of all documentation pages. It supports light and dark themes, narrow and wide screens, and print. */
const STYLE = `
:root { --ink: #1c2430; --quiet: #5b6675; --line: #dfe4ea; --paper: #fff; --wash: #f5f7f9; --link: #0b5cad; --mark: #8a3c00;
  --get: #0b6e4f; --post: #0b5cad; --put: #8a5a00; --patch: #6a3fb0; --delete: #a3262a; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --ink: #dfe5ec; --quiet: #98a4b3; --line: #303a46; --paper: #12171d; --wash: #1a2129; --link: #7ab7ff;
  --mark: #ffb37a; --get: #5fd0a5; --post: #7ab7ff; --put: #f0c060; --patch: #c3a6ff; --delete: #ff8f8f } }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
code, pre { font: 0.86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
a { color: var(--link); text-decoration: none }
a:hover { text-decoration: underline }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); background: var(--wash); font-size: 13.5px }
nav strong a, nav strong { display: block; margin: 0.9rem 0 0.2rem; color: var(--ink) }
nav .brand { font-size: 1.25rem; margin-top: 0 }
nav ul { list-style: none; margin: 0; padding: 0 }
nav li a { display: block; padding: 0.1rem 0; color: var(--quiet); overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
nav li a[aria-current], nav li a:hover { color: var(--link) }
nav input { width: 100%; padding: 0.35rem 0.5rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 4px }
html:not(.scripted) nav input { display: none }
main { padding: 1.5rem 2rem 6rem; max-width: 82rem }
main.guide { max-width: 64rem }
main.guide > p, main.guide > ul { max-width: 46rem }
main.guide > p { margin: 0.8rem 0 }
main.guide img { display: block; max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px }
main.guide pre + pre { margin-top: -0.35rem; border-top-style: dashed; background: none }
h1 { margin: 0 0 0.5rem; font-size: 1.9rem; line-height: 1.2 }
h2 { margin: 2.5rem 0 0.75rem; padding-bottom: 0.25rem; border-bottom: 1px solid var(--line); font-size: 1.35rem }
h3 { margin: 1.8rem 0 0.5rem; font-size: 1.05rem }
h3 a, h2 a { color: inherit }
h4 { margin: 1rem 0 0.3rem; font-size: 0.8rem; color: var(--quiet); text-transform: uppercase; letter-spacing: 0.04em }
p { margin: 0.4rem 0 }
.summary { font-size: 1.02rem }
.facts, .bounds, figcaption { color: var(--quiet); font-size: 0.86rem }
.operation { border-top: 1px solid var(--line); padding: 0.2rem 0 1.2rem }
h2 + .operation { border-top: 0 }
.operation h3 { overflow-wrap: anywhere }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2rem }
.columns > * { min-width: 0 }
.method { font-weight: 700; font-size: 0.8rem; letter-spacing: 0.03em }
.get { color: var(--get) } .post { color: var(--post) } .put { color: var(--put) } .patch { color: var(--patch) } .delete { color: var(--delete) }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem }
th, td { padding: 0.28rem 0.6rem 0.28rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400 }
.fields th, .answers th { white-space: nowrap }
.fields .type { color: var(--quiet); overflow-wrap: break-word }
@media (max-width: 46rem) { .fields tr { display: block; padding: 0.3rem 0; border-top: 1px solid var(--line) } .fields th, .fields td { display: block; border: 0; padding: 0 } }
.answers td { overflow-wrap: anywhere }
.guide th, thead th { font-weight: 600 }
.required { color: var(--mark) }
figure { margin: 0.6rem 0 0; position: relative }
pre { margin: 0.3rem 0; padding: 0.7rem 0.8rem; background: var(--wash); border: 1px solid var(--line); border-radius: 5px; overflow: auto; max-height: 26rem; tab-size: 2 }
main.guide pre { position: relative; margin: 0.6rem 0; max-height: none }
p code, li code, td code { padding: 0 0.15em; overflow-wrap: anywhere }
button { position: absolute; top: 0.4rem; right: 0.4rem; padding: 0.1rem 0.5rem; font: 12px system-ui, sans-serif; color: var(--quiet); background: var(--paper); border: 1px solid var(--line); border-radius: 4px; cursor: pointer; opacity: 0 }
figure button { top: 0 }
figure:hover button, pre:hover button, button:focus { opacity: 1 }
:target > h3, tr:target { background: color-mix(in srgb, var(--link) 14%, transparent) }
[hidden] { display: none }
@media (max-width: 68rem) { .columns { grid-template-columns: minmax(0, 1fr); gap: 0 } }
@media (max-width: 46rem) { body { display: block } nav { position: static; height: auto; border-right: 0 } main { padding: 1rem } }
@media print { body { display: block; font-size: 10pt } nav, button { display: none } main { padding: 0; max-width: none } pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere }
  a { color: inherit } .operation { break-inside: auto } h2, h3, h4, figcaption { break-after: avoid } tr { break-inside: avoid } @page { margin: 16mm } }
`;

/** Page that contains its own style and script. Only its pictures are loaded separately. */
export interface Page {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

interface Link {
  readonly href: string;
  readonly text: Markup;
}

interface Group {
  readonly title: Markup;
  readonly links: readonly Link[];
}

interface PageInput {
  readonly title: string;
  /** Class of the main element. */
  readonly kind: 'reference' | 'guide';
  readonly groups: readonly Group[];
  readonly content: Markup;
  /** Address of the page in the navigation. */
  readonly current: string;
}

const computeSha256 = (text: string) => createHash('sha256').update(text).digest('base64');

/**
 * Content security policy of a page. Only the script and the style of the page are used. Everything else may come only
 * from the service. The page cannot be framed and submits no forms.
 */
export const PAGE_POLICY = [
  "default-src 'self'",
  `style-src 'sha256-${computeSha256(STYLE)}'`,
  `script-src 'sha256-${computeSha256(SCRIPT)}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Builds a page with head, navigation and content. */
function createPage({ title, kind, groups, content, current }: PageInput): Page {
  const html = createMarkup`<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${toMarkup(STYLE)}</style>
</head>
<body>
<nav aria-label="Contents">
<strong class="brand"><a href="/docs">Divisor</a></strong>
${kind === 'reference' ? toMarkup('<input type="search" placeholder="Search ( / )" aria-label="Search the reference">') : NO_MARKUP}
${groups.map((group) => renderNavigation(group, current))}
</nav>
<main class="${kind}">
${content}
</main>
${toMarkup(`<script>${SCRIPT}</script>`)}
</body>
</html>
`.html;
  const bytes = new TextEncoder().encode(html);
  return { bytes, etag: createHash('sha256').update(bytes).digest('hex') };
}

function renderNavigation({ title, links }: Group, current: string): Markup {
  const items = links.map(
    ({ href, text }) =>
      createMarkup`<li><a href="${href}"${href === current ? toMarkup(' aria-current="page"') : NO_MARKUP}>${text}</a></li>`,
  );
  return createMarkup`<strong>${title}</strong><ul>${joinParts(items)}</ul>`;
}

/** A page of the guide, already converted to HTML. */
export interface GuidePage {
  /** Last segment of the page's address; empty for the first page. */
  readonly name: string;
  readonly title: string;
  /** Content as HTML, generated from `data/guide` when the package was built. */
  readonly html: string;
}

const formatAddress = ({ name }: GuidePage) => (name === '' ? '/docs/guide' : `/docs/guide/${name}`);

/** Renders a page of the guide. A navigation lists all pages. */
export function renderGuidePage(page: GuidePage, guide: readonly GuidePage[]): Page {
  return createPage({
    title: `Divisor: ${page.title}`,
    kind: 'guide',
    groups: [createGuideGroup(guide), REFERENCE],
    content: toMarkup(page.html),
    current: formatAddress(page),
  });
}

/**
 * Renders the list of the pages of the guide as text: a title, a summary and one link for each page, with its content.
 * @param first Markdown of the first page, whose table lists the others
 */
export function renderGuideIndexText(first: string): string {
  const summary = /^# .*\n+((?:.+\n)+)/.exec(first)?.[1] ?? '';
  const rows = [...first.matchAll(/^\| \[([^\]]+)\]\(([a-z-]+)\.md\) \| (.*) \|$/gm)];
  const links = rows.map(([, title, name, content]) => `- [${title}](/docs/guide/${name}?format=md): ${content}`);
  const more = [
    '- [First steps](/docs/guide?format=md): an index on a generated market, and the path through the guide',
    '- [OpenAPI](/openapi.json): every route, with schemas and examples',
    '- [The whole guide](/llms-full.txt): all pages as one text',
  ];
  return `# Divisor\n\n> ${summary.trim().replaceAll('\n', ' ')}\n\n## Begin\n\n${more.join('\n')}\n\n## Pages\n\n${links.join('\n')}\n`;
}

/** Joins the Markdown of all pages, without the marks of generated tables. */
export const renderGuideText = (pages: readonly string[]): string =>
  pages.map((text) => text.replaceAll(/^<!--.*-->\n/gm, '').trim()).join('\n\n---\n\n') + '\n';

function createGuideGroup(guide: readonly GuidePage[]): Group {
  return {
    title: createMarkup`guide`,
    links: guide.map((page) => ({ href: formatAddress(page), text: createMarkup`${page.title}` })),
  };
}

const REFERENCE: Group = {
  title: createMarkup`reference`,
  links: [{ href: '/docs', text: createMarkup`Every route, schema and error` }],
};

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
function formatJson(value: unknown, columns = 100, indent = ''): string {
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
