import type { Operations } from '#clients/typescript/divisor.js';
import { Editor, type EditedDocument, type OpenedDocument, type WriteTerms } from '../../components/editor.js';
import { IdField } from '../../components/form/id-field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Section } from '../../components/page.js';
import { ReadOnly } from '../../components/form/read-only.js';
import { listRows } from '../../components/form/row-list.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../state/page-props.js';
import { navigate, getParameter } from '../../state/location.js';
import { useCalendars } from '../../state/exchanges.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatScheduleAddress } from '../../words/addresses.js';
import type { JsonObject } from '../../words/paths.js';
import { ScheduleSentence } from './schedule-sentence.js';
import { StepList } from './step-list.js';

/** Page of a schedule's plan: its indices, time and steps. */
export function SchedulePage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const [index, template] = [getParameter('index'), getParameter('template')];
  const openedDocument = useResource(
    `schedule ${id} ${index} ${template}`,
    (signal) => (id === null ? createSchedule({ index, template }, signal) : load(id, signal)),
    { follows: false },
  );
  return (
    <Answered resource={openedDocument} what="the schedule">
      {(first) => (
        <Editor
          title={id === null ? 'New schedule' : `Edit ${id}`}
          subject={String(first.document['name'])}
          above={[
            { address: '/console/schedules', text: 'Schedules' },
            ...(id === null ? [] : [{ address: formatScheduleAddress(id), text: String(first.document['name']) }]),
          ]}
          idMember="schedule_id"
          opened={first}
          required={['indices']}
          versioned={id === null ? undefined : { kind: 'schedule', id }}
          reread={() => load(id ?? '')}
          save={put}
          remove={() => service.value.call('deleteSchedule', { params: { schedule_id: id ?? '' } })}
          onSaved={(document) => navigate(formatScheduleAddress(String(document['schedule_id'])))}
          onRemoved={() => navigate('/console/schedules')}
          onReload={openedDocument.reload}
        >
          {(edited) => (
            <ReadOnly unless="write">
              <Form edited={edited} isStored={id !== null} />
            </ReadOnly>
          )}
        </Editor>
      )}
    </Answered>
  );
}

interface Beginning {
  /** Index of the schedule. */
  readonly index: string | null;
  /** Report template that the schedule renders. */
  readonly template: string | null;
}

/**
 * Returns a new schedule that runs and publishes indices, or renders a report of them. It is disabled until a user
 * enables it.
 */
async function createSchedule({ index, template }: Beginning, signal: AbortSignal): Promise<OpenedDocument> {
  const { indices } = await service.value.call('listIndices', { signal });
  const first = indices.find(({ id }) => id === index);
  const document = {
    schedule_id: '',
    name: '',
    enabled: false,
    indices: first === undefined ? [] : [first.id],
    calendar: (first ?? indices[0])?.calendar ?? 'XNYS',
    at: '18:30',
    steps: [
      { type: 'run' },
      { type: 'checks' },
      template === null ? { type: 'publish' } : { type: 'render', template_id: template },
    ],
  };
  return { document, etag: null };
}

async function load(id: string, signal?: AbortSignal): Promise<OpenedDocument> {
  const { answer, etag } = await service.value.callWithEtag('getSchedulePlan', {
    params: { schedule_id: id },
    signal,
  });
  const { updated_at: _, ...document } = answer;
  return { document: document as unknown as JsonObject, etag }; // the response is plain JSON
}

type ScheduleBody = Operations['putSchedule']['request']['body'];

function put({ schedule_id: id, ...document }: JsonObject, write: WriteTerms) {
  return service.value.callWithEtag('putSchedule', {
    params: { schedule_id: String(id) },
    body: document as unknown as ScheduleBody, // the service validates the document
    ...write,
  });
}

/** Maximum number of indices that are shown as choices. If there are more, ids are typed. */
const CHOICES_MAX = 40;
const FIRST_FIELDS = ['calendar', 'at', 'enabled', 'starts_on', 'indices'];
const OTHER_FIELDS = [
  'description',
  'time_zone',
  'day_offset',
  'deadline_minutes',
  'retry_minutes',
  'catch_up',
  'on_failure',
  'keep_files_days',
];

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const ids = (indices.data?.indices ?? []).map(({ id }) => id);
  const exchanges = useCalendars();
  const zone = document['time_zone'] ?? exchanges.find(({ code }) => code === document['calendar'])?.tz;
  const renderFields = (names: readonly string[]) => (
    <SchemaForm
      schema="ScheduleBody"
      names={names}
      changes={{
        indices: ids.length <= CHOICES_MAX ? { kind: 'choices', choices: ids, isWide: true } : {},
        calendar: {
          kind: 'choice',
          choices: exchanges.map(({ code }) => code),
          words: Object.fromEntries(exchanges.map(({ code, name }) => [code, `${code} ${name}`])),
          isDouble: true,
        },
        at: {
          label: 'Begins at',
          help: `Time of day${typeof zone === 'string' ? ` in ${zone}` : ''}, for example 18:30.`,
        },
        enabled: { help: 'Days start automatically.' },
        starts_on: { label: 'First session', help: 'Default: the next one once the schedule is stored.' },
      }}
      value={document}
      findings={findings}
      onChange={set}
    />
  );
  return (
    <>
      <ScheduleSentence document={document} zone={typeof zone === 'string' ? zone : undefined} />
      <div class="form-card">
        <div class="field-grid is-joined">
          {renderFields(['name'])}
          <IdField edited={edited} member="schedule_id" isFixed={isStored} />
          {renderFields(FIRST_FIELDS)}
        </div>
        <details>
          <summary>Description, time zone, deadline, retries and files</summary>
          {renderFields(OTHER_FIELDS)}
        </details>
      </div>
      <Section title="Steps of a day" aside="performed from top to bottom">
        <StepList
          steps={listRows(document['steps'])}
          findings={findings}
          onChange={(steps) => set({ ...document, steps })}
        />
      </Section>
    </>
  );
}
