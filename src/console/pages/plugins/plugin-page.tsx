import type { Finding, Operations } from '#clients/typescript/divisor.js';
import { useId, useState } from 'preact/hooks';
import { Editor, type EditedDocument, type OpenedDocument, type WriteTerms } from '../../components/editor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { IdField } from '../../components/form/id-field.js';
import { NamedRows } from '../../components/form/named-rows.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { GuideLink } from '../../components/guide-link.js';
import { createLazyComponent } from '../../components/lazy.js';
import { Answered } from '../../components/wait.js';
import { useFindingField } from '../../state/finding-fields.js';
import { may } from '../../state/principal.js';
import type { PageProps } from '../../state/page-props.js';
import { navigate, getParameter } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress, formatPluginAddress } from '../../words/addresses.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { PluginValues, usePreview } from './plugin-values.js';
import { listUnusedInputs } from './unused-inputs.js';
import './plugins.css';

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
