import type { OverviewView, PublicationEntry, PublishedLog } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { Chart } from '../../../components/chart/chart.js';
import { layerCovered, type Line } from '../../../components/chart/series.js';
import { GuideLink } from '../../../components/guide-link.js';
import { LinkCards, type LinkCard } from '../../../components/link-cards.js';
import { MayNot } from '../../../components/may-not.js';
import { Metrics } from '../../../components/metrics.js';
import { Section } from '../../../components/page.js';
import { Problem } from '../../../components/problem.js';
import { Table } from '../../../components/table/table.js';
import { createNumericColumn, type Column } from '../../../components/table/columns.js';
import { Answered } from '../../../components/wait.js';
import { attempt } from '../../../state/actions.js';
import { saveFile } from '../../../state/files.js';
import { formatAddress } from '../../../state/location.js';
import { may } from '../../../state/principal.js';
import { useResource } from '../../../state/resource.js';
import { service } from '../../../state/service.js';
import { formatGovernanceAddress } from '../../../words/addresses.js';
import { formatMoment, createMomentFigure } from '../../../words/dates.js';
import { formatChange, formatCount, formatDecimal, formatFigure } from '../../../words/numbers.js';
import { findLatestClose } from '../../../words/publication.js';
import { returnText } from '../../../words/returns.js';
import { Publish } from './publish.js';
import { Unpublished, UnpublishedLevels } from './unpublished.js';
import { Verification } from './verification.js';
import './publication.css';

interface PublicationProps {
  readonly id: string;
  readonly run: OverviewView;
}

/** Renders the published closes, the verification of their log, and the unpublished closes of the run. */
export function Publication({ id, run }: PublicationProps) {
  const log = useResource(`published ${id}`, (signal) => readLog(id, signal));
  const isEmpty = log.data === null;
  const entries = log.data?.entries ?? [];
  const rows = useMemo(() => addChanges(log.data?.entries ?? []), [log.data]);
  return (
    <div class="index-part">
      {log.data === null ? (
        <Unpublished id={id} />
      ) : log.data === undefined && log.trouble !== null ? (
        <Problem trouble={log.trouble} onRetry={log.reload} />
      ) : (
        <Answered resource={log} what="the published log">
          {() => <Figures entries={entries} run={run} />}
        </Answered>
      )}
      <div class={entries.length > 0 ? 'publication-next is-published' : 'publication-next'}>
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
          <Section title="Published log" aside={<Files id={id} />}>
            <Table
              label={`published closes of ${id}`}
              name="published"
              columns={COLUMNS}
              rows={rows}
              getKey={({ seq }) => String(seq)}
              searchIn={({ date, kind, author, reason }) => `${date} ${kind} ${author} ${reason ?? ''}`}
              sort={{ column: 'seq', direction: 'desc' }}
              height={420}
            />
          </Section>
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

interface LevelsProps {
  readonly id: string;
  readonly entries: readonly PublicationEntry[];
}

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
function Levels({ id, entries }: LevelsProps) {
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
  const restatedCount = entries.filter(({ kind }) => kind === 'restatement').length;
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
        { term: 'Closes', value: formatCount(entries.length - restatedCount) },
        { term: 'Restatements', value: formatCount(restatedCount), kind: restatedCount > 0 ? 'down' : '' },
        {
          term: 'Last published',
          value: last === undefined ? '–' : createMomentFigure(last.at).value,
          note: last && `${createMomentFigure(last.at).note} by ${last.author}`,
        },
      ]}
    />
  );
}

/** Media type of the downloaded log. The command that verifies logs reads it. */
const LOG_MEDIA = 'application/x-ndjson';

/** Renders downloads of the two files that a verification needs. */
function Files({ id }: { readonly id: string }) {
  const params = { index_id: id };
  const save = (name: string, read: () => Promise<Uint8Array>) => () =>
    void attempt(async () => saveFile(`${id}-${name}`, await read()));
  return (
    <>
      <Button onClick={save('log.ndjson', () => service.value.download('getPublished', LOG_MEDIA, { params }))}>
        Download the log
      </Button>
      <Button
        onClick={save('keys.json', () => service.value.download('getPublishedKeys', 'application/json', { params }))}
      >
        Public keys
      </Button>
    </>
  );
}

const formatLevel = (value: number | null) => formatDecimal(value, 4);

interface LogRow extends PublicationEntry {
  /** Relative change of a restated level to the level that it replaces; null for a first publication. */
  readonly change: number | null;
}

/** Adds to each restatement the change to the entry that it replaces. */
function addChanges(entries: readonly PublicationEntry[]): readonly LogRow[] {
  const replaced = new Map<string, PublicationEntry>();
  return entries.map((entry) => {
    const before = replaced.get(entry.date);
    replaced.set(entry.date, entry);
    const variant = VARIANTS.find(({ id }) => entry[id] !== null && before?.[id] != null)?.id;
    return { ...entry, change: variant === undefined ? null : entry[variant]! / before![variant]! - 1 };
  });
}

const COLUMNS: readonly Column<LogRow>[] = [
  { id: 'seq', title: 'No.', width: 64, align: 'right', value: ({ seq }) => seq, show: ({ seq }) => formatCount(seq) },
  { id: 'date', title: 'Close of', width: 96, value: ({ date }) => date },
  {
    id: 'kind',
    title: 'Kind',
    width: 104,
    priority: 4,
    value: ({ kind }) => kind,
    show: ({ kind }) => <Badge kind={kind === 'restatement' ? 'warning' : 'plain'}>{kind}</Badge>,
  },
  createNumericColumn({
    id: 'price',
    title: 'Price',
    width: 100,
    priority: 3,
    of: (row) => row.price,
    write: formatLevel,
  }),
  createNumericColumn({ id: 'total', title: 'Total', width: 100, of: (row) => row.total, write: formatLevel }),
  createNumericColumn({ id: 'net', title: 'Net', width: 100, priority: 5, of: (row) => row.net, write: formatLevel }),
  createNumericColumn({
    id: 'change',
    title: 'Against earlier level',
    help: 'Relative change of a restated level to the level that it replaces',
    width: 140,
    priority: 4,
    of: ({ change }) => change,
    write: formatChange,
  }),
  createNumericColumn({
    id: 'divisor',
    title: 'Divisor',
    width: 120,
    priority: 7,
    of: ({ divisor }) => divisor,
    write: formatFigure,
  }),
  { id: 'at', title: 'Published', width: 176, priority: 6, value: ({ at }) => at, show: ({ at }) => formatMoment(at) },
  {
    id: 'reason',
    title: 'Reason for the restatement',
    width: 110,
    grow: 2,
    priority: 2,
    value: ({ reason }) => reason,
    show: ({ reason }) => <span title={reason ?? undefined}>{reason}</span>,
  },
];
