import { formatDay } from '../../days.js';
import { sourceOf, type Shared } from './datapoint-sources.js';
import { DEFAULT_WINDOW, type FieldRequest } from './field-request.js';
import { latestSession } from './latest-values.js';
import { resolve } from './resolution.js';

/** The dates behind one value: of the bars, rows or events it was read from. */
export interface DatapointRead {
  /** First date read; equals `to` for a single value; null when nothing was found. */
  readonly from: string | null;
  readonly to: string | null;
  /** Values found between them. */
  readonly observations: number;
}

export function datapointRead(
  shared: Shared,
  { field, column, session }: { readonly field: FieldRequest; readonly column: number; readonly session: number },
): DatapointRead {
  const { sm, terms } = shared;
  const nothing: DatapointRead = { from: null, to: null, observations: 0 };
  const end = session - field.lag;
  if (end < 0) return nothing;
  const dateOf = (position: number) => formatDay(sm.sessions[position]!);
  const found = resolve(sm.market, field);
  if ('dataset' in found && found.dataset === 'reference' && field.aggregate === 'last') {
    const spell = shared.spellsOf(field.name)[column]!.findLast(({ from }) => from <= sm.sessions[end]!);
    if (spell === undefined || spell.value === null) return nothing;
    const since = spell.from === -Infinity ? null : formatDay(spell.from);
    return { from: since, to: since, observations: 1 };
  }
  const source = sourceOf(shared, field);
  if (source.kind === 'series' && field.aggregate === 'last') {
    const { series } = source;
    const at = latestSession({ sm, series, end, column, maxStaleSessions: terms.maxStaleSessions });
    return at < 0 ? nothing : { from: dateOf(at), to: dateOf(at), observations: 1 };
  }
  const trailing = source.kind === 'series' ? source.trailing : shared.table.returns();
  const length = field.window ?? DEFAULT_WINDOW;
  const cell = new Float64Array(1);
  const one = Int32Array.of(column);
  const read: number[] = [];
  for (let position = Math.max(0, end - length + 1); position <= end; position++) {
    trailing.fill(position, one, cell);
    if (!Number.isNaN(cell[0]!)) read.push(position);
  }
  return read.length === 0 ? nothing : { from: dateOf(read[0]!), to: dateOf(read.at(-1)!), observations: read.length };
}
