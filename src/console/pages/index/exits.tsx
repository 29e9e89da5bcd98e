import type { IndexAction } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { nameColumn } from '../../components/name-column.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { useNames, type NameFacts } from '../../state/names.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { formatType } from '../../words/actions.js';
import { formatChange, formatFigure } from '../../words/numbers.js';
import { useNameAddress } from './use-name-address.js';

interface Exit {
  readonly date: string;
  readonly identifier: string;
  readonly effect: number | null;
  readonly divisorBefore: number | null;
  readonly divisorAfter: number | null;
  /** True if the security had no price for too long, and no corporate action ended it. */
  readonly isSilent: boolean;
}

interface ExitsProps {
  readonly id: string;
  /** Listed corporate actions, which are the reasons of exits. */
  readonly actions: readonly IndexAction[];
}

/** Renders the securities that left between rebalances, with or without a corporate action. */
export function Exits({ id, actions }: ExitsProps) {
  const range = findChosenRange();
  const view = useResource(
    `exits of ${formatRunKey(id)} ${range?.from} ${range?.to}`,
    (signal) => readExits(id, signal),
    {
      keeps: true,
    },
  );
  if (view.data?.length === 0) return null;
  return (
    <Section title="Constituents that left between rebalances" aside="with the change of the divisor">
      <Answered resource={view} what="the securities that left">
        {(exits) => <ExitTable id={id} exits={exits} actions={actions} />}
      </Answered>
    </Section>
  );
}

function ExitTable({ id, exits, actions }: ExitsProps & { readonly exits: readonly Exit[] }) {
  const formatNameAddress = useNameAddress();
  const facts = useNames(
    exits.map(({ identifier }) => identifier),
    exits.reduce((latest, { date }) => (date > latest ? date : latest), ''),
  );
  return (
    <Table
      label={`securities that left ${id}`}
      columns={createExitColumns(facts, actions)}
      rows={exits}
      getKey={({ date, identifier }) => `${date} ${identifier}`}
      formatAddress={({ identifier }) => formatNameAddress(identifier)}
      sort={{ column: 'date', direction: 'desc' }}
      height={320}
    />
  );
}

async function readExits(id: string, signal: AbortSignal): Promise<readonly Exit[]> {
  const range = findChosenRange();
  const run = readShownRun();
  const [{ columns, data }, { findings }] = await Promise.all([
    service.value.call('exportRun', {
      params: { index_id: id, table: 'events' },
      query: { ...run, ...(range === null ? {} : { start: range.from, end: range.to }), format: 'json' },
      signal,
    }),
    service.value.call('listRebalances', { params: { index_id: id }, query: run, signal }),
  ]);
  const getCell = (row: readonly unknown[], name: string) => row[columns.indexOf(name)];
  const findNumber = (row: readonly unknown[], name: string) => getCell(row, name) as number | null; // these columns contain numbers or null
  return data
    .filter((row) => getCell(row, 'type') === 'exit')
    .map((row) => {
      const [date, identifier] = [String(getCell(row, 'date')), String(getCell(row, 'identifier'))];
      return {
        date,
        identifier,
        effect: findNumber(row, 'effect'),
        divisorBefore: findNumber(row, 'divisor_before'),
        divisorAfter: findNumber(row, 'divisor_after'),
        isSilent: findings.some(
          ({ code, places, first_date: leftOn }) =>
            code === 'SILENT_DELISTING' && leftOn === date && places?.includes(identifier),
        ),
      };
    });
}

/** Returns the reason of an exit: the corporate action that ended the holding, if it is listed. */
function formatReason({ date, identifier, isSilent }: Exit, actions: readonly IndexAction[]): string {
  if (isSilent) return 'No price for too long';
  const action = actions.find((one) => one.ex_date === date && one.identifier === identifier && one.weight_after === 0);
  if (action === undefined) return 'Corporate action, such as a delisting or a merger';
  return action.related === null ? formatType(action.type) : `${formatType(action.type)} (${action.related})`;
}

const createExitColumns = (
  facts: ReadonlyMap<string, NameFacts>,
  actions: readonly IndexAction[],
): readonly Column<Exit>[] => [
  { id: 'date', title: 'At the close of', width: 110, value: ({ date }) => date },
  { ...nameColumn(facts), width: 110, grow: 2 },
  {
    id: 'reason',
    title: 'Reason',
    width: 150,
    grow: 2,
    value: (exit) => formatReason(exit, actions),
  },
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
    show: ({ divisorBefore: before, divisorAfter: after }) =>
      formatFigure(before) === formatFigure(after)
        ? formatFigure(after)
        : `${formatFigure(before)} → ${formatFigure(after)}`,
  },
];
