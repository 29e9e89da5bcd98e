import type { Approval } from '#clients/typescript/divisor.js';
import { formatCount } from '#domain/catalogue/sentence-numbers.js';

type Facts = NonNullable<Approval['facts']>;
type FactsOf<K extends Facts['kind']> = Extract<Facts, { readonly kind: K }>;
type Levels = FactsOf<'publish'>['close'];

/** Returns the facts of a request as lines for the person who approves or rejects it. */
export function formatFacts(facts: Approval['facts']): string[] {
  if (facts === null) return [];
  switch (facts.kind) {
    case 'publish':
    case 'restate':
      return formatCloseFacts(facts);
    case 'amend':
      return formatAmendFacts(facts);
    case 'action':
      return formatActionFacts(facts);
    case 'override':
      return [
        `Price: ${formatText(facts.before)} to ${formatText(facts.price)}${facts.change === null ? '' : ` (${formatBps(1e4 * facts.change)})`}`,
        `Reason: ${facts.reason}`,
      ];
    case 'waive':
      return [
        `${formatCount(facts.total, 'finding')}:`,
        ...facts.findings.map(({ index_id: index, message, measure }) => {
          const comparison =
            measure && ` (${formatFigure(measure.value)}, limit ${formatFigure(measure.limit)} ${measure.unit})`;
          return `  ${index}: ${message}${comparison ?? ''}`;
        }),
        `Reason: ${facts.reason}`,
      ];
  }
}

function formatCloseFacts(facts: FactsOf<'publish' | 'restate'>): string[] {
  const { first, last, published, restated, close, previous } = facts;
  const lines = [
    `Dates: ${first} to ${last}; ${formatCount(published, 'new close')}, ${restated} published again`,
    `Levels of ${last}: ${formatLevels(close)}`,
    ...(previous === null ? [] : [`Levels of ${previous.date}: ${formatLevels(previous)}`]),
  ];
  if (facts.kind === 'publish') return lines;
  const { latest, largest, levels_changed: changedLevels, reason } = facts;
  return [
    ...lines,
    `Dates with changed levels: ${changedLevels}`,
    `Before on ${latest.date}: ${formatLevels(latest.before)}`,
    `After on ${latest.date}: ${formatLevels(latest.after)}`,
    ...(largest === null
      ? ['No level changes. Only the divisor or the composition differ.']
      : [
          `Largest difference: ${largest.variant} on ${largest.date} from ${largest.published} to ${largest.run} (${formatBps(largest.change_bps)})`,
        ]),
    `Reason: ${reason ?? '-'}`,
  ];
}

function formatAmendFacts({ deletes, index_id: id, changes }: FactsOf<'amend'>): string[] {
  if (deletes) return [`${id} is deleted.`];
  return changes.flatMap(({ effective_from: from, announced, reason, fields, removed, added }) => [
    from === null
      ? 'The whole history changes:'
      : `From ${from} on${announced === null ? '' : `, announced on ${announced}`}:`,
    ...fields.map(({ field, before, after }) => `  ${field}: ${formatText(before)} to ${formatText(after)}`),
    ...removed.map((sentence) => `  No longer applies: ${sentence}`),
    ...added.map((sentence) => `  New: ${sentence}`),
    ...(reason === null ? [] : [`  Reason: ${reason}`]),
  ]);
}

function formatActionFacts({ decision, terms, differences, effects }: FactsOf<'action'>): string[] {
  const presentTerms = Object.entries(terms).filter(([, value]) => value !== null);
  return [
    `Decision: ${decision}`,
    `Terms: ${presentTerms.map(([name, value]) => `${name} ${value}`).join(', ')}`,
    ...differences,
    ...effects.map(
      ({ index_id: id, state, ...effect }) =>
        `${id} (${state}): weight ${formatText(effect.weight_before)} to ${formatText(effect.weight_after)}, shares ${formatText(effect.shares_before)} to ${formatText(effect.shares_after)}, divisor ${formatText(effect.divisor_before)} to ${formatText(effect.divisor_after)}`,
    ),
  ];
}

const formatLevels = (approvedLevels: Levels): string =>
  (['price', 'total', 'net'] as const)
    .flatMap((name) => (approvedLevels[name] === null ? [] : [`${name} ${approvedLevels[name]}`]))
    .join(', ');
const formatFigure = (value: number): string => String(Number(value.toPrecision(6)));
const formatBps = (value: number): string => `${formatFigure(value)} bp`;
const formatText = (value: unknown): string =>
  value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
