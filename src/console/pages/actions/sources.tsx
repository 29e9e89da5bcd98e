import type { DeskActionDetail } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { WrittenTable } from '../../components/versions/change-table.js';
import { formatActionValue } from '../../words/actions.js';
import { MISSING_TEXT } from '../../words/numbers.js';

type Source = DeskActionDetail['decisions'][number]['sources'][number];
type Terms = Pick<DeskActionDetail, 'type' | 'value' | 'ex_date'>;

/**
 * Returns the terms of each source in the last decision that contains the source. Sources are in the order in which
 * they first occur.
 */
export const listLatestSources = (decisions: DeskActionDetail['decisions']): readonly Source[] => [
  ...new Map(decisions.flatMap(({ sources }) => sources).map((source) => [source.name, source])).values(),
];

interface SourcesProps {
  readonly terms: Terms;
  readonly sources: readonly Source[];
  /** Currency of cash amounts; null if unknown. */
  readonly currency: string | null;
}

/** Renders the terms of an action in the store and in other sources side by side. */
export function Sources({ terms, sources, currency }: SourcesProps) {
  const { type, value, ex_date: date } = terms;
  return (
    <WrittenTable label="Sources compared" heads={['Source', 'Terms', 'Ex-date']}>
      <tr>
        <th scope="row">Data store</th>
        <td>{formatActionValue(type, value, currency)}</td>
        <td class="whole">{date}</td>
      </tr>
      {sources.map((source) => (
        <tr key={source.name}>
          <th scope="row">{source.name}</th>
          <td>
            {source.value === null ? MISSING_TEXT : formatActionValue(type, source.value, currency)}
            <Differs isTrue={source.value !== null && source.value !== value} />
          </td>
          <td class="whole">
            {source.ex_date ?? MISSING_TEXT}
            <Differs isTrue={source.ex_date !== null && source.ex_date !== date} />
          </td>
        </tr>
      ))}
    </WrittenTable>
  );
}

const Differs = ({ isTrue }: { readonly isTrue: boolean }) =>
  isTrue ? (
    <>
      {' '}
      <Badge kind="warning">differs</Badge>
    </>
  ) : null;
