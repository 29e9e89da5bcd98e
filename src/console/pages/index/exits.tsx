import { nameColumn } from '../../components/name-column.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { useNames, type NameFacts } from '../../state/names.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { formatChange, formatFigure } from '../../words/numbers.js';
import { useNameAddress } from './use-name-address.js';

interface Exit {
  readonly date: string;
  readonly identifier: string;
  readonly effect: number | null;
  readonly divisorBefore: number | null;
  readonly divisorAfter: number | null;
}

/** Renders the securities that left between rebalances, with or without a corporate action. */
export function Exits({ id }: { readonly id: string }) {
  const formatNameAddress = useNameAddress();
  const range = findChosenRange();
  const view = useResource(
    `exits of ${formatRunKey(id)} ${range?.from} ${range?.to}`,
    (signal) => readExits(id, signal),
    {
      keeps: true,
    },
  );
  const facts = useNames(view.data?.map(({ identifier }) => identifier) ?? [], view.data?.at(-1)?.date);
  if (view.data?.length === 0) return null;
  return (
    <Section
      title="Left between rebalances"
      aside="securities that were delisted, acquired or without a price for too long; the divisor was adjusted"
    >
      <Answered resource={view} what="the securities that left">
        {(exits) => (
          <Table
            label={`securities that left ${id}`}
            columns={createColumns(facts)}
            rows={exits}
            getKey={({ date, identifier }) => `${date} ${identifier}`}
            formatAddress={({ identifier }) => formatNameAddress(identifier)}
            sort={{ column: 'date', direction: 'desc' }}
            height={320}
          />
        )}
      </Answered>
    </Section>
  );
}

async function readExits(id: string, signal: AbortSignal): Promise<readonly Exit[]> {
  const range = findChosenRange();
  const { columns, data } = await service.value.call('exportRun', {
    params: { index_id: id, table: 'events' },
    query: { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }), format: 'json' },
    signal,
  });
  const getCell = (row: readonly unknown[], name: string) => row[columns.indexOf(name)];
  const findNumber = (row: readonly unknown[], name: string) => getCell(row, name) as number | null; // these columns contain numbers or null
  return data
    .filter((row) => getCell(row, 'type') === 'exit')
    .map((row) => ({
      date: String(getCell(row, 'date')),
      identifier: String(getCell(row, 'identifier')),
      effect: findNumber(row, 'effect'),
      divisorBefore: findNumber(row, 'divisor_before'),
      divisorAfter: findNumber(row, 'divisor_after'),
    }));
}

const createColumns = (facts: ReadonlyMap<string, NameFacts>): readonly Column<Exit>[] => [
  { id: 'date', title: 'At the close of', width: 110, value: ({ date }) => date },
  nameColumn(facts),
  createNumericColumn({
    id: 'effect',
    title: 'Effect on divisor',
    help: 'Relative change of the divisor caused by the removed market value',
    width: 140,
    of: ({ effect }) => effect,
    write: (value) => formatChange(value, 4),
  }),
  {
    id: 'divisor',
    title: 'Divisor',
    help: 'Before and after all events of the session',
    width: 170,
    priority: 2,
    align: 'right',
    value: (row) => row.divisorAfter,
    show: (row) => `${formatFigure(row.divisorBefore)} → ${formatFigure(row.divisorAfter)}`,
  },
];
