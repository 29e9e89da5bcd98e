import type { Judgements } from '#clients/typescript/divisor.js';
import { Bars } from '../../components/bars.js';
import { Section } from '../../components/page.js';
import type { Column } from '../../components/table/columns.js';
import { formatScheduleAddress } from '../../words/addresses.js';
import { createMomentFigure, formatMoment } from '../../words/dates.js';
import { formatCount } from '../../words/numbers.js';

/** Columns with the time of a decision; narrow tables show only the day. */
export const DECISION_COLUMNS: readonly Column<{ readonly at: string }>[] = [
  {
    id: 'at',
    title: 'Decided',
    width: 94,
    value: ({ at }) => at,
    show: ({ at }) => <span title={formatMoment(at)}>{createMomentFigure(at).value}</span>,
  },
  {
    id: 'time',
    title: 'Time',
    width: 84,
    priority: 5,
    below: 'nothing',
    value: ({ at }) => at,
    show: ({ at }) => createMomentFigure(at).note,
  },
];

/** Renders the number of decisions about each schedule, unless all numbers are equal. */
export function BySchedule({ rows }: { readonly rows: Judgements['judgements'] }) {
  const counts = new Map<string, number>();
  for (const { schedule_id: id } of rows) counts.set(id, (counts.get(id) ?? 0) + 1);
  if (new Set(counts.values()).size < 2) return null;
  const bars = [...counts].map(([id, value]) => ({ label: id, value, address: formatScheduleAddress(id) }));
  return (
    <Section title="Decisions by schedule">
      <Bars
        label="Decisions by schedule"
        bars={bars.toSorted((a, b) => b.value - a.value)}
        isPlain
        format={formatCount}
      />
    </Section>
  );
}
