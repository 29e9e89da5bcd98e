import type { Finding } from '#clients/typescript/divisor.js';
import { useSchemas } from '../../state/schemas.js';
import { formatPath, type JsonObject, type Path } from '../../words/paths.js';
import { Answered } from '../wait.js';
import { createLazyComponent } from '../lazy.js';
import { Field, FieldGrid } from './field.js';
import { withLabelledHelp, type FieldSpec } from './field-spec.js';
import { NamedField } from './named-field.js';
import { createFields } from './schema-fields.js';

const NestedField = createLazyComponent('the fields', async () => (await import('./nested-field.js')).NestedField);

const KindsField = createLazyComponent('the fields', async () => (await import('./kinds-field.js')).KindsField);

interface SchemaFormProps {
  /** Name of the schema. */
  readonly schema: string;
  /** Members to show, in this order. Default: all. */
  readonly names?: readonly string[];
  /** Members that are hidden. */
  readonly except?: readonly string[];
  /** Properties of fields that replace those of the schema, by member. `costs.spread` is a nested member. */
  readonly changes?: Readonly<Record<string, Partial<FieldSpec>>>;
  readonly value: JsonObject;
  readonly findings?: readonly Finding[];
  /** Path of the value in findings. */
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
        const labelled = createFields(all, schema);
        return (
          <FieldGrid>
            {createFields(all, schema, names)
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
                  return <NamedField key={spec.name} {...form} members={createFields(all, members)} />;
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
