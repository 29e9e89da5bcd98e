import '../../components/json-document.css';
import './publication/publication.css';
import { useMemo, useState } from 'preact/hooks';
import type {
  Finding,
  LevelsView,
  OverviewView,
  PublicationEntry,
  PublishedLog,
  PublishRequest,
} from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { isWide, layerCovered, type Line } from '../../components/chart/series.js';
import { Button } from '../../components/controls/button.js';
import { Answered, Badge, Banner, FiguresSkeleton, Problem, Wait } from '../../components/feedback.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Confirm } from '../../components/layout/dialog.js';
import { Facts, type LinkCard, LinkCards, Metrics } from '../../components/layout/facts.js';
import { GuideLink, Section } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction } from '../../state/actions.js';
import { copyText, saveFile } from '../../state/files.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { readShownRun } from '../../state/runs.js';
import { canVerify, type LogVerdict, verifyPublishedLog } from '../../state/log-verification.js';
import {
  createTrouble,
  may,
  notifyChange,
  service,
  type Trouble,
  useAnswer,
  useResource,
} from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatGovernanceAddress, formatIndexAddress } from '../../words/addresses.js';
import { createMomentFigure, formatMoment } from '../../words/dates.js';
import { returnText } from '../../words/labels.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatFigure,
  getSignClass,
} from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import {
  type ChangedEntry,
  findLatestClose,
  findThroughProblem,
  listFirstTimes,
  listPublications,
  type LoggedPublication,
} from '../../words/publication.js';
import type { RunPartProps } from './run-tabs.js';

interface LogProps {
  readonly id: string;
  readonly entries: readonly PublicationEntry[];
}

/** Renders the published log. A row is a publication, which opens the list of its closes. */
function Log({ id, entries }: LogProps) {
  const publications = useMemo(() => listPublications(entries), [entries]);
  const openKey = getParameter('publication');
  const open = publications.find((publication) => getKey(publication) === openKey);
  return (
    <>
      <Section title="Published log" aside={countValues(entries.length, 'entry', 'entries')}>
        <Table
          label={`publications of ${id}`}
          name="publications"
          columns={createColumns(openKey)}
          rows={publications}
          getKey={getKey}
          onOpen={(publication) => {
            const key = getKey(publication);
            setParameters({ publication: key === openKey ? null : key });
          }}
          openKey={open === undefined ? null : openKey}
          {...(publications.length > SEARCHED_MIN && {
            searchIn: ({ from, to, entries: [first] }: LogPublication) =>
              `${from} ${to} ${first!.kind} ${first!.author} ${first!.reason ?? ''}`,
          })}
          sort={{ column: 'seq', direction: 'desc' }}
          height={420}
          oneLineMin={ONE_LINE_MIN}
        />
      </Section>
      {open !== undefined && <Closes id={id} publication={open} />}
    </>
  );
}

type Entry = ChangedEntry<PublicationEntry>;
type LogPublication = LoggedPublication<PublicationEntry>;

/** Width in pixels from which a publication fits into one line. */
const ONE_LINE_MIN = 1130;

const SEARCHED_MIN = 8;

/** Returns the number of the first entry, which identifies a publication. */
const getKey = ({ entries: [first] }: LogPublication): string => String(first!.seq);

/** Formats the numbers of the entries of a publication, for example `12–14`. */
function formatNumbers({ entries }: LogPublication): string {
  const [first, last] = [entries[0]!.seq, entries.at(-1)!.seq];
  return first === last ? formatCount(first) : `${formatCount(first)}–${formatCount(last)}`;
}

function Closes({ id, publication }: { readonly id: string; readonly publication: LogPublication }) {
  const { entries } = publication;
  const { kind, at, author, reason } = entries[0]!;
  const isRestated = kind === 'restatement';
  return (
    <Section
      title={`Closes of entries ${formatNumbers(publication)}`}
      aside={
        <>
          {isRestated ? 'restated' : 'published'} {formatMoment(at)} by {author}
          <Button kind="bare" onClick={() => setParameters({ publication: null })}>
            Close
          </Button>
        </>
      }
    >
      {reason !== null && <p>{reason}</p>}
      <Table
        label={`published closes of ${id}`}
        name="published"
        columns={CLOSE_COLUMNS.filter((column) => isRestated || column.id !== 'change')}
        rows={entries}
        getKey={({ seq }) => String(seq)}
        searchIn={({ date }) => date}
        sort={{ column: 'seq', direction: 'desc' }}
        height={420}
      />
    </Section>
  );
}

const formatDates = ({ from, to }: LogPublication): string => (from === to ? to : `${from} to ${to}`);

const createColumns = (openKey: string | null): readonly Column<LogPublication>[] => [
  {
    id: 'seq',
    title: 'Entries',
    help: 'Numbers of the entries in the log',
    width: 130,
    value: ({ entries }) => entries.at(-1)!.seq,
    show: (publication) => (
      <>
        <span aria-hidden="true" class="quiet">
          {getKey(publication) === openKey ? '▾' : '▸'}
        </span>{' '}
        {formatNumbers(publication)}
      </>
    ),
    copy: formatNumbers,
  },
  ...COLUMNS,
];

const COLUMNS: readonly Column<LogPublication>[] = [
  {
    id: 'kind',
    title: 'Kind',
    width: 112,
    value: ({ entries: [first] }) => first!.kind,
    show: ({ entries: [first] }) => (
      <Badge kind={first!.kind === 'restatement' ? 'warning' : 'plain'}>{first!.kind}</Badge>
    ),
  },
  { id: 'closes', title: 'Closes', width: 72, value: ({ entries }) => entries.length, write: formatCount },
  {
    id: 'dates',
    title: 'Dates',
    width: 190,
    grow: 1,
    priority: 2,
    value: ({ to }) => to,
    show: formatDates,
    showBelow: formatDates,
    copy: ({ from, to }) => `${from} to ${to}`,
  },
  {
    id: 'change',
    title: 'Largest change',
    help: 'Largest relative change of a restated level to the level that it replaces, and the date of the close',
    width: 180,
    priority: 2,
    value: ({ largest }) => largest?.change ?? null,
    show: ({ largest }) =>
      largest && (
        <>
          {formatChange(largest.change)} <span class="quiet">on {largest.date}</span>
        </>
      ),
    showBelow: ({ largest }) => largest && `up to ${formatChange(largest.change)}`,
  },
  {
    id: 'at',
    title: 'Published',
    width: 176,
    priority: 3,
    value: ({ entries: [first] }) => first!.at,
    below: 'text',
    lines: 1,
    show: ({ entries: [first] }) => formatMoment(first!.at),
    showBelow: ({ entries: [first] }) => `${formatMoment(first!.at)} by ${first!.author}`,
  },
  {
    id: 'author',
    title: 'By',
    width: 90,
    priority: 3,
    below: 'nothing',
    value: ({ entries: [first] }) => first!.author,
  },
  {
    id: 'reason',
    title: 'Reason for the restatement',
    width: 180,
    grow: 3,
    priority: 4,
    lines: 1,
    value: ({ entries: [first] }) => first!.reason,
  },
];

const formatLevel = (value: number | null) => formatDecimal(value, 4);

const CLOSE_COLUMNS: readonly Column<Entry>[] = [
  { id: 'date', title: 'Close of', width: 96 },
  { id: 'seq', title: 'Entry', width: 72, write: formatCount },
  { id: 'price', title: 'Price', width: 100, priority: 3, write: formatLevel },
  { id: 'total', title: 'Total', width: 100, write: formatLevel },
  { id: 'net', title: 'Net', width: 100, priority: 5, write: formatLevel },
  {
    id: 'change',
    title: 'Against earlier level',
    help: 'Relative change of a restated level to the level that it replaces',
    width: 140,
    priority: 2,
    write: formatChange,
  },
  { id: 'divisor', title: 'Divisor', width: 120, priority: 7, write: formatFigure },
];

/** Reads the levels of the run on this page. A publication appends them to the log. */
const useLevels = (id: string) => useAnswer('getLevels', { params: { index_id: id }, query: readShownRun() });

/** Renders the closes of a run before anything was published: their number, their dates and the last level. */
function Unpublished({ id }: { readonly id: string }) {
  const levels = useLevels(id);
  return (
    <Section title="Nothing is published yet" aside="published closes are final, signed and chained by hashes">
      <Answered resource={levels} what="the closes of the run" skeleton={<FiguresSkeleton />}>
        {(view) => <Metrics label="Closes of the run" metrics={createFigures(view)} />}
      </Answered>
    </Section>
  );
}

function createFigures({ variant, levels: { index: dates, data: values } }: LevelsView) {
  const [first, last] = [Number(values[0]), Number(values.at(-1))];
  return [
    { term: 'Closes of the run', value: formatCount(dates.length), note: 'none of them is published' },
    { term: 'First level', value: formatDecimal(first), note: `points, ${String(dates[0])}` },
    { term: 'Last level', value: formatDecimal(last), note: `points, ${String(dates.at(-1))}` },
    {
      term: 'Return',
      value: formatChange(last / first - 1),
      kind: getSignClass(last / first - 1),
      note: returnText(variant),
    },
  ];
}

/** Renders the levels that the first publication would contain. */
function UnpublishedLevels({ id }: { readonly id: string }) {
  const view = useLevels(id).data;
  if (view === undefined || view.levels.index.length < 2) return null;
  const dates = view.levels.index.map(String);
  const lines: readonly Line[] = [{ id, label: id, colour: 1, values: view.levels.data.map(Number) }];
  return (
    <Section title="Levels to publish" aside={returnText(view.variant)}>
      <Chart
        label={`Levels of ${id} that are not published`}
        dates={dates}
        lines={lines}
        height={200}
        isLog={isWide(lines, 0, dates.length - 1)}
      />
    </Section>
  );
}

interface PublishProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Last published date; null if there is none. */
  readonly last: string | null;
}

/**
 * Renders the form that appends closes of the run to the log. Published closes that differ are listed. They are
 * restated only if the user gives a reason.
 */
function Publish({ id, run, last }: PublishProps) {
  const [asked, setAsked] = useState<JsonObject>({});
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const isRestated = trouble?.code === 'RESTATEMENT';
  const isPartial = trouble?.code === 'PARTIAL_CLOSES' || asked['allow_partial'] === true;
  const reason = typeof asked['reason'] === 'string' ? asked['reason'].trim() : '';
  const publish = async (body: JsonObject) => {
    setBusy(true);
    setTrouble(null);
    try {
      const { published, restated, through, stale } = await service.value.call('publishIndex', {
        params: { index_id: id },
        // Publishes the run on this page. The service validates the body.
        body: { ...readShownRun(), ...body } as PublishRequest,
      });
      const againText = restated === 0 ? '' : `, ${restated} again`;
      const staleText = stale === null ? '' : ` The run is stale: ${stale.reasons.join(' ')}`;
      const summary = `${countValues(published, 'close')} published${againText}; through ${through ?? 'no date yet'}.${staleText}`;
      showToast('good', published + restated === 0 ? 'The run equals the published log.' : summary);
      setAsked({});
      notifyChange();
    } catch (thrown) {
      setTrouble(createTrouble(thrown));
    }
    setBusy(false);
  };
  const isDone = last !== null && last >= run.end && !isRestated;
  const through = typeof asked['through'] === 'string' ? asked['through'] : undefined;
  const wrong = findThroughProblem(through, { start: run.start, end: run.end, last, isRestated });
  const first = useFirstTimes(id, { through: wrong === null ? through : '', last });
  // A stale run is not published unless the address names it.
  if (run.stale !== null && readShownRun().run_id === undefined) return <NotCurrent id={id} first={first} />;
  const isDisabled = isBusy || wrong !== null || first === null;
  return (
    <Section title="Publish" aside={isDone ? 'all closes of the run are published' : toCome(first)}>
      {isRestated && <RestatedCloses trouble={trouble} />}
      {trouble !== null && !isRestated && <Problem trouble={trouble} />}
      <Form
        asked={asked}
        end={run.end}
        names={['through', ...(isPartial ? ['allow_partial'] : []), ...(isRestated || isPartial ? ['reason'] : [])]}
        isReasoned={isRestated}
        isDone={isDone && trouble === null}
        findings={[...(trouble?.findings ?? []), ...createThroughFinding(wrong)]}
        onChange={setAsked}
      />
      <div class="flow gap-3 form-actions">
        {isRestated ? (
          <Button kind="danger" disabled={isDisabled || reason === ''} onClick={() => setAsking(true)}>
            Restate
          </Button>
        ) : (
          <Button
            kind={isDone ? 'plain' : 'main'}
            disabled={isDisabled}
            onClick={() => (last === null ? setAsking(true) : void publish({ ...asked, restate: false }))}
          >
            {isDone ? 'Compare with the log' : 'Publish'}
          </Button>
        )}
      </div>
      {isAsking && (
        <Asking
          id={id}
          isRestated={isRestated}
          detail={trouble?.detail ?? null}
          reason={reason}
          first={first ?? []}
          onConfirm={() => void publish({ ...asked, restate: isRestated })}
          onClose={() => setAsking(false)}
        />
      )}
    </Section>
  );
}

const COMPARISON = 'A comparison finds published closes that differ from the run, so that they can be restated.';

interface NotCurrentProps {
  readonly id: string;
  readonly first: readonly string[] | null;
}

/** States what an outdated run leaves to publish, and how. */
const NotCurrent = ({ id, first }: NotCurrentProps) => (
  <Section title="Publish" aside="the run is out of date">
    {first !== null &&
      (first.length === 0 ? (
        <p>Every close of this run has a published level. Run again to compare a current run with the log.</p>
      ) : (
        <p>
          {countValues(first.length, 'close')} to publish, <Dated from={first[0]!} to={first.at(-1)!} />. Run again,
          then publish.
        </p>
      ))}
    <p class="quiet">
      To publish an outdated run, open it in the tab{' '}
      <a href={formatAddress(formatIndexAddress(id), { tab: 'runs' })}>Runs</a>.
    </p>
  </Section>
);

const Dated = ({ from, to }: { readonly from: string; readonly to: string }) => (
  <>
    <span class="one-line">{from}</span> to <span class="one-line">{to}</span>
  </>
);

const createThroughFinding = (message: string | null): readonly Finding[] =>
  message === null ? [] : [{ severity: 'error', code: 'BAD_DATE', message, path: 'through' }];

interface FormProps {
  readonly asked: JsonObject;
  readonly end: string;
  readonly names: readonly string[];
  /** True if the reason is required. */
  readonly isReasoned: boolean;
  /** True if all closes are published. Then there is nothing to enter. */
  readonly isDone: boolean;
  readonly findings: readonly Finding[];
  onChange(request: JsonObject): void;
}

function Form({ asked, end, names, isReasoned, isDone, findings, onChange }: FormProps) {
  if (isDone) return <p class="quiet">{COMPARISON}</p>;
  return (
    <SchemaForm
      schema="PublishRequest"
      names={names}
      changes={{
        through: { label: 'Through', kind: 'date', otherwise: end },
        reason: { label: 'Why', isRequired: isReasoned },
        allow_partial: { label: 'Publish incomplete closes' },
      }}
      value={asked}
      findings={findings}
      onChange={onChange}
    />
  );
}

interface AskingProps {
  readonly id: string;
  readonly isRestated: boolean;
  readonly detail: Trouble['detail'];
  readonly reason: string;
  /** Dates to be published for the first time. */
  readonly first: readonly string[];
  onConfirm(): void;
  onClose(): void;
}

/**
 * Renders the confirmation of a publication. It lists everything that will be signed, because a publication cannot be
 * undone.
 */
function Asking({ id, isRestated, detail, reason, first, onConfirm, onClose }: AskingProps) {
  return (
    <Confirm
      title={isRestated ? `Restate published closes of ${id}?` : `Begin the published log of ${id}?`}
      action={isRestated ? 'Restate' : 'Publish'}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      {isRestated && <Sizes detail={detail} />}
      {isRestated && <p>Why: {reason}</p>}
      <p>{formatFirstPublication(first, isRestated)}</p>
    </Confirm>
  );
}

/** Returns the dates of the run that would be published for the first time. Returns null until they are known. */
function useFirstTimes(
  id: string,
  { through, last }: { readonly through: string | undefined; readonly last: string | null },
) {
  const levels = useLevels(id);
  return levels.data === undefined ? null : listFirstTimes(levels.data.levels.index, through, { last });
}

const formatSpan = (dates: readonly string[]): string =>
  `${countValues(dates.length, 'close')}, ${dates[0]} to ${dates.at(-1)}`;

const toCome = (first: readonly string[] | null) =>
  first !== null && first.length > 0 && `to publish: ${formatSpan(first)}`;

function formatFirstPublication(first: readonly string[], isRestated: boolean): string {
  if (first.length === 0) return 'No other closes are published.';
  const closesText = isRestated ? `Also published for the first time: ${formatSpan(first)}.` : `${formatSpan(first)}.`;
  return `${closesText} They are signed and permanent: a published close can be restated but never removed.`;
}

function RestatedCloses({ trouble: { message, detail } }: { readonly trouble: Trouble }) {
  return (
    <Banner kind="warning" title={message}>
      <p>Nothing was published. A restatement is appended to the log; it removes nothing.</p>
      <Sizes detail={detail} />
      <Dates detail={detail} />
    </Banner>
  );
}

/** Renders how many closes of the run differ from the log, and by how much. */
function Sizes({ detail }: { readonly detail: Trouble['detail'] }) {
  // Detail of the error RESTATEMENT.
  const {
    dates = [],
    total = dates.length,
    levels_changed: levels,
    largest,
  } = (detail ?? {}) as Partial<RefusedPublication>;
  return (
    <Facts
      facts={[
        ['Closes', formatCount(total)],
        ['From', dates[0] ?? null],
        ['Changed levels', levels === undefined ? null : formatCount(levels)],
        [
          'Largest change',
          largest === undefined ? null : largest === null ? 'no level' : <Largest largest={largest} />,
        ],
      ]}
    />
  );
}

function Dates({ detail }: { readonly detail: Trouble['detail'] }) {
  const { dates = [], total = dates.length } = (detail ?? {}) as Partial<RefusedPublication>;
  return (
    <details>
      <summary>Dates</summary>
      {dates.join(', ')}
      {total > dates.length && ` and ${formatCount(total - dates.length)} more`}
    </details>
  );
}

interface RefusedPublication {
  readonly dates: readonly string[];
  readonly total: number;
  readonly levels_changed: number;
  readonly largest: LargestChange | null;
}

interface LargestChange {
  readonly date: string;
  readonly variant: string;
  readonly published: number;
  readonly run: number;
  readonly change: number;
  readonly change_bps: number;
}

function Largest({
  largest: { date, variant, published, run, change, change_bps: bps },
}: {
  readonly largest: LargestChange;
}) {
  return (
    <>
      {formatDecimal(bps)} bp, {formatDecimal(change, 4)} points: {variant} {formatDecimal(published, 4)} →{' '}
      {formatDecimal(run, 4)} on {date}
    </>
  );
}

/** Result of a verification, and the hash of the last entry when it was made. */
interface VerificationState {
  readonly head: string;
  readonly verdict: LogVerdict;
}

/** Renders the verification of the log. The browser needs only the log and the public keys for it. */
function Verification({ id, entries }: LogProps) {
  const [found, setFound] = useState<VerificationState | null>(null);
  const [isBusy, setBusy] = useState(false);
  const last = entries.at(-1)!; // the section is rendered only if there are entries
  const verify = () =>
    tryAction(async () => {
      setBusy(true);
      try {
        const { keys } = await service.value.call('getPublishedKeys', { params: { index_id: id } });
        setFound({ head: last.hash, verdict: await verifyPublishedLog(entries, keys) });
      } finally {
        setBusy(false);
      }
    });
  return (
    <Section
      title="Verification"
      aside={
        canVerify() && (
          <Button disabled={isBusy} onClick={() => void verify()}>
            Verify here
          </Button>
        )
      }
    >
      {isBusy && <Wait what="the chain of hashes and its signatures" />}
      <Facts
        isWide
        facts={[
          ['State', <State verdict={found?.head === last.hash ? found.verdict : null} />],
          ['Head', <code style={{ overflowWrap: 'anywhere' }}>{last.hash}</code>],
          ['Signed by', <code>{last.key_id}</code>],
        ]}
      />
      <CommandLine id={id} />
    </Section>
  );
}

/** Media type of the downloaded log. The command that verifies logs reads it. */
const LOG_MEDIA = 'application/x-ndjson';

/** Renders the two files that a verification without a browser needs, and its command. */
function CommandLine({ id }: { readonly id: string }) {
  const params = { index_id: id };
  const save = (name: string, read: () => Promise<Uint8Array>) => () =>
    void tryAction(async () => saveFile(`${id}-${name}`, await read()));
  const command = `divisor verify-published ${id}-log.ndjson --key ${id}-keys.json`;
  return (
    <>
      <p>To verify without a browser, download both files and run the command in their folder.</p>
      <pre class="frame json-document" tabIndex={0} aria-label="Command of the verification" role="group">
        {command}
      </pre>
      <div class="flow gap-3 form-actions">
        <Button aria-label="Copy the command" onClick={() => void copyText(command, 'the command')}>
          Copy
        </Button>
        <Button onClick={save('log.ndjson', () => service.value.download('getPublished', LOG_MEDIA, { params }))}>
          Download the log
        </Button>
        <Button
          onClick={save('keys.json', () => service.value.download('getPublishedKeys', 'application/json', { params }))}
        >
          Public keys
        </Button>
      </div>
    </>
  );
}

function State({ verdict }: { readonly verdict: LogVerdict | null }) {
  if (verdict === null)
    return (
      <>
        {canVerify() ? 'not verified in this browser yet' : 'a browser can verify only over HTTPS or on this machine'}
      </>
    );
  const { sound, hasSignatures, fault } = verdict;
  if (fault !== null)
    return (
      <>
        <Badge kind="bad">broken</Badge> entry {sound + 1}: {fault}
      </>
    );
  return (
    <>
      <Badge kind="good">holds</Badge> {countValues(sound, 'entry', 'entries')}:{' '}
      {hasSignatures ? 'hashes and signatures' : 'hashes only; this browser does not support Ed25519 signatures'}
    </>
  );
}

/** Renders the published closes, the verification of their log, and the unpublished closes of the run. */
export function Publication({ id, run }: RunPartProps) {
  const log = useResource(`published ${id}`, (signal) => readLog(id, signal));
  const isEmpty = log.data === null;
  const entries = log.data?.entries ?? [];
  return (
    <div class="stack gap-4 index-part">
      {log.data === null ? (
        <Unpublished id={id} />
      ) : log.data === undefined && log.trouble !== null ? (
        <Problem trouble={log.trouble} onRetry={log.reload} />
      ) : (
        <Answered resource={log} what="the published log">
          {() => <Figures entries={entries} run={run} />}
        </Answered>
      )}
      <div
        class={
          entries.length > 0
            ? 'stack gap-4 index-part publication-next is-published'
            : 'stack gap-4 index-part publication-next'
        }
      >
        {entries.length > 0 && <Levels id={id} entries={entries} />}
        {log.data === undefined && !isEmpty ? null : may('publish') ? (
          <Publish id={id} run={run} last={isEmpty ? null : (findLatestClose(entries)?.date ?? '')} />
        ) : (
          <MayNot scope="publish" what="publish closes" />
        )}
        {isEmpty && <UnpublishedLevels id={id} />}
      </div>
      {entries.length > 0 && (
        <>
          <Verification id={id} entries={entries} />
          <Log id={id} entries={entries} />
        </>
      )}
      {isEmpty && <LinkCards label="More about publication" cards={createCards(id)} />}
      <p class="quiet">
        <GuideLink page="publish">How publication works</GuideLink>
        {' · '}
        <a href={formatGovernanceAddress('statements', id)}>Benchmark statement</a>
        {' · '}
        <a href={formatAddress(formatGovernanceAddress('errors'), { 'errors.q': id })}>Register of errors</a>
      </p>
    </div>
  );
}

/** Reads the published log. Returns null if nothing was ever published. */
async function readLog(id: string, signal: AbortSignal): Promise<PublishedLog | null> {
  const params = { index_id: id };
  const { has_published: isPublished } = await service.value.call('listRuns', { params, query: { limit: 1 }, signal });
  return isPublished === false ? null : await service.value.call('getPublished', { params, signal });
}

const createCards = (id: string): readonly LinkCard[] => [
  {
    icon: 'schedules',
    title: 'Publish each session',
    text: 'A schedule runs, checks and publishes the index after each close.',
    address: formatAddress('/console/schedules/new', { index: id }),
  },
  {
    icon: 'approvals',
    title: 'A second person',
    text: 'With approvals, a close is published once another person agrees.',
    address: '/console/approvals',
  },
  {
    icon: 'calendar',
    title: 'Calendar',
    text: 'Sessions, holidays and recorded closures of the exchange.',
    address: formatAddress('/console/calendar', { index: id }),
  },
];

/** Return variants of the published level. */
const VARIANTS = [
  { id: 'price', label: 'Price' },
  { id: 'total', label: 'Total' },
  { id: 'net', label: 'Net' },
] as const;

/** Maximum relative difference of two levels that can come from the rounding of doubles. */
const ROUNDING = 1e-12;

const areEqual = ({ net, total }: PublicationEntry): boolean =>
  net === total || (net !== null && total !== null && Math.abs(net / total - 1) < ROUNDING);

/** Renders the published levels. If a close was restated, its last published level is shown. */
function Levels({ id, entries }: LogProps) {
  const { dates, lines, isUntaxed } = useMemo(() => {
    const last = [...new Map(entries.map((entry) => [entry.date, entry])).values()].toSorted((a, b) =>
      a.date < b.date ? -1 : 1,
    );
    const isUntaxed = last.some(({ net }) => net !== null) && last.every(areEqual);
    const drawn = VARIANTS.filter(({ id: variant }) => !isUntaxed || variant !== 'net')
      .map((variant, k): Line => ({
        ...variant,
        values: last.map((entry) => entry[variant.id]),
        colour: k + 1,
      }))
      .filter(({ values }) => values.some((value) => value !== null));
    return { dates: last.map(({ date }) => date), lines: layerCovered(drawn), isUntaxed };
  }, [entries]);
  if (dates.length < 2) return null;
  return (
    <Section
      title="Published levels"
      aside={`${dates[0]} to ${dates.at(-1)}${isUntaxed ? '; net levels equal total levels' : ''}`}
    >
      <Chart label={`Published levels of ${id}`} dates={dates} lines={lines} height={220} />
    </Section>
  );
}

interface FiguresProps {
  readonly entries: readonly PublicationEntry[];
  readonly run: OverviewView;
}

function Figures({ entries, run }: FiguresProps) {
  const last = entries.at(-1);
  const latest = findLatestClose(entries);
  const ownPublication =
    VARIANTS.find(({ id }) => id === run.return_variant && latest?.[id] != null) ??
    VARIANTS.find(({ id }) => latest?.[id] != null);
  const restated = entries.filter(({ kind }) => kind === 'restatement');
  const restatementCount = new Set(restated.map(({ at }) => at)).size;
  return (
    <Metrics
      label="Figures of the published log"
      metrics={[
        { term: 'Published through', value: latest?.date ?? '–', note: `the run ends on ${run.end}` },
        {
          term: 'Latest level',
          value: formatDecimal((ownPublication && latest?.[ownPublication.id]) ?? null, 2),
          note: latest && ownPublication && `${returnText(ownPublication.id)}, ${latest.date}`,
        },
        { term: 'Closes', value: formatCount(entries.length - restated.length) },
        {
          term: 'Restatements',
          value: formatCount(restatementCount),
          kind: restatementCount > 0 ? 'down' : '',
          note: restatementCount > 0 ? `${countValues(restated.length, 'close')} restated` : undefined,
        },
        {
          term: 'Last published',
          value: last === undefined ? '–' : createMomentFigure(last.at).value,
          note: last && `${createMomentFigure(last.at).note} by ${last.author}`,
        },
      ]}
    />
  );
}
