import type { WeightsView } from '#clients/typescript/divisor.js';
import { Bars, type BarEntry } from '../../components/bars.js';
import { Choice } from '../../components/choice.js';
import { useNames } from '../../state/names.js';
import { getParameter, setParameters, addQuery } from '../../state/location.js';
import { formatCount, formatPercent, formatPoints } from '../../words/numbers.js';

interface RiskBarsProps {
  readonly weights: WeightsView['weights'];
  readonly risk: NonNullable<WeightsView['risk']>;
  readonly asOf: string;
}

/**
 * Renders the risk contributions of securities or of sectors, with their signs, shares and weights. A sector opens to
 * its securities.
 */
export function RiskBars({ weights, risk, asOf }: RiskBarsProps) {
  const facts = useNames(
    weights.map(({ identifier }) => identifier),
    asOf,
  );
  const by = getParameter('risk_by') === 'sector' ? 'sector' : 'security';
  const sector = getParameter('risk_sector');
  const securities = weights.flatMap(({ identifier, weight, risk_contribution: value }) =>
    value === null ? [] : [{ identifier, value, weight, group: facts.get(identifier)?.sector ?? 'No sector' }],
  );
  const hasSectors = [...facts.values()].some((fact) => fact.sector != null);
  const isOfSectors = by === 'sector' && sector === null && hasSectors;
  const parts: readonly Part[] = isOfSectors
    ? [...new Set(securities.map(({ group }) => group))].map((label) => ({
        ...addUp(
          label,
          securities.filter(({ group }) => group === label),
        ),
        address: addQuery({ risk_sector: label }),
      }))
    : securities
        .filter(({ group }) => sector === null || group === sector)
        .map(({ identifier, value, weight }) => ({
          label: identifier,
          name: facts.get(identifier)?.name ?? null,
          value,
          weight,
          address: addQuery({ tab: 'constituents', name: identifier }),
        }));
  const createBar = ({ weight, ...bar }: Part): BarEntry => ({
    ...bar,
    cells: [
      risk.volatility === 0 ? formatPercent(0) : formatPercent(bar.value / risk.volatility),
      formatPercent(weight),
    ],
  });
  const total = addUp(sector ?? 'Total', parts);
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
        heads={['Contribution', 'Share of risk', 'Weight']}
        bars={[
          ...selectExtremes(parts.toSorted((a, b) => b.value - a.value)).map(createBar),
          { ...createBar(total), isText: true, isTotal: true },
        ]}
        format={formatPoints}
        isPlain
      />
    </>
  );
}

/** Security or sector that contributes to the volatility. */
interface Part extends Pick<BarEntry, 'label' | 'name' | 'value' | 'isText' | 'address'> {
  readonly weight: number;
}

const PARTS = [
  { value: 'security', text: 'Securities' },
  { value: 'sector', text: 'Sectors' },
] as const;

const addUp = (label: string, parts: readonly Pick<Part, 'value' | 'weight'>[]): Part => ({
  label,
  value: parts.reduce((sum, { value }) => sum + value, 0),
  weight: parts.reduce((sum, { weight }) => sum + weight, 0),
});

/**
 * Returns the largest risk contributions, those that reduce the risk most, and the sum of all others. The sum has no
 * bar, because it would set the scale.
 */
function selectExtremes(parts: readonly Part[]): readonly Part[] {
  if (parts.length <= PARTS_MAX + REDUCING_PARTS_MAX) return parts;
  const reducing = parts.slice(-REDUCING_PARTS_MAX).filter(({ value }) => value < 0);
  const others = parts.slice(PARTS_MAX, parts.length - reducing.length);
  return [
    ...parts.slice(0, PARTS_MAX),
    ...reducing,
    { ...addUp(`${formatCount(others.length)} others`, others), isText: true },
  ];
}

/** Number of bars for the largest contributions, and for contributions that reduce risk. */
const PARTS_MAX = 12;
const REDUCING_PARTS_MAX = 4;
