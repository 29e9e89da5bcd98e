import type { Route } from '#contract/route.js';
import { UsageError } from '../usage-error.js';
import { RUN } from './analytics.js';
import { viewCommand } from './view-command.js';

/** Operations that are views of a stored run by GET, by the name of the view. The routes are loaded when they are asked for. */
async function operations(): Promise<ReadonlyMap<string, string>> {
  const { API } = await import('#contract/api.js');
  return new Map(
    Object.entries<Route>(API).flatMap(([operation, { view, method }]) =>
      view !== undefined && method === 'GET' ? [[view.name, operation] as const] : [],
    ),
  );
}

/** Any view of a stored run with the parameters of its route: a new view has its command with its route. */
export const view = viewCommand({
  summary: 'Any view of a stored run, by its name and the parameters of its route.',
  words: [
    { name: 'VIEW', help: 'Name of the view, such as levels or dividend-points; an unknown one lists them all.' },
    { name: 'INDEX', help: 'Id of an index or strategy with a stored run.' },
  ],
  flags: {
    ...RUN,
    with: {
      type: 'string',
      value: 'NAME=VALUE,...',
      help: 'Parameters of the route, with commas between them, such as start=2024-01-02,by=SECTOR.',
    },
  },
  examples: [
    'divisor view dividend-points CORE-100 --with start=2024-01-02',
    'divisor view exposures CORE-100 --with by=SECTOR,interval=monthly --out exposures.json',
  ],
  notes: 'Rows are those of the first table of the answer; --out writes the whole answer as JSON.',
  async ask(client, [name = '', index_id = ''], flags) {
    const known = await operations();
    const operation = known.get(name);
    if (operation === undefined)
      throw new UsageError(`There is no view ${name}; there are ${[...known.keys()].toSorted().join(', ')}.`);
    const given = parametersOf(flags.text('with') ?? '');
    const { date, identifier, ...query } = given;
    const params = {
      index_id,
      ...(date === undefined ? {} : { date }),
      ...(identifier === undefined ? {} : { identifier }),
    };
    const call = client.call as unknown as Call; // The operation is not known when this is compiled.
    return call(operation, { params, query: { run_id: flags.text('run-id'), ...query } });
  },
  records: rowsOf,
});

type Call = (operation: string, request: object) => Promise<Readonly<Record<string, unknown>>>;

function parametersOf(text: string): Readonly<Record<string, string>> {
  const parts = text.split(',').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf('=');
      if (at < 1) throw new UsageError(`--with takes NAME=VALUE with commas between them; ${part} has no name.`);
      return [part.slice(0, at), part.slice(at + 1)];
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

/** The first table of an answer: a frame by date, or a list of objects; else its members. */
function rowsOf(answer: Readonly<Record<string, unknown>>): readonly object[] {
  const members = Object.values(answer);
  const frame = members.find(isFrame);
  if (frame !== undefined)
    return frame.index.map((date, t) => ({
      date,
      ...Object.fromEntries(frame.columns.map((column, c) => [column, frame.data[t]?.[c] ?? null])),
    }));
  return members.find(isRows) ?? [answer];
}
