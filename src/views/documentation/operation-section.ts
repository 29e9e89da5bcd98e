import { COLUMNS, formatCurl } from './curl.js';
import { formatJson } from './json-text.js';
import { joinParts, createMarkup, NO_MARKUP, renderPhrase, renderProse, toMarkup, type Markup } from './markup.js';
import { createExampleRequest, listSuccesses, type JsonSchema, type Media, type Operation } from './operation.js';
import { renderComponentLink, renderFieldRow, renderSchemaFields, renderType } from './schema-fields.js';

/**
 * Renders the section of an operation: its purpose on the left, and its request and response on the right.
 * @param sharedCodes error codes that every operation can return; they are not repeated
 */
export function renderOperation(operation: Operation, sharedCodes: ReadonlySet<string>): Markup {
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

/** Returns the error codes in the description of a response. */
export const listCodes = (description: string) => [...description.matchAll(/^`([A-Z_]+)`/gm)].map((match) => match[1]!);
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
