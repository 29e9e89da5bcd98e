import { formatLabel } from '../../words/labels.js';
import { resolve, type Schema, type Schemas } from '../../state/schemas.js';
import type { FieldKind, FieldSpec } from './field-spec.js';

/** Maximum number of characters of help shown next to a field. */
const HELP_MAX = 200;
/** Texts that may be longer than this number of characters are edited as paragraphs. */
const LINE_MAX = 1000;

/**
 * Returns the members of a schema as fields, in the order of the schema.
 * @param schema schema name, or a member of a schema such as `WindowScenario.window`
 * @param names members to show, in this order. Default: all
 */
export function createFields(schemas: Schemas, schema: string, names?: readonly string[]): readonly FieldSpec[] {
  const [root = '', ...members] = schema.split('.');
  const fullSchema = schemas[root];
  if (fullSchema === undefined) throw new Error(`the service has no schema named ${root}`);
  const { properties = {}, required = [] } = members.reduce<Schema>(
    (within, member) => resolveObject(schemas, within.properties?.[member] ?? {}),
    fullSchema,
  );
  return (names ?? Object.keys(properties)).flatMap((name) => {
    const ownSchema = properties[name];
    return ownSchema === undefined
      ? []
      : [createSchemaField(schemas, name, { own: ownSchema, isRequired: required.includes(name) })];
  });
}

interface Member {
  readonly own: Schema;
  readonly isRequired: boolean;
}

function createSchemaField(schemas: Schemas, name: string, { own, isRequired }: Member): FieldSpec {
  const inner = resolveValue(schemas, own);
  const otherwise = own.default ?? inner.default;
  const choices = findChoices(inner);
  // A form shows an empty field instead of null.
  const help = name === 'name' ? null : (own.description ?? inner.description ?? null)?.replace('Null: ', 'Default: ');
  return {
    name,
    label: formatLabel(name),
    kind: detectKind(schemas, inner),
    isRequired: isRequired && !('default' in own) && !('default' in inner),
    otherwise,
    ...(choices === undefined ? {} : { choices }),
    help: help ?? null,
    isWide: (choices === undefined || inner.type === 'array') && (help?.length ?? 0) > HELP_MAX,
    unit: name.endsWith('_bps') ? 'bp' : null,
  };
}

/** Returns the accepted values if the schema lists them. */
const findChoices = ({ enum: all, const: one, items }: Schema): readonly string[] | undefined =>
  all ?? items?.enum ?? (typeof one === 'string' ? [one] : undefined);

/** Returns the schema of a member without null. */
function resolveValue(schemas: Schemas, ownSchema: Schema): Schema {
  const fullSchema = resolve(schemas, ownSchema);
  if (Array.isArray(fullSchema.type)) return { ...fullSchema, type: fullSchema.type.find((type) => type !== 'null') };
  const other = fullSchema.anyOf?.filter(({ type }) => type !== 'null');
  return other?.length === 1 ? resolve(schemas, other[0]!) : fullSchema;
}

/**
 * Returns the schema of the object in a member. This is the member itself, the items of its list, or the object form of
 * a value that can also be a name.
 */
function resolveObject(schemas: Schemas, ownSchema: Schema): Schema {
  const fullSchema = resolveValue(schemas, ownSchema);
  if (fullSchema.items !== undefined) return resolveObject(schemas, fullSchema.items);
  return fullSchema.anyOf?.map((one) => resolve(schemas, one)).find(({ type }) => type === 'object') ?? fullSchema;
}

/**
 * Returns the member that distinguishes the kinds of objects in a list. Returns undefined if all objects are of one
 * kind.
 */
export function findKindMember(schemas: Schemas, list: Schema): string | undefined {
  const first = list.items?.oneOf?.[0];
  const members = first === undefined ? {} : (resolve(schemas, first).properties ?? {});
  return Object.keys(members).find((name) => typeof members[name]?.const === 'string');
}

/** Returns the schema of a member, such as `ChecksStep.checks`, without null. */
export const findMemberSchema = (schemas: Schemas, schema: string): Schema => {
  const [root = '', name = ''] = schema.split('.');
  return resolveValue(schemas, schemas[root]?.properties?.[name] ?? {});
};

function detectKind(schemas: Schemas, schema: Schema): FieldKind {
  const { type, items, additionalProperties: members } = schema;
  const types = (schema.anyOf ?? []).map((own) => resolve(schemas, own).type);
  if (types.includes('string') && types.includes('object')) return 'named';
  if (types.includes('string') && types.includes('integer')) return 'numbered';
  if (findChoices(schema) !== undefined) return type === 'array' ? 'choices' : 'choice';
  switch (type) {
    case 'boolean':
    case 'number':
    case 'integer':
      return type;
    case 'string':
      return schema.format === 'date' ? 'date' : (schema.maxLength ?? 0) > LINE_MAX ? 'prose' : 'text';
    case 'array': {
      const item = items && resolve(schemas, items);
      if (findKindMember(schemas, schema) !== undefined) return 'kinds';
      if (item?.type === 'string') return 'list';
      if (item?.type === 'integer') return 'integers';
      return item?.properties === undefined ? 'json' : 'rows';
    }
    case 'object': {
      if (schema.properties !== undefined) return 'object';
      const member = typeof members === 'object' ? resolve(schemas, members) : undefined;
      if (member?.type === 'string') return 'pairs';
      const isNumber = ({ type: own }: Schema) => own === 'number' || own === 'integer';
      return member !== undefined && [member, ...(member.anyOf ?? [])].some(isNumber) ? 'numbers' : 'json';
    }
    default:
      return 'json';
  }
}
