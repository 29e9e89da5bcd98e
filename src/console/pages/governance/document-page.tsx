import type { Operations } from '#clients/typescript/divisor.js';
import { type EditedDocument, Editor, IdField, type OpenedDocument, type WriteTerms } from '../../components/editor.js';
import { Answered, Badge, createLazyComponent, FiguresSkeleton } from '../../components/feedback.js';
import { KindList, listRows } from '../../components/form/row-list.js';
import { SchemaForm, type Schemas, useSchemas } from '../../components/form/schema-form.js';
import { Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { ReadOnly } from '../../components/permission.js';
import { listVersions } from '../../components/versions/history.js';
import { getParameter, navigate } from '../../state/location.js';
import { type Scope, service, useList, useResource } from '../../state/service.js';
import { formatGovernanceAddress } from '../../words/addresses.js';
import { formatMoment, formatToday } from '../../words/dates.js';
import { countValues, formatCount } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { Deliveries } from '../schedules/steps.js';
import { getClientState, KIND_TEXTS, listMissingKinds } from './open-work.js';
import { isPublished, useGovernance } from './published-logs.js';
import { REGISTERS } from './registers.js';

/** Family of documents whose forms are generated from their schemas. */
interface Family {
  /** Kind of document, as in the families of versioned documents. */
  readonly kind: 'client' | 'procedure';
  readonly scope: Scope;
  /** Member of the form that contains the id. In a request, the id is in the address and not in the body. */
  readonly idMember: string;
  readonly schema: string;
  /** Members that list objects of different kinds, shown after the other fields. */
  readonly lists: readonly { readonly name: string; readonly what: string; readonly brief: string }[];
  readonly fresh: JsonObject;
  read(id: string, signal?: AbortSignal): Promise<OpenedDocument>;
  write(document: JsonObject, version: WriteTerms): Promise<{ readonly etag: string | null }>;
  remove(id: string): Promise<unknown>;
}

export const FAMILIES: Readonly<Record<string, Family>> = {
  clients: {
    kind: 'client',
    scope: 'publish',
    idMember: 'client_id',
    schema: 'ClientBody',
    lists: [{ name: 'targets', what: 'target', brief: 'Folders, buckets and servers that receive the files.' }],
    fresh: { client_id: '', name: '', entitlements: [], targets: [] },
    async read(id, signal) {
      const { answer, etag } = await service.value.callWithEtag('getClient', { params: { client_id: id }, signal });
      const { updated_at: _, secrets: _stored, problems: _current, ...document } = answer;
      return { document: document as unknown as JsonObject, etag }; // the response is plain JSON
    },
    write: ({ client_id: id, ...document }, version) =>
      service.value.callWithEtag('putClient', {
        params: { client_id: String(id) },
        // The service validates the document.
        body: { entitlements: [], ...document } as unknown as Operations['putClient']['request']['body'],
        ...version,
      }),
    remove: (id) => service.value.call('deleteClient', { params: { client_id: id } }),
  },
  procedures: {
    kind: 'procedure',
    scope: 'write',
    idMember: 'procedure_id',
    schema: 'ProcedureDocument',
    lists: [],
    fresh: { procedure_id: '', name: '', kind: 'cessation', text: '' },
    async read(id, signal) {
      const params = { procedure_id: id };
      const { answer, etag } = await service.value.callWithEtag('getProcedure', { params, signal });
      const { updated_at: _, version: _ofList, ...document } = answer;
      return { document: document as unknown as JsonObject, etag }; // the response is plain JSON
    },
    write: ({ procedure_id: id, ...document }, version) =>
      service.value.callWithEtag('putProcedure', {
        params: { procedure_id: String(id) },
        body: document as unknown as Operations['putProcedure']['request']['body'], // the service validates the document
        ...version,
      }),
    remove: (id) => service.value.call('deleteProcedure', { params: { procedure_id: id } }),
  },
};

interface ProcedureInForceProps {
  readonly id: string;
  /** The stored procedure. */
  readonly document: JsonObject;
}

/** Renders the version, author, statements and review date of a stored procedure. */
function ProcedureInForce({ id, document }: ProcedureInForceProps) {
  const versions = useResource(`versions procedure ${id}`, (signal) => listVersions({ kind: 'procedure', id }, signal));
  const newest = versions.data?.versions[0];
  return (
    <p>
      {newest !== undefined &&
        `Version ${newest.version}, ${newest.action} ${formatMoment(newest.at)} by ${newest.author} · `}
      <Statements indices={document['indices']} />
      <ReviewDate date={document['review_by']} />
    </p>
  );
}

/** Maximum number of indices that are named. If there are more, their number is shown. */
const NAMED_MAX = 3;

/** Renders the statements of published indices that contain a procedure. */
function Statements({ indices }: { readonly indices: unknown }) {
  const overview = useGovernance();
  if (overview.data === undefined) return null;
  const published = overview.data.statements.filter(isPublished).map(({ index_id: id }) => id);
  const coveredIds = published.filter((id) => !Array.isArray(indices) || indices.includes(id));
  if (coveredIds.length === 0) return <>in no statement of a published index · </>;
  return (
    <>
      in {coveredIds.length === 1 ? 'the statement' : 'the statements'} of{' '}
      {coveredIds.length <= NAMED_MAX &&
        coveredIds.map((id, k) => (
          <span key={id}>
            {k > 0 && ', '}
            <a href={formatGovernanceAddress('statements', id)}>{id}</a>
          </span>
        ))}
      {coveredIds.length < published.length || coveredIds.length > NAMED_MAX
        ? ` (${formatCount(coveredIds.length)} of ${countValues(published.length, 'published index', 'published indices')})`
        : ''}
      {' · '}
    </>
  );
}

/** Renders the date of the next review. A date in the past or a missing date is marked. */
function ReviewDate({ date }: { readonly date: unknown }) {
  if (typeof date !== 'string') return <Badge kind="warning">no review date</Badge>;
  return date < formatToday() ? <Badge kind="bad">review was due on {date}</Badge> : <>review by {date}</>;
}

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
              <div class={edited.document['text'] === undefined ? 'client-form' : 'pile gap-5 side-by-side'}>
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
  const indices = useList('indices');
  const ids = (indices.data?.indices ?? []).map(({ id }) => id);
  const tables = listTables(useSchemas().data);
  const choice = ids.length > 0 && ids.length <= CHOICES_MAX ? { kind: 'choices' as const, choices: ids } : {};
  return (
    <div class="form-card">
      {hasListsFirst && <Lists edited={edited} family={family} />}
      <div class="pile field-grid is-joined">
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
        <fieldset key={name} class="pile frame gap-2 field-group">
          <legend>{`${what.charAt(0).toUpperCase()}${what.slice(1)}s`}</legend>
          <p class="small field-help">
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
