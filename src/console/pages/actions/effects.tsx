import type { DeskActionEffect } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Facts } from '../../components/facts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { describeChange, describeWeights } from '../../words/changes.js';
import { formatFigure } from '../../words/numbers.js';

/** Renders the figures of each index before and after an action. */
export function Effects({ effects }: { readonly effects: readonly DeskActionEffect[] }) {
  return (
    <>
      <h3>Effect on indices</h3>
      {effects.length === 0 ? (
        <p class="quiet">No index with a run holds the security on this date.</p>
      ) : (
        <Entries label="Effect on indices" entries={effects.map(createEffectEntry)} />
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
        ['Weight', describeWeights(effect.weight_before, effect.weight_after)],
        ['Index shares', describeChange(effect.shares_before, effect.shares_after, formatFigure)],
        ['Divisor', describeChange(effect.divisor_before, effect.divisor_after, formatFigure)],
      ]}
    />
  ),
});
