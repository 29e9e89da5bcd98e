import type { Finding } from '#clients/typescript/divisor.js';
import { type Resource, type ResourceOptions, service, useResource } from '../../state/service.js';
import { formatLabel } from '../../words/labels.js';
import { formatPath, isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { Button } from '../controls/button.js';
import { Answered, createLazyComponent } from '../feedback.js';
import { type FieldKind, type FieldSpec, withLabelledHelp } from './field-spec.js';
import { Field, FieldGrid, parseReference, REFERENCE_WORDS, renderCode } from './field.js';

interface NamedFieldProps {
  readonly spec: FieldSpec;
  /** Fields of the object that can be used instead of a text. */
  readonly members: readonly FieldSpec[];
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly datapoints: readonly string[];
  readonly isDisabled: boolean;
  onChange(value: Json | undefined): void;
}

/** Renders a reference such as `index:EQ` in words. If it has further members, renders the fields of the object. */
function NamedField({ members, ...props }: NamedFieldProps) {
  const { spec, value, findings, onChange } = props;
  const reference = typeof value === 'string' ? parseReference(value) : undefined;
  if (!isObject(value))
    return (
      <div>
        <Field {...props} />
        {reference !== undefined && (
          <Button kind="bare" onClick={() => onChange(reference)}>
            More fields
          </Button>
        )}
      </div>
    );
  return (
    <fieldset class="pile frame gap-2 field-group">
      <legend>{spec.label}</legend>
      {spec.help != null && <p class="small field-help">{renderCode(spec.help)}</p>}
      <FieldGrid>
        {members.map((member) => (
          <Field
            key={member.name}
            {...props}
            spec={member.name === 'kind' ? { ...member, words: REFERENCE_WORDS } : member}
            value={value[member.name]}
            findings={findings.filter(({ path }) => path.endsWith(`.${member.name}`))}
            onChange={(nextValue) => {
              const { [member.name]: _, ...others } = value;
              onChange(nextValue === undefined ? others : { ...value, [member.name]: nextValue });
            }}
          />
        ))}
      </FieldGrid>
      <Button kind="bare" onClick={() => onChange(formatReference(value))}>
        Name only
      </Button>
    </fieldset>
  );
}

function formatReference({ kind, id }: { readonly [name: string]: Json | undefined }): Json | undefined {
  return typeof kind === 'string' && typeof id === 'string' ? `${kind}:${id}` : undefined;
}

/** A schema of the contract in the form of OpenAPI. */
export interface Schema {
  readonly $ref?: string;
  /** Type, or a list of types for a value that may be null. */
  readonly type?: string | readonly string[] | undefined;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
}

export type Schemas = Readonly<Record<string, Schema>>;

interface OpenApi {
  readonly components: { readonly schemas: Schemas };
}

/** Reads the schemas of the contract. Forms are generated from them. */
export const useSchemas = (options: Pick<ResourceOptions, 'isLater'> = {}): Resource<Schemas> =>
  useResource(
    'schemas',
    async (signal) => {
      const document = await service.value.call('getOpenApi', { signal });
      return (document as unknown as OpenApi).components.schemas; // every OpenAPI document of the service has schemas
    },
    { follows: false, ...options },
  );

export function resolve(schemas: Schemas, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  const target = name === undefined ? undefined : schemas[name];
  if (target === undefined) return schema;
  const { $ref: _, ...own } = schema;
  return resolve(schemas, { ...target, ...own });
}

/** Maximum number of characters of help shown next to a field. */
const HELP_MAX = 200;
/** Texts that may be longer than this number of characters are edited as paragraphs. */
const LINE_MAX = 1000;

/**
 * Returns the members of a schema as fields, in the order of the schema.
 * @param schema schema name, or a member of a schema such as `WindowScenario.window`
 * @param names members to show, in this order. Default: all
 */
export function listFieldSpecs(schemas: Schemas, schema: string, names?: readonly string[]): readonly FieldSpec[] {
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

const NestedField = createLazyComponent('the fields', async () => (await import('./row-list.js')).NestedField);

const KindsField = createLazyComponent('the fields', async () => (await import('./row-list.js')).KindsField);

interface SchemaFormProps {
  readonly schema: string;
  /** Members to show, in this order. Default: all. */
  readonly names?: readonly string[];
  /** Members that are hidden. */
  readonly except?: readonly string[];
  /** Properties of fields that replace those of the schema, by member. `costs.spread` is a nested member. */
  readonly changes?: Readonly<Record<string, Partial<FieldSpec>>>;
  readonly value: JsonObject;
  readonly findings?: readonly Finding[];
  readonly path?: Path;
  readonly datapoints?: readonly string[];
  /** Read-only members. */
  readonly fixed?: readonly string[];
  onChange(value: JsonObject): void;
}

/** Renders members of a contract schema as fields. An empty field is removed from the value. */
export function SchemaForm(props: SchemaFormProps) {
  const { schema, names, except = [], changes = {}, value, onChange } = props;
  const { findings = [], path = [], datapoints = [], fixed = [] } = props;
  const schemas = useSchemas();
  const put = (name: string, memberValue: JsonObject[string]) => {
    const { [name]: _, ...others } = value;
    onChange(memberValue === undefined ? others : { ...value, [name]: memberValue });
  };
  return (
    <Answered resource={schemas} what="the fields of the form">
      {(all) => {
        const labelled = listFieldSpecs(all, schema);
        return (
          <FieldGrid>
            {listFieldSpecs(all, schema, names)
              .filter(({ name }) => !except.includes(name))
              .map((spec) => {
                const form = {
                  spec: withLabelledHelp({ ...spec, ...changes[spec.name] }, labelled),
                  value: value[spec.name],
                  findings: selectFindings(findings, formatPath([...path, spec.name])),
                  datapoints,
                  isDisabled: fixed.includes(spec.name),
                  onChange: (memberValue: JsonObject[string]) => put(spec.name, memberValue),
                };
                const members = `${schema}.${spec.name}`;
                if (form.spec.kind === 'named')
                  return <NamedField key={spec.name} {...form} members={listFieldSpecs(all, members)} />;
                if (form.spec.kind === 'object' || form.spec.kind === 'rows')
                  return (
                    <NestedField
                      key={spec.name}
                      {...form}
                      schema={members}
                      changes={createChangesWithin(changes, spec.name)}
                      path={[...path, spec.name]}
                    />
                  );
                if (form.spec.kind === 'kinds')
                  return <KindsField key={spec.name} {...form} schema={members} path={[...path, spec.name]} />;
                return <Field key={spec.name} {...form} />;
              })}
          </FieldGrid>
        );
      }}
    </Answered>
  );
}

/** Field properties that a form overrides, by member. */
export type Changes = NonNullable<SchemaFormProps['changes']>;

const createChangesWithin = (changes: Changes, name: string): Changes =>
  Object.fromEntries(
    Object.entries(changes).flatMap(([own, change]) =>
      own.startsWith(`${name}.`) ? [[own.slice(name.length + 1), change]] : [],
    ),
  );

const selectFindings = (findings: readonly Finding[], text: string): readonly Finding[] =>
  findings.filter(({ path }) => path === text || path.startsWith(`${text}.`) || path.startsWith(`${text}[`));
