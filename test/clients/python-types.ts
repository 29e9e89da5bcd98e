import type { OpenApiDocument } from '#contract/openapi.js';
import type { JsonSchema } from '#views/documentation/reference.js';
import { findOneLine, createShape, type Field, type PlainType, type Shape } from './shapes.js';

/**
 * Returns the Python source of the schemas of a contract. An object schema becomes a TypedDict; another schema becomes
 * an alias.
 */
export function formatPythonTypes({ components, paths }: OpenApiDocument): string {
  const response = listAnsweredSchemas(components.schemas, paths);
  const names = new Set(Object.keys(components.schemas));
  const declarations = Object.entries(components.schemas).map(([name, schema]) =>
    formatDeclaration(name, schema, { date: response.has(name) ? 'str' : 'Date', names }),
  );
  return `# Written from the OpenAPI document by \`npm run build\`; edit the contract instead.
"""Types of everything the service takes and answers, as JSON carries it."""

from __future__ import annotations

import datetime
import typing as t

#: A date to send: of Python, or YYYY-MM-DD.
Date = t.Union[str, datetime.date]

${declarations.join('\n')}`;
}

/** Names used inside a type. Dates are strings in responses of the service. */
export interface TypeNaming {
  readonly prefix: string;
  /** Prefix of built-in type names. It is needed because a schema may have the name of a built-in type. */
  readonly typing: '' | 't.';
  readonly date: 'str' | 'Date';
  /** Returns a name for an unnamed object, from the names of the schema and the members that contain it. */
  readonly formatName: (fields: readonly Field[], location: string) => string;
}

/** Returns the names of schemas that responses contain, following all references. */
function listAnsweredSchemas(
  schemas: Readonly<Record<string, JsonSchema>>,
  paths: OpenApiDocument['paths'],
): Set<string> {
  const results = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name] of JSON.stringify(value).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (results.has(name!)) continue;
      results.add(name!);
      visit(schemas[name!]);
    }
  };
  for (const methods of Object.values(paths))
    for (const operation of Object.values(methods)) visit((operation as { responses: unknown })['responses']);
  return results;
}

/** Returns the declaration of a schema and of the unnamed objects within it. */
function formatDeclaration(
  name: string,
  schema: JsonSchema,
  { date, names }: { readonly date: TypeNaming['date']; readonly names: ReadonlySet<string> },
): string {
  const shape = createShape(schema);
  const innerLines: string[] = [];
  const takenNames = new Set(names);
  const naming: TypeNaming = {
    prefix: '',
    typing: 't.',
    date,
    formatName(fields, location) {
      const insideName = nameInside(fields, location, takenNames);
      takenNames.add(insideName);
      innerLines.push(formatTypedDict(insideName, undefined, fields, naming));
      return insideName;
    },
  };
  const description = findOneLine(schema['description']);
  const text =
    shape.kind === 'object' && shape.fields.length > 0
      ? formatTypedDict(name, description, shape.fields, naming)
      : `${description === undefined ? '' : `#: ${description}\n`}${name} = ${typeText(shape, name, { ...naming, prefix: '"' })}\n`;
  return [...innerLines, text].join('\n');
}

/** Returns the name of a nested object: the names that contain it, then its kind if it has one. */
function nameInside(fields: readonly Field[], location: string, takenNames: ReadonlySet<string>): string {
  const kind = fields.find(({ name, shape }) => name === 'kind' && shape.kind === 'literal')?.shape;
  const name = kind?.kind === 'literal' ? `${location}${formatPascal(String(kind.values[0]))}` : location;
  let freeName = name;
  for (let i = 2; takenNames.has(freeName); i++) freeName = `${name}${i}`;
  return freeName;
}

/** Reserved words of Python. */
const KEYWORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
);

/**
 * Returns the source of a TypedDict. Optional members are in a separate class, because Python 3.9 has no `NotRequired`.
 */
function formatTypedDict(
  name: string,
  description: string | undefined,
  fields: readonly Field[],
  naming: TypeNaming,
): string {
  if (fields.some((field) => KEYWORDS.has(field.name))) return formatFunctionalTypedDict(name, fields, naming);
  const requiredFields = fields.filter(({ isRequired }) => isRequired);
  const optional = fields.filter(({ isRequired }) => !isRequired);
  const head = description === undefined ? '' : `    """${formatDocumentation(description)}"""\n\n`;
  const formatBody = (members: readonly Field[]) => members.map((field) => formatMember(field, name, naming)).join('');
  if (optional.length === 0)
    return `class ${name}(t.TypedDict):\n${head}${formatBody(requiredFields) || '    pass\n'}\n`;
  if (requiredFields.length === 0) return `class ${name}(t.TypedDict, total=False):\n${head}${formatBody(optional)}\n`;
  return `class _${name}(t.TypedDict):\n${formatBody(requiredFields)}\n\nclass ${name}(_${name}, total=False):\n${head}${formatBody(optional)}\n`;
}

function formatMember({ name, shape, description }: Field, owner: string, naming: TypeNaming): string {
  const comment = description === undefined ? '' : `    #: ${description}\n`;
  return `${comment}    ${name}: ${typeText(shape, `${owner}${formatPascal(name)}`, naming)}\n`;
}

/**
 * Returns a TypedDict in functional form, because the names of its members are Python keywords. One class has the
 * required members, another the optional members.
 */
function formatFunctionalTypedDict(name: string, fields: readonly Field[], naming: TypeNaming): string {
  const formatDictionary = (dictionary: string, members: readonly Field[], suffix: string) =>
    `${dictionary} = t.TypedDict("${dictionary}", {\n${members
      .map(
        (field) =>
          `    "${field.name}": ${typeText(field.shape, `${name}${formatPascal(field.name)}`, { ...naming, prefix: '"' })},\n`,
      )
      .join('')}}${suffix})\n\n`;
  const requiredFields = fields.filter(({ isRequired }) => isRequired);
  const optional = fields.filter(({ isRequired }) => !isRequired);
  if (optional.length === 0) return formatDictionary(name, requiredFields, '');
  if (requiredFields.length === 0) return formatDictionary(name, optional, ', total=False');
  const parts = [`_${name}`, `_${name}Optional`] as const;
  return `${formatDictionary(parts[0], requiredFields, '')}\n${formatDictionary(parts[1], optional, ', total=False')}\nclass ${name}(${parts.join(', ')}):\n    pass\n\n`;
}

const PLAIN_TYPES: Readonly<Record<PlainType, string>> = {
  string: 'str',
  number: 'float',
  integer: 'int',
  boolean: 'bool',
  null: 'None',
  any: 'Any',
};

/** Returns a type as Python source. The prefix `"` puts the names of types in quotes if they may be declared later. */
export function typeText(shape: Shape, location: string, naming: TypeNaming): string {
  const formatTypeName = (name: string) => (naming.prefix === '"' ? `"${name}"` : `${naming.prefix}${name}`);
  switch (shape.kind) {
    case 'name':
      return formatTypeName(shape.name);
    case 'literal':
      return `${naming.typing}Literal[${shape.values.map((value) => JSON.stringify(value)).join(', ')}]`;
    case 'union':
      return formatUnion([...new Set(shape.members.map((one) => typeText(one, location, naming)))], naming.typing);
    case 'list':
      return `${naming.typing}Sequence[${typeText(shape.of, location, naming)}]`;
    case 'record':
      return `${naming.typing}Mapping[str, ${typeText(shape.of, location, naming)}]`;
    case 'object':
      return shape.fields.length === 0
        ? `${naming.typing}Dict[str, ${naming.typing}Any]`
        : formatTypeName(naming.formatName(shape.fields, location));
    case 'plain':
      return shape.format === 'date' && naming.date === 'Date'
        ? formatDateText(naming.prefix)
        : `${shape.type === 'any' ? naming.typing : ''}${PLAIN_TYPES[shape.type]}`;
  }
}

const formatDateText = (prefix: string) => (prefix === '"' ? 'Date' : `${prefix}Date`);

function formatUnion(members: readonly string[], typing: TypeNaming['typing']): string {
  if (members.includes(`${typing}Any`)) return `${typing}Any`;
  const otherMembers = members.filter((each) => each !== 'None');
  const wholeType = otherMembers.length === 1 ? otherMembers[0]! : `${typing}Union[${otherMembers.join(', ')}]`;
  if (otherMembers.length === 0) return 'None';
  return otherMembers.length === members.length ? wholeType : `${typing}Optional[${wholeType}]`;
}

export const formatPascal = (name: string) =>
  name.replaceAll(/(?:^|[_-])(\w)/g, (_, letter: string) => letter.toUpperCase()).replaceAll(/\W/g, '');

/** Escapes text for a triple-quoted string. */
export const formatDocumentation = (text: string) =>
  text.replaceAll('\\', '\\\\').replaceAll('"""', "'''").replace(/"$/, '\\"');
