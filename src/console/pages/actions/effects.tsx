import type { DeskActionEffect } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Facts, type Fact } from '../../components/facts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { describeChange, isChanged } from '../../words/changes.js';
import { formatFigure, formatPercent } from '../../words/numbers.js';
import { listReturns } from './dividend-returns.js';

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
              ['Index shares', describeChange(effect.shares_before, effect.shares_after, formatFigure)],
              ['Divisor', describeChange(effect.divisor_before, effect.divisor_after, formatFigure)],
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
