import type { StaleState } from '#clients/typescript/divisor.js';

/** Beginning of a reason about the data or the engine. */
const OTHER = /^The (?:store|run was made) /;

/** Returns what changed since a run: `calendar changed`. Its page has the full sentences. */
export function staleWord({ definition, data, engine, reasons }: StaleState): string {
  // Changes of a calendar are part of the definition.
  const ofDefinition = reasons.filter((reason) => !OTHER.test(reason));
  const ofCalendar = ofDefinition.filter((reason) => reason.startsWith('The calendar '));
  const parts = [
    definition && ofCalendar.length > 0 && 'calendar',
    definition && (ofCalendar.length === 0 || ofCalendar.length < ofDefinition.length) && 'definition',
    data && 'data',
    engine && 'engine',
  ].filter(Boolean);
  return parts.length === 0 ? 'out of date' : `${parts.join(', ')} changed`;
}
