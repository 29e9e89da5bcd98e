import type { ConstituentRow } from '#clients/typescript/divisor.js';
import { Bars, type BarEntry } from '../../components/bars.js';
import { Choice } from '../../components/choice.js';
import { labelWithName } from '../../components/name-column.js';
import { useNames } from '../../state/names.js';
import { getParameter, setParameters, addQuery } from '../../state/location.js';
import { formatCount, formatPoints } from '../../words/numbers.js';

/** Renders the risk contributions of securities or of sectors, with their signs. A sector opens to its securities. */
export function RiskBars({ weights, asOf }: { readonly weights: readonly ConstituentRow[]; readonly asOf: string }) {
  const facts = useNames(
    weights.map(({ identifier }) => identifier),
    asOf,
  );
  const by = getParameter('risk_by') === 'sector' ? 'sector' : 'security';
  const sector = getParameter('risk_sector');
  const knownContributions = weights.flatMap(({ identifier, risk_contribution: value }) =>
    value === null ? [] : [{ label: identifier, value, group: facts.get(identifier)?.sector ?? 'No sector' }],
  );
  const hasSectors = [...facts.values()].some((fact) => fact.sector != null);
  const sums = new Map<string, number>();
  for (const { group, value } of knownContributions) sums.set(group, (sums.get(group) ?? 0) + value);
  const isOfSectors = by === 'sector' && sector === null && hasSectors;
  const bars: readonly BarEntry[] = isOfSectors
    ? [...sums].map(([label, value]) => ({ label, value, address: addQuery({ risk_sector: label }) }))
    : knownContributions
        .filter(({ group }) => sector === null || group === sector)
        .map(({ label, value }) => ({
          label: labelWithName(label, facts),
          value,
          address: addQuery({ tab: 'constituents', name: label }),
        }));
  return (
    <>
      {hasSectors && (
        <div class="part-bar">
          <Choice
            label="Contributions of"
            options={PARTS}
            value={by}
            onChoose={(chosen) => setParameters({ risk_by: chosen === 'sector' ? chosen : null, risk_sector: null })}
          />
          {sector !== null && <a href={addQuery({ risk_sector: null })}>{sector}: back to all</a>}
        </div>
      )}
      <Bars
        label="Contributions to volatility"
        bars={selectExtremes(bars.toSorted((a, b) => b.value - a.value))}
        format={formatPoints}
        isPlain
      />
    </>
  );
}

const PARTS = [
  { value: 'security', text: 'Securities' },
  { value: 'sector', text: 'Sectors' },
] as const;

/** Returns the largest risk contributions, those that reduce the risk most, and the sum of all others. */
function selectExtremes(bars: readonly BarEntry[]): readonly BarEntry[] {
  if (bars.length <= BARS_MAX + REDUCING_BARS_MAX) return bars;
  const reducing = bars.slice(-REDUCING_BARS_MAX).filter(({ value }) => value < 0);
  const others = bars.slice(BARS_MAX, bars.length - reducing.length);
  const value = others.reduce((sum, bar) => sum + bar.value, 0);
  return [...bars.slice(0, BARS_MAX), ...reducing, { label: `${formatCount(others.length)} others`, value }];
}

/** Number of bars for the largest contributions, and for contributions that reduce risk. */
const BARS_MAX = 12;
const REDUCING_BARS_MAX = 4;
