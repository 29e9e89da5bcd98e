import { joinParts, createMarkup, NO_MARKUP, renderPhrase, toMarkup, type Markup } from './markup.js';
import type { JsonSchema } from './operation.js';

/** Maximum depth to which nested objects are shown. A deeper object is shown as `object`. */
const DEPTH_MAX = 3;

/**
 * Renders a table of the fields of a schema with name, type and meaning. The fields of a nested object follow the field
 * that contains it.
 */
export function renderSchemaFields(schema: JsonSchema): Markup {
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

/** Renders a row of a table of fields or parameters. */
export function renderFieldRow(
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
export function renderType(schema: JsonSchema): Markup {
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

/** Renders a link to a component of the document. */
export function renderComponentLink(ref: string): Markup {
  const name = ref.split('/').at(-1)!;
  return createMarkup`<a href="#schema-${name}">${name}</a>`;
}

/** Describes the values that a field accepts. */
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
