import { Badge } from '../../components/badge.js';
import { Editor, type EditedDocument } from '../../components/editor.js';
import { IdField } from '../../components/form/id-field.js';
import { KindList } from '../../components/form/kind-list.js';
import { ReadOnly } from '../../components/form/read-only.js';
import { createLazyComponent } from '../../components/lazy.js';
import { listRows } from '../../components/form/row-list.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { Answered } from '../../components/wait.js';
import { getParameter, navigate } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { useSchemas, type Schemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import { formatGovernanceAddress } from '../../words/addresses.js';
import { formatCount } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { Deliveries } from '../schedules/deliveries.js';
import type { Family } from './documents.js';
import { getClientState, KIND_TEXTS, listMissingKinds } from './open-work.js';
import { ProcedureInForce } from './procedure-in-force.js';
import { REGISTERS } from './registers.js';

interface DocumentPageProps {
  /** Register that lists the document. */
  readonly part: keyof typeof REGISTERS;
  readonly family: Family;
  /** Id of the document; null for a new document. */
  readonly id: string | null;
}

/** Page of one document of a register. Its form is generated from its schema. */
export function DocumentPage({ part, family, id }: DocumentPageProps) {
  const { kind, scope, idMember, fresh, read, write, remove } = family;
  const openedDocument = useResource(
    `${kind} ${id} ${getParameter('kind')}`,
    async (signal) => (id === null ? { document: await createFresh(fresh, signal), etag: null } : read(id, signal)),
    { follows: false },
  );
  return (
    <Answered resource={openedDocument} what={`the ${kind}`}>
      {(first) => (
        <Editor
          title={id === null ? `New ${kind}` : String(first.document['name'])}
          {...(id === null ? {} : { subject: id })}
          subtitle={kind === 'procedure' && id !== null && <ProcedureInForce id={id} document={first.document} />}
          above={[
            { address: '/console/governance', text: 'Governance' },
            { address: formatGovernanceAddress(part), text: REGISTERS[part].title },
          ]}
          scope={scope}
          idMember={idMember}
          required={first.document['text'] === undefined ? [] : ['text']}
          opened={first}
          versioned={id === null ? undefined : { kind, id }}
          reread={() => read(id ?? '')}
          save={write}
          remove={() => remove(id ?? '')}
          onSaved={(document) => {
            navigate(formatGovernanceAddress(part, String(document[idMember])));
            openedDocument.reload();
          }}
          onRemoved={() => navigate(formatGovernanceAddress(part))}
          onReload={openedDocument.reload}
        >
          {(edited) => (
            <>
              {kind === 'client' && id !== null && <Delivered client={id} document={edited.document} />}
              <div class={edited.document['text'] === undefined ? 'client-form' : 'side-by-side'}>
                <ReadOnly unless={scope}>
                  <Form
                    edited={edited}
                    family={family}
                    isStored={id !== null}
                    hasListsFirst={
                      id !== null && family.lists.some(({ name }) => listRows(first.document[name]).length === 0)
                    }
                  />
                </ReadOnly>
                <Preview text={edited.document['text']} />
              </div>
              {kind === 'client' && id !== null && <LatestDeliveries client={id} />}
            </>
          )}
        </Editor>
      )}
    </Answered>
  );
}

/** Returns a new document. A procedure has the kind in the address, otherwise the first kind without a procedure. */
async function createFresh(fresh: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  if (fresh['kind'] === undefined) return fresh;
  const chosenKind = getParameter('kind');
  if (chosenKind !== null) return { ...fresh, kind: chosenKind };
  const { procedures } = await service.value.call('listProcedures', { signal });
  return { ...fresh, kind: listMissingKinds(procedures)[0] ?? fresh['kind'] };
}

const Markdown = createLazyComponent('the preview', async () => (await import('./markdown.js')).Markdown);

/** Renders the Markdown of a document. */
const Preview = ({ text }: { readonly text: unknown }) =>
  typeof text !== 'string' ? null : (
    <Section title="Preview">
      {text === '' ? (
        <p class="quiet">The text is shown here as in the benchmark statement.</p>
      ) : (
        <Markdown text={text} />
      )}
    </Section>
  );

/** Returns the names of the exported tables and of the rendered reports. */
const listTables = (schemas: Schemas | undefined): readonly string[] => [
  ...(schemas?.['ExportedFileInput']?.properties?.['table']?.enum ?? []),
  'report',
];

/** Maximum number of indices that are shown as choices. If there are more, ids are typed. */
const CHOICES_MAX = 40;

interface FormProps {
  readonly edited: EditedDocument;
  readonly family: Family;
  readonly isStored: boolean;
  /** True if the lists of the document are above its other fields. */
  readonly hasListsFirst: boolean;
}

function Form({ edited, family, isStored, hasListsFirst }: FormProps) {
  const { document, findings, set } = edited;
  const { idMember, schema, lists } = family;
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const ids = (indices.data?.indices ?? []).map(({ id }) => id);
  const tables = listTables(useSchemas().data);
  const choice = ids.length > 0 && ids.length <= CHOICES_MAX ? { kind: 'choices' as const, choices: ids } : {};
  return (
    <div class="form-card">
      {hasListsFirst && <Lists edited={edited} family={family} />}
      <div class="field-grid is-joined">
        <SchemaForm schema={schema} names={['name']} value={document} findings={findings} onChange={set} />
        <IdField edited={edited} member={idMember} isFixed={isStored} />
        <SchemaForm
          schema={schema}
          except={['name', ...lists.map(({ name }) => name)]}
          changes={{
            description: { rows: 2, help: null },
            enabled: { help: 'Files are delivered only to enabled clients.' },
            indices: { ...choice, isWide: true, every: 'every index' },
            entitlements: {
              help:
                listRows(document['entitlements']).length === 0
                  ? 'The client receives nothing yet. Add the indices and tables of its files.'
                  : 'The client receives the files that one of these entries covers.',
            },
            'entitlements.indices': { ...choice, isWide: true, every: 'every index', help: null },
            'entitlements.tables': {
              kind: 'choices',
              choices: tables,
              isWide: true,
              every: 'every table',
              help: '`report` is a rendered report.',
            },
            kind: { help: KIND_TEXTS[document['kind'] as keyof typeof KIND_TEXTS] },
            text: { isWide: true, rows: 12 },
          }}
          value={document}
          findings={findings}
          onChange={set}
        />
      </div>
      {!hasListsFirst && <Lists edited={edited} family={family} />}
    </div>
  );
}

/** Renders the lists of a document, such as the targets of a client, each with a form for every entry. */
function Lists({ edited, family: { schema, lists } }: Pick<FormProps, 'edited' | 'family'>) {
  const { document, findings, set } = edited;
  return (
    <>
      {lists.map(({ name, what, brief }) => (
        <fieldset key={name} class="field-group">
          <legend>{`${what.charAt(0).toUpperCase()}${what.slice(1)}s`}</legend>
          <p class="field-help">
            {brief}{' '}
            {what === 'target' && listRows(document[name]).length === 0 && (
              <span class="field-warning">Without a target, the client receives no file.</span>
            )}
          </p>
          <KindList
            what={what}
            rows={listRows(document[name])}
            member="type"
            selectSchema={(schemas) => schemas[schema]?.properties?.[name]?.items ?? {}}
            path={[name]}
            findings={findings}
            rare={RARE_FIELDS}
            listFieldChanges={() => FIELD_CHANGES}
            fresh={() => ({})}
            onChange={(rows) => set({ ...document, [name]: rows })}
          />
        </fieldset>
      ))}
    </>
  );
}

/** Fields that only few delivery targets need. */
const RARE_FIELDS = ['tables', 'path', 'checksum', 'region', 'endpoint'];

const FIELD_CHANGES = { url: { label: 'Address', isWide: true } };

/** Formats a list. If the list is missing or empty, it means all values. */
const formatList = (values: Json | undefined, all: string): readonly string[] =>
  Array.isArray(values) && values.length > 0 ? values.map(String) : [all];

const useDeliveries = (client: string) =>
  useResource(`sent to ${client}`, (signal) =>
    service.value.call('listDeliveries', { params: { client_id: client }, signal }),
  );

/** Renders what was delivered to a client, what the client may receive, and its targets. */
function Delivered({ client, document }: { readonly client: string; readonly document: JsonObject }) {
  const { data } = useDeliveries(client);
  if (data === undefined) return <FiguresSkeleton />;
  const files = data.deliveries.flatMap(({ files: sent }) => sent);
  const deliveredCount = files.filter(({ state }) => state === 'delivered').length;
  const last = data.deliveries.reduce<string | null>(
    (latest, { date }) => (date > (latest ?? '') ? date : latest),
    null,
  );
  const entitlements = listRows(document['entitlements']);
  const entitledIndices = entitlements.flatMap(({ indices }) => formatList(indices, 'every index'));
  const tables = entitlements.flatMap((row) => formatList(row['tables'], 'every table'));
  const targets = listRows(document['targets']);
  const state = getClientState({ enabled: document['enabled'] !== false, entitlements, targets });
  return (
    <Metrics
      label={`Figures of ${client}`}
      metrics={[
        {
          term: 'Delivery',
          value: state.kind === 'warning' ? <Badge kind="warning">{state.text}</Badge> : state.text,
          note: state.kind === 'warning' ? 'nothing can be delivered' : formatTargets(targets),
        },
        { term: 'Latest delivery', value: last ?? 'none yet', note: last === null ? '' : 'session of the files' },
        { term: 'Delivered files', value: formatCount(deliveredCount), note: 'of the latest sessions' },
        {
          term: 'Open files',
          value: formatCount(files.length - deliveredCount),
          note: 'not delivered yet',
          kind: files.length > deliveredCount ? 'down' : '',
        },
        {
          term: 'Entitled to',
          value:
            entitledIndices.length === 0
              ? 'nothing'
              : [...new Set(entitledIndices)].map((id) => <div key={id}>{id}</div>),
          note: [...new Set(tables)].join(', ') || undefined,
          isLong: true,
        },
      ]}
    />
  );
}

/** Formats the names and types of delivery targets, for example `to house (folder)`; undefined if there are none. */
const formatTargets = (targets: readonly JsonObject[]): string | undefined =>
  targets.length === 0
    ? undefined
    : `to ${targets.map(({ name, type }) => `${String(name)} (${String(type ?? 'folder')})`).join(', ')}`;

function LatestDeliveries({ client }: { readonly client: string }) {
  const clientDeliveries = useDeliveries(client);
  return (
    <Section title="Latest deliveries">
      <Answered resource={clientDeliveries} what="the deliveries">
        {({ deliveries }) => <Deliveries records={deliveries} empty="This client has received no file." />}
      </Answered>
    </Section>
  );
}
