import type { ReferenceResponse } from '#clients/typescript/divisor.js';
import { Facts } from '../../components/facts.js';
import { formatReference } from '../../words/datapoints.js';
import { formatFactor } from '../../words/labels.js';

interface ReferenceProps {
  readonly view: ReferenceResponse;
  /** Currency of the security; null if unknown. */
  readonly currency: string | null;
}

/** Renders the latest reference data of a security, and the universes that contain it. */
export function Reference({ view: { fields, universes }, currency }: ReferenceProps) {
  const entries = Object.entries(fields).filter(([, value]) => value !== null);
  if (entries.length === 0 && universes.length === 0) return <p class="quiet">The store contains none.</p>;
  return (
    <Facts
      facts={[
        ...entries.map(([name, value]) => [formatFactor(name), formatReference(name, value, currency), name] as const),
        ...universes.map(
          ({ universe, name, start, end, current }) =>
            [`In ${name ?? universe}`, `${start ?? 'always'} to ${end ?? 'now'}${current ? '' : ', ended'}`] as const,
        ),
      ]}
    />
  );
}
