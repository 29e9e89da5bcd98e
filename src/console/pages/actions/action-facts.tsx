import type { DeskActionDetail, DeskActionEffect } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/feedback.js';
import { Entries, type Entry, type Fact, Facts } from '../../components/layout/facts.js';
import { WrittenTable } from '../../components/versions/change-table.js';
import { describeValueChange, formatActionValue, isChanged, listReturns } from '../../words/actions.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatFigure, formatPercent, MISSING_TEXT } from '../../words/numbers.js';

/** Renders the figures of each index before and after an action. */
export function Effects({ effects }: { readonly effects: readonly DeskActionEffect[] }) {
  return (
    <>
      <h3>Effect on indices</h3>
      {effects.length === 0 ? (
        <p class="quiet">No index with a run holds the security on this date.</p>
      ) : (
        <Entries
          label="Effect on indices"
          entries={effects.toSorted((a, b) => a.index_id.localeCompare(b.index_id)).map(createEffectEntry)}
        />
      )}
    </>
  );
}

const createEffectEntry = (effect: DeskActionEffect): Entry => ({
  key: effect.index_id,
  title: <a href={formatIndexAddress(effect.index_id)}>{effect.index_id}</a>,
  badge: <Badge kind={effect.state === 'coming' ? 'info' : 'plain'}>{effect.state}</Badge>,
  text: (
    <Facts
      facts={[
        ...listWeights(effect),
        ...listReturns(effect),
        ...(isDividend(effect) && !isAltered(effect)
          ? []
          : ([
              ['Index shares', describeValueChange(effect.shares_before, effect.shares_after, formatFigure)],
              ['Divisor', describeValueChange(effect.divisor_before, effect.divisor_after, formatFigure)],
            ] as const)),
      ]}
    />
  ),
});

/** Decimals of a weight in percent, as in the actions of an index. */
const WEIGHT_DIGITS = 4;

/**
 * Returns the weights before and after an action. If the action changes neither index shares nor divisor, the weight
 * after it is left out, because it differs only by price moves.
 */
function listWeights(effect: DeskActionEffect): readonly Fact[] {
  const { state, weight_before: before, weight_after: after } = effect;
  const isComing = state === 'coming';
  const beforeText = `Weight at the ${isComing ? 'latest' : 'previous'} close`;
  const afterText = isComing ? 'Weight after it, pro forma' : 'Weight at the close of the ex-date, with price moves';
  return [
    [beforeText, formatPercent(before, WEIGHT_DIGITS)],
    ...(isAltered(effect) ? [[afterText, formatPercent(after, WEIGHT_DIGITS)] as const] : []),
  ];
}

/** Returns true if an action changes index shares or the divisor. */
const isAltered = (effect: DeskActionEffect): boolean =>
  isChanged(effect.shares_before, effect.shares_after) || isChanged(effect.divisor_before, effect.divisor_after);

const isDividend = ({ dividend_return: dividendReturn }: DeskActionEffect): boolean =>
  typeof dividendReturn === 'number';

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
