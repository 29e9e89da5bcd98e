import { listRows } from '../../components/form/row-list.js';
import { countValues } from '../../words/numbers.js';
import { useSchemas } from '../../state/schemas.js';
import type { JsonObject } from '../../words/paths.js';
import { stepWords } from './step-words.js';

interface ScheduleSentenceProps {
  readonly document: JsonObject;
  /** Time zone of the schedule; undefined until it is known. */
  readonly zone: string | undefined;
}

/** Renders the steps of a schedule, the begin of its days, and the effect of enabling it. */
export function ScheduleSentence({ document, zone = '' }: ScheduleSentenceProps) {
  const schemas = useSchemas();
  const { indices, calendar, at, enabled } = document;
  const caughtUp = document['catch_up'] ?? schemas.data?.['ScheduleBody']?.properties?.['catch_up']?.default;
  if (caughtUp === undefined) return null;
  const count = Array.isArray(indices) ? indices.length : 0;
  const steps = listRows(document['steps']).map(({ type }) => stepWords(String(type)));
  const sessions = `up to ${countValues(Number(caughtUp), 'missed session')}`;
  return (
    <p>
      {count === 0 ? 'No index yet' : countValues(count, 'index', 'indices')}, at {String(at)} {zone} after each session
      of {String(calendar)}: {steps.join(' → ')}.{' '}
      {enabled === true
        ? `Days begin by themselves; after an outage, ${sessions} run.`
        : `Does not run until it is enabled. Once enabled, ${sessions} since its first session run first.`}
    </p>
  );
}
