import './calendar.css';
import '../data/data.css';
import { useState } from 'preact/hooks';
import type { ClosureEffect, EventsView, Finding, Operations } from '#clients/typescript/divisor.js';
import { Button, Icon } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { WeekdayDate } from '../../components/controls/range.js';
import { type EditedDocument, Editor, type OpenedDocument, type WriteTerms } from '../../components/editor.js';
import { Answered, Badge, Problem } from '../../components/feedback.js';
import { listRows } from '../../components/form/row-list.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Facts } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { navigate, type PageProps } from '../../state/location.js';
import { useExchanges } from '../../state/market.js';
import { createTrouble, may, service, type Trouble, useAnswer, useResource } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatClosuresAddress, formatIndexAddress } from '../../words/addresses.js';
import { formatWeekday, isDate } from '../../words/dates.js';
import { countValues, MISSING_TEXT } from '../../words/numbers.js';
import { formatPath, type JsonObject } from '../../words/paths.js';
import { EventBadge } from './coming.js';
import { formatEvent, formatEventKind } from './event-kinds.js';

interface ChangesProps {
  readonly edited: EditedDocument;
  /** Position of the change whose form is open. */
  readonly open: number | null;
  onOpen(position: number | null): void;
}

/** Renders the recorded changes of a calendar. Each change opens to its form. */
function Changes({ edited, open, onOpen }: ChangesProps) {
  const { document, set } = edited;
  const changes = listRows(document['changes']);
  const put = (next: readonly JsonObject[], position: number | null) => {
    set({ ...document, changes: next });
    onOpen(position);
  };
  const add = may('data') && (
    <Button onClick={() => put([...changes, { session: 'closed' }], changes.length)}>
      <Icon name="plus" /> Add a change
    </Button>
  );
  return (
    <Section title="Changes" aside={countValues(changes.length, 'change')}>
      {changes.length === 0 ? (
        <p class="quiet">No change is recorded: only the rules of the exchange apply.</p>
      ) : (
        <table class="raised closure-changes" aria-label="recorded changes">
          <thead>
            <tr>
              {['Date', 'Session', 'Hours', 'Reason', 'Change'].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {changes.map((change, position) => (
              <Change
                key={position}
                edited={edited}
                change={change}
                at={position}
                isOpen={open === position}
                onOpen={() => onOpen(open === position ? null : position)}
                onChange={(next) =>
                  put(
                    changes.map((findingPath, i) => (i === position ? removeHours(next) : findingPath)),
                    position,
                  )
                }
                onRemove={() => put(changes.toSpliced(position, 1), null)}
              />
            ))}
          </tbody>
        </table>
      )}
      {add && <div>{add}</div>}
    </Section>
  );
}

/** Removes the hours of a day on which the exchange is closed. */
function removeHours(change: JsonObject): JsonObject {
  if (change['session'] !== 'closed') return change;
  const { opens: _, closes: __, ...kept } = change;
  return kept;
}

const SESSIONS: Readonly<Record<string, string>> = { closed: 'Closed all day', open: 'Open, with other hours' };

const FIELDS = {
  date: { help: null },
  session: { help: null, words: SESSIONS },
  opens: { help: 'Local time, HH:MM. Default: the usual one.' },
  closes: { help: 'Local time, HH:MM. Default: the usual one.' },
  reason: { label: 'Reason', help: 'With its source, such as a notice of the exchange.', isWide: true },
} as const;

const listNames = ({ session }: JsonObject): readonly string[] =>
  session === 'closed' ? ['date', 'session', 'reason'] : ['date', 'session', 'opens', 'closes', 'reason'];

interface ChangeProps {
  readonly edited: EditedDocument;
  readonly change: JsonObject;
  readonly at: number;
  readonly isOpen: boolean;
  onOpen(): void;
  onChange(change: JsonObject): void;
  onRemove(): void;
}

function Change({ edited, change, at, isOpen, onOpen, onChange, onRemove }: ChangeProps) {
  const { date, session, reason } = change;
  const day = String(date ?? '');
  const path = formatPath(['changes', at]);
  const isWrong = edited.findings.some(
    ({ path: findingPath, severity }) => severity === 'error' && findingPath.startsWith(path),
  );
  return (
    <>
      <tr>
        <td class="date">
          {day === '' ? MISSING_TEXT : day} {isDate(day) && <span class="quiet">{formatWeekday(day)}</span>}
        </td>
        <td>
          <Badge kind={session === 'closed' ? 'bad' : 'warning'}>{session === 'closed' ? 'closed' : 'open'}</Badge>
          {isWrong && !isOpen && <Badge kind="bad">error</Badge>}
        </td>
        <td class="number">{formatHours(change)}</td>
        <td>{String(reason ?? '') || MISSING_TEXT}</td>
        <td class="row-acts">
          {may('data') && (
            <>
              <Button
                kind="bare"
                aria-label={`${isOpen ? 'Fold' : 'Edit'} change ${at + 1}`}
                aria-expanded={isOpen}
                onClick={onOpen}
              >
                <Icon name="edit" />
              </Button>
              <Button kind="bare" aria-label={`Remove change ${at + 1}`} onClick={onRemove}>
                <Icon name="close" />
              </Button>
            </>
          )}
        </td>
      </tr>
      {isOpen && (
        <tr class="closure-form">
          <td colSpan={5}>
            <div role="group" aria-label={`Change ${at + 1}`}>
              <SchemaForm
                schema="SessionChange"
                names={listNames(change)}
                changes={FIELDS}
                value={change}
                findings={edited.findings}
                path={['changes', at]}
                onChange={onChange}
              />
            </div>
          </td>
        </tr>
      )}
    </>
  );
}

/** Formats the local trading hours, for example `opens 10:30, closes 13:00`. */
function formatHours({ session, opens, closes }: JsonObject): string {
  const hoursText = [opens && `opens ${String(opens)}`, closes && `closes ${String(closes)}`]
    .filter(Boolean)
    .join(', ');
  return hoursText === '' || session === 'closed' ? MISSING_TEXT : hoursText;
}

type IndexEffect = ClosureEffect['indices'][number];

/** Renders the sessions, rebalances, published closes and schedule days that the recorded changes affect. */
function Effect({ effect: { added, removed, hours, indices, schedules } }: { readonly effect: ClosureEffect }) {
  const counts = added.length + removed.length + hours.length + indices.length + schedules.length;
  if (counts === 0) return <p>These changes alter no session, index or schedule.</p>;
  const stale = indices.filter((index) => index.stale.length > 0).length;
  return (
    <>
      <Facts
        facts={[
          ['Sessions lost', formatDates(removed)],
          ['Sessions added', formatDates(added)],
          ['Sessions with other hours', formatDates(hours)],
          [
            'Runs that become stale',
            indices.length === 0 ? null : `${stale} of ${countValues(indices.length, 'index', 'indices')}`,
          ],
          ...schedules.map(
            ({ schedule_id: id, ended, missing }) =>
              [
                `Schedule ${id}`,
                [
                  ended.length === 0 ? [] : [`ends the open days ${ended.join(', ')}`],
                  missing.length === 0 ? [] : [`lacks the days ${missing.join(', ')}: perform them by backfill`],
                ]
                  .flat()
                  .join('; '),
              ] as const,
          ),
        ]}
      />
      {indices.length > 0 && (
        <Table
          label="indices on the calendar"
          name="closure-indices"
          columns={COLUMNS}
          rows={indices.toSorted((a, b) => computeWeight(b) - computeWeight(a))}
          getKey={({ index_id: id }) => id}
          height={360}
        />
      )}
    </>
  );
}

/** Returns a weight for sorting indices. Indices with stale runs come first, then indices with moved rebalances. */
const computeWeight = ({ stale, before, after }: IndexEffect): number =>
  (stale.length > 0 ? 2 : 0) + (before.length + after.length > 0 ? 1 : 0);

const formatDates = (dates: readonly string[]): string | null => (dates.length === 0 ? null : dates.join(', '));

const describeMove = ({ before, after }: IndexEffect): string => {
  const [lost, placed] = [before, after].map((dates) => dates.map(({ date }) => date).join(', '));
  return lost === placed ? '' : `${lost || MISSING_TEXT} → ${placed || MISSING_TEXT}`;
};

const COLUMNS: readonly Column<IndexEffect>[] = [
  {
    id: 'index',
    title: 'Index',
    width: 120,
    grow: 1,
    value: (row) => row.index_id,
    show: ({ index_id: id }) => <a href={formatIndexAddress(id)}>{id}</a>,
  },
  {
    id: 'stale',
    title: 'Latest run',
    width: 200,
    grow: 3,
    value: ({ stale }) => stale.join(' '),
    show: ({ stale }) =>
      stale.length === 0 ? (
        <span class="quiet">stays current</span>
      ) : (
        <span title={stale.join(' ')}>
          <Badge kind="warning">stale</Badge>{' '}
          {stale.join(' ').replace(/^The calendar (\S+) changed since this run/, '$1')}
        </span>
      ),
  },
  { id: 'moves', title: 'Rebalances that move', width: 200, grow: 2, value: describeMove },
  {
    id: 'published',
    title: 'Published closes',
    help: 'Published closes on lost sessions; they stay',
    width: 130,
    grow: 1,
    priority: 2,
    value: ({ published }) => published.join(', '),
  },
  {
    id: 'unpublished',
    title: 'Without a close',
    help: 'Added sessions before the last published close',
    width: 130,
    grow: 1,
    priority: 2,
    value: ({ unpublished }) => unpublished.join(', '),
  },
];

type Event = EventsView['events'][number];

/** Renders the days of the next year on which an exchange is closed or has other hours. */
function Holidays({ code }: { readonly code: string }) {
  const events = useAnswer('listEvents', { query: { kinds: ['holiday', 'early_close', 'closure'] } });
  return (
    <Section title="Coming holidays and changes" aside="the next year">
      <Answered resource={events} what="the holidays">
        {({ events: all }) => {
          const rows = all.filter(({ calendar }) => calendar === code);
          return rows.length === 0 ? (
            <p class="quiet">No index uses this calendar: its holidays are listed once one does.</p>
          ) : (
            <Table
              label={`holidays of ${code}`}
              name="holidays"
              columns={HOLIDAYS_COLUMNS}
              rows={rows}
              getKey={({ date, kind }) => `${date} ${kind}`}
              height={420}
            />
          );
        }}
      </Answered>
    </Section>
  );
}

const HOLIDAYS_COLUMNS: readonly Column<Event>[] = [
  { id: 'date', title: 'Date', width: 124, show: ({ date }) => <WeekdayDate date={date} /> },
  {
    id: 'kind',
    title: 'Kind',
    width: 104,
    grow: 0.7,
    value: formatEventKind,
    show: (event) => <EventBadge event={event} />,
  },
  { id: 'summary', title: 'Event', width: 140, grow: 3, value: formatEvent },
];

/** Page of the recorded changes of a calendar. They can be saved after their effect was displayed. */
export function ClosuresPage({ params }: PageProps) {
  const code = params['id']!; // the route has this parameter
  const openedDocument = useResource(`closures ${code}`, (signal) => load(code, signal), { follows: false });
  return (
    <Answered resource={openedDocument} what="the recorded closures">
      {(first) => <Closures key={code} code={code} opened={first} onReload={openedDocument.reload} />}
    </Answered>
  );
}

interface ClosuresProps {
  readonly code: string;
  readonly opened: OpenedDocument;
  onReload(): void;
}

interface DryRun {
  readonly text: string;
  readonly effect: ClosureEffect | null;
  readonly trouble: Trouble | null;
}

function Closures({ code, opened, onReload }: ClosuresProps) {
  const exchanges = useExchanges();
  const [dryRun, setDryRun] = useState<DryRun | null>(null);
  const [open, setOpen] = useState<number | null>(null);
  const validate = async (document: JsonObject): Promise<readonly Finding[]> => {
    if (!isComplete(document)) return [];
    const text = JSON.stringify(document);
    try {
      const body = { ...createBody(document), dry_run: true };
      const { effect } = await service.value.call('putClosures', { params: { calendar_code: code }, body });
      setDryRun({ text, effect, trouble: null });
      return [];
    } catch (thrown) {
      const trouble = createTrouble(thrown);
      setDryRun({ text, effect: null, trouble: trouble.findings.length === 0 ? trouble : null });
      return trouble.findings;
    }
  };
  const isReady = (document: JsonObject): boolean => {
    const text = JSON.stringify(document);
    return text !== JSON.stringify(opened.document) && dryRun?.text === text && dryRun.effect !== null;
  };
  return (
    <Editor
      scope="data"
      title={`Closures of ${exchanges.get(code) ?? code}`}
      above={[{ address: '/console/calendar', text: 'Calendar' }]}
      opened={opened}
      {...(may('data') ? { validate } : {})}
      hasNote={false}
      versioned={{ kind: 'calendar', id: code }}
      reread={() => load(code)}
      save={(document, write) => put(code, document, write)}
      isReady={isReady}
      onSaved={() => {
        showToast('good', `The changes of ${code} are saved and apply at once.`);
        setOpen(null);
        onReload();
      }}
      onReload={onReload}
    >
      {(edited) => (
        <>
          <p>
            Unscheduled closures, half days, late openings and additional sessions. They apply at once to runs, previews
            and schedules. Published closes stay as they are.
          </p>
          <Select
            label="Calendar"
            isLabelShown
            options={[...exchanges].map(([value, name]) => ({ value, text: `${name} (${value})` }))}
            value={code}
            onChoose={(chosen) => navigate(formatClosuresAddress(chosen))}
          />
          <Changes edited={edited} open={open} onOpen={setOpen} />
          {edited.isChanged && (
            <Section title="Effect" aside="nothing is stored before you save">
              {dryRun?.trouble != null && <Problem trouble={dryRun.trouble} />}
              {isReady(edited.document) ? (
                <Effect effect={dryRun!.effect!} /> // `isReady` requires a dry run with an effect
              ) : (
                <p class="quiet">
                  {isComplete(edited.document)
                    ? 'The effect is being computed.'
                    : 'The effect is shown once every change has its date and reason.'}
                </p>
              )}
            </Section>
          )}
          <Holidays code={code} />
        </>
      )}
    </Editor>
  );
}

type ClosuresBody = Operations['putClosures']['request']['body'];

/** The service validates the document. */
const createBody = (document: JsonObject): ClosuresBody => document as unknown as ClosuresBody;

async function load(code: string, signal?: AbortSignal): Promise<OpenedDocument> {
  const { answer, etag } = await service.value.callWithEtag('getClosures', {
    params: { calendar_code: code },
    signal,
  });
  return { document: { changes: answer.changes } as unknown as JsonObject, etag }; // the response is plain JSON
}

const put = (code: string, document: JsonObject, write: WriteTerms) =>
  service.value.callWithEtag('putClosures', { params: { calendar_code: code }, body: createBody(document), ...write });

/**
 * Returns true if every change is complete. A change needs a date and a reason, and an open weekday needs an opening or
 * closing time.
 */
function isComplete(document: JsonObject): boolean {
  return listRows(document['changes']).every(({ date, session, reason, opens, closes }) => {
    const day = String(date ?? '');
    if (!isDate(day) || String(reason ?? '').trim() === '') return false;
    const isWeekend = ['Sat', 'Sun'].includes(formatWeekday(day));
    return session === 'closed' || isWeekend || opens !== undefined || closes !== undefined;
  });
}
