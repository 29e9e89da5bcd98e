import './plugins.css';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Finding, Operations } from '#clients/typescript/divisor.js';
import { Button, Icon } from '../../components/controls/button.js';
import { type EditedDocument, Editor, IdField, type OpenedDocument, type WriteTerms } from '../../components/editor.js';
import { Answered, createLazyComponent, useFindingField } from '../../components/feedback.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { GuideLink } from '../../components/layout/page.js';
import { getParameter, navigate, type PageProps } from '../../state/location.js';
import { may, service, useResource } from '../../state/service.js';
import { formatIndexAddress, formatPluginAddress } from '../../words/addresses.js';
import { formatPath, isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { listUnusedInputs } from './inputs.js';
import { PluginValues, usePreview } from './plugin-values.js';

interface NamedRowsProps {
  readonly label: string;
  readonly help: string;
  /** Fields of each row. A row in its short form has only the value of the first field. */
  readonly fields: readonly FieldSpec[];
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  /** Path of the value in findings. */
  readonly path: Path;
  readonly datapoints?: readonly string[];
  readonly isDisabled: boolean;
  onChange(value: JsonObject): void;
}

type Row = readonly [name: string, members: JsonObject];

/** Renders an object of named objects, one row per name. */
function NamedRows(props: NamedRowsProps) {
  const { label, help, fields, value, isDisabled, onChange } = props;
  const firstField = fields[0]?.name ?? '';
  const [rows, setRows] = useState(() => listRows(value, firstField));
  const valueJson = JSON.stringify(createObject(listRows(value, firstField)));
  useEffect(() => {
    if (JSON.stringify(createObject(rows)) !== valueJson) setRows(listRows(value, firstField));
  }, [valueJson]);
  const put = (next: readonly Row[]) => {
    setRows(next);
    onChange(createObject(next));
  };
  return (
    <fieldset class="field-group">
      <legend>{label}</legend>
      <p class="field-help">{help}</p>
      {rows.map((row, at) => (
        <div key={at} class="field-row" role="group" aria-label={`${label}, row ${at + 1}`}>
          <NamedRow
            {...props}
            row={row}
            onChange={(next) => put(rows.map((rowPath, i) => (i === at ? next : rowPath)))}
          />
          <Button
            kind="bare"
            disabled={isDisabled}
            aria-label={`Remove row ${at + 1} of ${label}`}
            onClick={() => put(rows.filter((_, i) => i !== at))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button disabled={isDisabled} aria-label={`Add to ${label}`} onClick={() => setRows([...rows, ['', {}]])}>
        <Icon name="plus" /> Add
      </Button>
    </fieldset>
  );
}

interface NamedRowProps extends Omit<NamedRowsProps, 'onChange' | 'value'> {
  readonly row: Row;
  onChange(row: Row): void;
}

function NamedRow({
  row: [name, members],
  fields,
  findings,
  path,
  datapoints = [],
  isDisabled,
  onChange,
}: NamedRowProps) {
  const rowPath = formatPath([...path, name]);
  return (
    <FieldGrid>
      <Field
        spec={{ name: 'name', label: 'Name', kind: 'text', isRequired: true }}
        value={name}
        findings={findings.filter(({ path: one }) => one === rowPath)}
        isDisabled={isDisabled}
        onChange={(next) => onChange([typeof next === 'string' ? next : '', members])}
      />
      {fields.map((spec) => (
        <Field
          key={spec.name}
          spec={spec}
          value={members[spec.name]}
          findings={findings.filter(({ path: one }) => one === `${rowPath}.${spec.name}`)}
          datapoints={datapoints}
          isDisabled={isDisabled}
          onChange={(next) => {
            const { [spec.name]: _, ...others } = members;
            onChange([name, next === undefined ? others : { ...others, [spec.name]: next }]);
          }}
        />
      ))}
    </FieldGrid>
  );
}

/**
 * Converts an object to rows.
 * @param first member that receives a value that is not an object
 */
const listRows = (value: Json | undefined, first: string): readonly Row[] =>
  isObject(value)
    ? Object.entries(value).map(([name, row]): Row => [name, isObject(row) ? row : { [first]: row }])
    : [];

const createObject = (rows: readonly Row[]): JsonObject => Object.fromEntries(rows.filter(([name]) => name !== ''));

/** Page of one plug-in: its inputs, its parameters and its source. */
export function PluginPage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const openedDocument = useResource(`plug-in ${id}`, (signal) => readPlugin(id, signal), { follows: false });
  return (
    <Answered resource={openedDocument} what="the plug-in">
      {(first) => (
        <Editor
          title={id ?? 'New plug-in'}
          subtitle={id === null ? undefined : <Users id={id} />}
          above={[
            { address: '/', text: 'Indices' },
            { address: '/console/plugins', text: 'Plug-ins' },
          ]}
          scope="admin"
          idMember="id"
          opened={first}
          versioned={id === null ? undefined : { kind: 'plug-in', id }}
          reread={() => readPlugin(id)}
          save={put}
          remove={() => service.value.call('deletePlugin', { params: { plugin_id: id ?? '' } })}
          onSaved={(document) => {
            navigate(formatPluginAddress(String(document['id'])));
            openedDocument.reload();
          }}
          onRemoved={() => navigate('/console/plugins')}
          onReload={openedDocument.reload}
        >
          {(edited) => <Form edited={edited} isStored={id !== null} />}
        </Editor>
      )}
    </Answered>
  );
}

/** Renders links to the indices that use a plug-in. */
function Users({ id }: { readonly id: string }) {
  const plugins = useResource('plug-ins', (signal) => service.value.call('listPlugins', { signal }));
  const plugin = plugins.data?.plugins.find(({ plugin_id: one }) => one === id);
  if (plugin === undefined) return null;
  return (
    <>
      {plugin.used_by.length === 0 ? 'Used by no index' : 'Used by'}
      {plugin.used_by.map((index) => (
        <a key={index} href={formatIndexAddress(index)}>
          {index}
        </a>
      ))}
    </>
  );
}

const SOURCES: Readonly<Record<string, string>> = {
  datapoint: 'function compute({ close }, parameters, count) {\n  return close;\n}\n',
  selection:
    '// True for the securities that stay.\nfunction compute({ close }, parameters, count) {\n  return Array.from(close, (price) => price > 5);\n}\n',
  weighting:
    '// Raw weights: the service scales them to a sum of 1.\nfunction compute({ close }, parameters, count) {\n  return Array.from(close, (price) => 1 / price);\n}\n',
};

/** Returns a new plug-in of the kind in the address. Its source is an example. */
function createPlugin(): JsonObject {
  const requestedKind = getParameter('kind') ?? '';
  const kind = requestedKind in SOURCES ? requestedKind : 'datapoint';
  const inputs = { close: { expression: 'CLOSE' } };
  return { id: '', name: '', kind, inputs, parameters: {}, source: SOURCES[kind]! }; // there is an example for each kind
}

async function readPlugin(id: string | null, signal?: AbortSignal): Promise<OpenedDocument> {
  if (id === null) return { document: createPlugin(), etag: null };
  const { answer, etag } = await service.value.callWithEtag('getPlugin', { params: { plugin_id: id }, signal });
  const { plugin_id: _, sha256: _hash, updated_at: _at, ...document } = answer;
  return { document: { id, ...document }, etag };
}

type PluginBody = Operations['putPlugin']['request']['body'];

function put({ id, ...document }: JsonObject, write: WriteTerms) {
  return service.value.callWithEtag('putPlugin', {
    params: { plugin_id: String(id) },
    body: document as unknown as PluginBody, // the service validates the document
    ...write,
  });
}

const INPUT_FIELDS: readonly FieldSpec[] = [
  { name: 'expression', label: 'Expression', kind: 'formula', isRequired: true },
  { name: 'sessions', label: 'Sessions', kind: 'integer', otherwise: 1, help: 'Trailing sessions.' },
];

const PARAMETER_FIELDS: readonly FieldSpec[] = [
  { name: 'default', label: 'Default', kind: 'scalar', isRequired: true },
  { name: 'minimum', label: 'Minimum', kind: 'number' },
  { name: 'maximum', label: 'Maximum', kind: 'number' },
  { name: 'help', label: 'Help', kind: 'text' },
];

const KIND_HELP: Readonly<Record<string, string>> = {
  datapoint: 'The values are numbers.',
  selection: '0 or false excludes a security.',
  weighting: 'The values are raw weights.',
};

const DATE_FIELD: FieldSpec = { name: 'as_of', label: 'Date', kind: 'date', help: 'Default: the latest date.' };

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const isFixed = !may('admin');
  const fixedFields = isFixed ? ['name', 'description', 'kind'] : [];
  const renderFields = (names: readonly string[]) => (
    <SchemaForm
      schema="PluginUpsert"
      names={names}
      value={document}
      findings={findings}
      fixed={fixedFields}
      changes={{
        kind: {
          words: { datapoint: 'Datapoint', selection: 'Selection rule', weighting: 'Weighting' },
          help: KIND_HELP[String(document['kind'])] ?? null,
        },
      }}
      onChange={set}
    />
  );
  const getMember = (name: string) => ({
    value: document[name],
    findings,
    path: [name],
    isDisabled: isFixed,
    onChange: (value: JsonObject) => set({ ...document, [name]: value }),
  });
  const [date, setDate] = useState<Json | undefined>();
  const preview = usePreview(document, { isAllowed: !isFixed, date: typeof date === 'string' ? date : null });
  return (
    <div class="form-card">
      <div class="field-grid is-joined plugin-identity">
        {renderFields(['name'])}
        <IdField edited={edited} member="id" alias="plugin_id" isFixed={isStored || isFixed} />
        {renderFields(['kind'])}
      </div>
      <div class="plugin-parts">
        <div class="plugin-form">
          <Source edited={edited} isFixed={isFixed} tried={preview?.preview?.findings ?? []} />
          <div>
            <NamedRows
              label="Inputs"
              help="Columns that compute gets by these names."
              fields={INPUT_FIELDS}
              {...getMember('inputs')}
              findings={[...findings, ...findUnusedInputs(document)]}
            />
          </div>
          <div>
            <NamedRows
              label="Parameters"
              help="A definition sets their values, within the bounds."
              fields={PARAMETER_FIELDS}
              {...getMember('parameters')}
            />
          </div>
        </div>
        {!isFixed && (
          <PluginValues previewed={preview} shown={findings} kind={String(document['kind'])}>
            <FieldGrid>
              <Field spec={DATE_FIELD} value={date} findings={[]} onChange={setDate} />
            </FieldGrid>
          </PluginValues>
        )}
      </div>
      {renderFields(['description'])}
      <p>
        <GuideLink page="plugins">Plug-ins in the guide</GuideLink>
      </p>
    </div>
  );
}

/** Returns a warning for each input that the source does not use. It is computed without effect. */
const findUnusedInputs = ({ source, inputs }: JsonObject): readonly Finding[] =>
  listUnusedInputs(String(source ?? ''), Object.keys(isObject(inputs) ? inputs : {})).map((name) => ({
    severity: 'warning',
    code: 'NO_EFFECT',
    message: `The source does not use the input ${name}.`,
    path: `inputs.${name}`,
  }));

const ScriptEditor = createLazyComponent(
  'the editor',
  async () => (await import('../../components/code/script-editor.js')).ScriptEditor,
);

interface SourceProps {
  readonly edited: EditedDocument;
  readonly isFixed: boolean;
  /** Findings from computing the draft. */
  readonly tried: readonly Finding[];
}

/** Minimum and maximum number of visible lines of the editor. */
const LINES_MIN = 12;
const LINES_MAX = 20;

/** Renders the editor of the source. Errors of the sandbox are marked at their lines. */
function Source({ edited, isFixed, tried }: SourceProps) {
  const { document, findings, set } = edited;
  const id = useId();
  const wrong = findings.filter(({ path }) => path === 'source');
  const otherFindings = tried.filter(
    ({ path, message }) => path === 'source' && !wrong.some((own) => own.message === message),
  );
  const markedFindings = [...wrong, ...otherFindings];
  // Makes the editor the field of errors in the source. If a save is refused, the error then leads to the marked line.
  useFindingField(wrong, { id, member: 'source', label: 'Source' });
  return (
    <div id={id} class="field">
      <span class="plugin-source-label">
        Source <span class="quiet">JavaScript; the function compute returns a value for each security</span>
      </span>
      <ScriptEditor
        label="Source"
        lines={Math.min(LINES_MAX, Math.max(LINES_MIN, String(document['source'] ?? '').split('\n').length + 2))}
        isReadOnly={isFixed}
        value={String(document['source'] ?? '')}
        marks={markedFindings.map(({ message }) => ({ line: parseLine(message), message }))}
        onChange={(source) => set({ ...document, source })}
      />
    </div>
  );
}

/** Returns the line number in an error message. Default: 1. */
const parseLine = (message: string): number => Number(/\(line (\d+)\)/.exec(message)?.[1] ?? 1);
