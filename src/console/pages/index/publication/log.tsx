import type { PublicationEntry } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { Section } from '../../../components/page.js';
import { Table } from '../../../components/table/table.js';
import { createNumericColumn, type Column } from '../../../components/table/columns.js';
import { getParameter, setParameters } from '../../../state/location.js';
import { formatMoment } from '../../../words/dates.js';
import { countValues, formatChange, formatCount, formatDecimal, formatFigure } from '../../../words/numbers.js';
import { listPublications, type ChangedEntry, type LoggedPublication } from '../../../words/publication.js';

interface LogProps {
  readonly id: string;
  readonly entries: readonly PublicationEntry[];
}

/** Renders the published log. A row is a publication, which opens the list of its closes. */
export function Log({ id, entries }: LogProps) {
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
            searchIn: ({ from, to, entries: [first] }: Publication) =>
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
type Publication = LoggedPublication<PublicationEntry>;

/** Width in pixels from which a publication fits into one line. */
const ONE_LINE_MIN = 1130;

/** Number of publications above which they can be searched. */
const SEARCHED_MIN = 8;

/** Returns the number of the first entry, which identifies a publication. */
const getKey = ({ entries: [first] }: Publication): string => String(first!.seq);

/** Formats the numbers of the entries of a publication, for example `12–14`. */
function formatNumbers({ entries }: Publication): string {
  const [first, last] = [entries[0]!.seq, entries.at(-1)!.seq];
  return first === last ? formatCount(first) : `${formatCount(first)}–${formatCount(last)}`;
}

/** Renders the closes of a publication. */
function Closes({ id, publication }: { readonly id: string; readonly publication: Publication }) {
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

const formatDates = ({ from, to }: Publication): string => (from === to ? to : `${from} to ${to}`);

const createColumns = (openKey: string | null): readonly Column<Publication>[] => [
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

const COLUMNS: readonly Column<Publication>[] = [
  {
    id: 'kind',
    title: 'Kind',
    width: 112,
    value: ({ entries: [first] }) => first!.kind,
    show: ({ entries: [first] }) => (
      <Badge kind={first!.kind === 'restatement' ? 'warning' : 'plain'}>{first!.kind}</Badge>
    ),
  },
  createNumericColumn({
    id: 'closes',
    title: 'Closes',
    width: 72,
    of: ({ entries }) => entries.length,
    write: formatCount,
  }),
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
  { id: 'date', title: 'Close of', width: 96, value: ({ date }) => date },
  {
    id: 'seq',
    title: 'Entry',
    width: 72,
    align: 'right',
    value: ({ seq }) => seq,
    show: ({ seq }) => formatCount(seq),
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
    priority: 2,
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
];
