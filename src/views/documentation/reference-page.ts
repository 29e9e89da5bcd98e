import type { OpenApiDocument } from '#contract/openapi.js';
import { FINDING_CODES } from '#domain/refusals/findings.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { ERRORS } from '#domain/refusals/refusal.js';
import { createPage, type Group, type Page } from './page.js';
import { createGuideGroup, type GuidePage } from './guide-page.js';
import { joinParts, createMarkup, NO_MARKUP, renderPhrase, renderProse, type Markup } from './markup.js';
import { listOperations, type JsonSchema, type Operation } from './operation.js';
import { listCodes, renderOperation } from './operation-section.js';
import { renderComponentLink, renderSchemaFields, renderType } from './schema-fields.js';

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
