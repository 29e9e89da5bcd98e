import type { Route } from '#contract/route.js';
import { UsageError } from '../usage-error.js';
import { RUN } from './analytics.js';
import { createViewCommand } from './view-command.js';

/** Returns the GET operations of the views of a stored run, by name. The routes are loaded when this is called. */
async function listOperations(): Promise<ReadonlyMap<string, string>> {
  const { API } = await import('#contract/api.js');
  return new Map(
    Object.entries<Route>(API).flatMap(([operation, { view, method }]) =>
      view !== undefined && method === 'GET' ? [[view.name, operation] as const] : [],
    ),
  );
}

/** Shows any view of a stored run, with the parameters of its route. A new view therefore needs no separate command. */
export const view = createViewCommand({
  summary: 'Print any view of a stored run, by its name and the parameters of its route.',
  words: [
    {
      name: 'VIEW',
      help: 'Name of the view, such as levels or dividend-points. For a list of all views, enter an unknown name.',
    },
    { name: 'INDEX', help: 'Id of an index or strategy with a stored run.' },
  ],
  flags: {
    ...RUN,
    with: {
      type: 'string',
      value: 'NAME=VALUE,...',
      help: 'Parameters of the route, separated by commas, such as start=2024-01-02,by=SECTOR.',
    },
  },
  examples: [
    'divisor view dividend-points CORE-100 --with start=2024-01-02',
    'divisor view exposures CORE-100 --with by=SECTOR,interval=monthly --out exposures.json',
  ],
  notes: 'The command shows the rows of the first table of the response. --out writes the whole response as JSON.',
  async ask(client, [name = '', index_id = ''], flags) {
    const operations = await listOperations();
    const operation = operations.get(name);
    if (operation === undefined)
      throw new UsageError(`Unknown view ${name}; the views are ${[...operations.keys()].toSorted().join(', ')}.`);
    const parameterValues = parseParameters(flags.text('with') ?? '');
    const { date, identifier, ...query } = parameterValues;
    const params = {
      index_id,
      ...(date === undefined ? {} : { date }),
      ...(identifier === undefined ? {} : { identifier }),
    };
    const call = client.call as unknown as SendOperation; // The operation is unknown at compile time.
    return call(operation, { params, query: { run_id: flags.text('run-id'), ...query } });
  },
  records: listRows,
});

type SendOperation = (operation: string, request: object) => Promise<Readonly<Record<string, unknown>>>;

function parseParameters(text: string): Readonly<Record<string, string>> {
  const parts = text.split(',').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const separator = part.indexOf('=');
      if (separator < 1)
        throw new UsageError(`--with takes NAME=VALUE pairs, separated by commas; ${part} has no name.`);
      return [part.slice(0, separator), part.slice(separator + 1)];
    }),
  );
}

interface Frame {
  readonly index: readonly string[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

const isFrame = (value: unknown): value is Frame =>
  typeof value === 'object' && value !== null && 'index' in value && 'columns' in value && 'data' in value;

const isRows = (value: unknown): value is readonly object[] =>
  Array.isArray(value) && value.length > 0 && value.every((row) => typeof row === 'object' && row !== null);

/**
 * Returns the rows of the first table of a response: a table by date, or a list of objects. If there is no table,
 * returns the members of the response.
 */
function listRows(answer: Readonly<Record<string, unknown>>): readonly object[] {
  const members = Object.values(answer);
  const frame = members.find(isFrame);
  if (frame !== undefined)
    return frame.index.map((date, t) => ({
      date,
      ...Object.fromEntries(frame.columns.map((column, c) => [column, frame.data[t]?.[c] ?? null])),
    }));
  return members.find(isRows) ?? [answer];
}
