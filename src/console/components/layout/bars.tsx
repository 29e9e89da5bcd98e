import '../bars.css';
import '../funnel.css';
import type { PreviewAsset, PreviewStep } from '#clients/typescript/divisor.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useList } from '../../state/service.js';
import { formatFactor, lowerFirst } from '../../words/labels.js';
import { formatCount, getSignClass } from '../../words/numbers.js';
import { Badge } from '../feedback.js';
import { getPartName } from './page.js';

export interface BarEntry {
  readonly label: string;
  /** Name after the label, in a secondary colour. */
  readonly name?: string | null;
  readonly value: number;
  /** True if the row has no bar, for example a sum that would set the scale of the other bars. */
  readonly isText?: boolean;
  /** Values of the further columns. */
  readonly cells?: readonly string[];
  /** True if the bar starts at zero instead of at the end of the previous bar. */
  readonly isTotal?: boolean;
  readonly address?: string;
}

interface BarsProps {
  readonly label: string;
  readonly bars: readonly BarEntry[];
  /** True if each bar starts at the end of the previous bar. */
  readonly isRunning?: boolean;
  /** True if values are no gains or losses. Negative values then have the second colour of charts. */
  readonly isPlain?: boolean;
  readonly format: (value: number) => string;
  /** Values that the scale also covers, for several lists with one scale. Default: only those of the bars. */
  readonly covers?: readonly number[];
  /** Titles of the column of values and of the further columns. Default: no titles. */
  readonly heads?: readonly string[];
}

/**
 * Renders a bar chart of values, or of steps from one total to the next. The rows form a table that screen readers can
 * read.
 */
export function Bars({ label, bars, isRunning = false, isPlain = false, format, covers = [], heads = [] }: BarsProps) {
  const placedBars = placeBars(bars, isRunning);
  const ends = [0, ...covers, ...placedBars.flatMap(({ bar, from, to }) => (bar.isText === true ? [] : [from, to]))];
  const least = Math.min(...ends);
  const largestEnd = Math.max(...ends);
  const span = largestEnd - least || 1;
  const [positiveClass, negativeClass] = isPlain ? ['', 'is-negative'] : ['up', 'down'];
  const formatPosition = (value: number) => `${((value - least) / span) * 100}%`;
  return (
    <table class="bars" data-part={getPartName(label)}>
      <caption class="unseen">{label}</caption>
      {heads.length > 0 && (
        <thead>
          <tr>
            <td colSpan={2} />
            {heads.map((head) => (
              <td key={head} role="columnheader" class="bar-value quiet">
                {head}
              </td>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {placedBars.map(({ bar, from, to }) => (
          <tr key={bar.label} class={bar.isTotal === true ? 'bar-total' : ''}>
            <th scope="row">
              <BarLabel {...bar} />
            </th>
            <td class="bar-ground" aria-hidden="true">
              <span class="bar-zero" style={{ left: formatPosition(0) }} />
              {bar.isText !== true && (
                <span
                  class={`bar ${bar.value < 0 ? negativeClass : positiveClass}`}
                  style={{ left: formatPosition(Math.min(from, to)), width: `${(Math.abs(to - from) / span) * 100}%` }}
                />
              )}
            </td>
            <td class={`bar-value number ${isPlain ? '' : getSignClass(bar.value)}`}>{format(bar.value)}</td>
            {bar.cells?.map((cell, at) => (
              <td key={at} class="bar-value number">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function BarLabel({ label, name = null, address }: BarEntry) {
  const text = (
    <>
      {label}
      {name !== null && <span class="bar-name quiet"> {name}</span>}
    </>
  );
  return address === undefined ? text : <a href={address}>{text}</a>;
}

interface PlacedBar {
  readonly bar: BarEntry;
  readonly from: number;
  readonly to: number;
}

function placeBars(bars: readonly BarEntry[], isRunning: boolean): readonly PlacedBar[] {
  let lastEnd = 0;
  return bars.map((bar) => {
    const from = isRunning && bar.isTotal !== true ? lastEnd : 0;
    const to = from + bar.value;
    lastEnd = to;
    return { bar, from, to };
  });
}

interface SelectionRule {
  readonly id?: string | null | undefined;
  readonly params?: object | null | undefined;
}

interface FunnelProps {
  readonly steps: readonly PreviewStep[];
  readonly assets: readonly PreviewAsset[];
  /** Selection rules of the definition, whose parameters are shown; absent if they are on the same page. */
  readonly rules?: readonly SelectionRule[];
  onName?(identifier: string): void;
}

/** Text for the datapoint in the name of a rule type. */
const FIELD = 'a field';

/** Maximum number of excluded securities shown per step. */
const SHOWN_MAX = 200;

/**
 * Renders the number of securities after each step, from the universe through the rules to the holdings. A step can be
 * opened to show the securities that it excluded.
 */
export function Funnel({ steps, assets, rules = [], onName }: FunnelProps) {
  const openStep = getParameter('step');
  const types = useList('rule types', {
    follows: false,
  });
  const findSpec = (type: string) => types.data?.selection.find((own) => own.type === type);
  const findParameters = (id: string | null): object => rules.find((rule) => rule.id === id)?.params ?? {};
  /** Returns the name of a rule with its datapoint, for example `Best by market cap`. */
  const formatRule = (type: string, id: string | null): string => {
    const field = Object.entries(findParameters(id)).find(([name]) => name === 'field')?.[1] as unknown;
    const label = findSpec(type)?.label ?? type;
    return typeof field === 'string' ? label.replace(FIELD, lowerFirst(formatFactor(field))) : label;
  };
  /** Returns the parameters of a rule, and its id unless it repeats the name of the rule. */
  const describeRule = (type: string, id: string | null): string => {
    const spec = findSpec(type);
    const parameters = Object.entries(findParameters(id)).flatMap(([name, value]) =>
      ['number', 'string'].includes(typeof value) && !(name === 'field' && spec?.label.includes(FIELD) === true)
        ? [`${spec?.parameters.find((one) => one.name === name)?.label ?? name} ${String(value)}`]
        : [],
    );
    return [...(id === null || isDefaultId(id, type) ? [] : [id]), ...parameters].join(' · ');
  };
  const largestCount = Math.max(1, ...steps.map(({ remaining }) => remaining));
  const heldCount = assets.filter(({ included }) => included).length;
  const last = steps.at(-1)?.remaining ?? 0;
  return (
    <ol class="frame raised funnel">
      <li class="small funnel-head quiet" aria-hidden="true">
        <span>Step</span>
        <span />
        <span>Kept</span>
        <span>Removed</span>
      </li>
      {steps.map(({ position, remaining, excluded, rule_id: id, rule_type: type }, k) => (
        <li key={position}>
          <button
            type="button"
            class="funnel-step"
            disabled={excluded.length === 0}
            aria-expanded={excluded.length === 0 ? undefined : openStep === String(position)}
            onClick={() => setParameters({ step: openStep === String(position) ? null : String(position) })}
          >
            <span class="funnel-name">
              {type === null ? (
                'Universe'
              ) : (
                <>
                  {formatRule(type, id)} <span class="quiet">{describeRule(type, id)}</span>
                </>
              )}
            </span>
            <span class="funnel-ground" aria-hidden="true">
              <span style={{ width: `${(remaining / largestCount) * 100}%` }} />
            </span>
            <span class="number funnel-kept" title="Securities kept by this step">
              {formatCount(remaining)}
            </span>
            <span class="number funnel-fell" title="Securities removed by this step">
              {k > 0 && steps[k - 1]!.remaining > remaining && formatCount(remaining - steps[k - 1]!.remaining)}
            </span>
          </button>
          {openStep === String(position) && <ExcludedSecurities names={excluded} onName={onName} />}
        </li>
      ))}
      {heldCount !== last && (
        <li class="funnel-held">
          Constituents with a weight: <strong>{formatCount(heldCount)}</strong>
        </li>
      )}
    </ol>
  );
}

/** Returns true if an id is the type of its rule in lower case, such as `top-n` or `top-n-2` for `TopN`. */
const isDefaultId = (id: string, type: string): boolean =>
  id.replace(/-\d+$/, '').replaceAll('-', '') === type.toLowerCase();

interface ExcludedProps {
  readonly names: readonly string[];
  readonly onName: ((identifier: string) => void) | undefined;
}

function ExcludedSecurities({ names, onName }: ExcludedProps) {
  return (
    <p class="wrap gap-1 funnel-names">
      {names.slice(0, SHOWN_MAX).map((name) =>
        onName === undefined ? (
          <Badge key={name}>{name}</Badge>
        ) : (
          <button
            key={name}
            type="button"
            class="inline-line gap-1 small second one-line badge"
            onClick={() => onName(name)}
          >
            {name}
          </button>
        ),
      )}
      {names.length > SHOWN_MAX && <span class="quiet">and {formatCount(names.length - SHOWN_MAX)} more</span>}
    </p>
  );
}
