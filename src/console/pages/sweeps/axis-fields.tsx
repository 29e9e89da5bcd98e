import type { Finding } from '#clients/typescript/divisor.js';
import { Button } from '../../components/button.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { Icon } from '../../components/icon.js';
import { isFraction } from '../../words/quantities.js';
import type { Axis } from './sweep-form.js';
import { formatWithUnit, parseValues, type VariedParameter } from './values.js';

/** Maximum number of varied parameters. A map shows two of them at once. */
const AXES_MAX = 4;

interface AxisFieldsProps {
  readonly axes: readonly Axis[];
  /** Parameters that can be varied. */
  readonly varied: readonly VariedParameter[];
  /** Returns the findings about a varied parameter. */
  findingsAt(pointer: string): readonly Finding[];
  onChange(axes: readonly Axis[]): void;
}

/** Renders the values of each varied parameter, and a choice of another parameter. */
export function AxisFields({ axes, varied, findingsAt, onChange }: AxisFieldsProps) {
  const free = varied.filter(({ pointer }) => !axes.some((axis) => axis.pointer === pointer));
  const add = (pointer: string) => onChange([...axes, { pointer, text: suggestValues(varied, pointer) }]);
  return (
    <>
      {axes.map((axis, k) => (
        <AxisField
          key={axis.pointer}
          axis={axis}
          varied={varied.find(({ pointer }) => pointer === axis.pointer)}
          findings={findingsAt(axis.pointer)}
          onChange={(text) => onChange(axes.map((own, i) => (i === k ? { ...own, text } : own)))}
          onRemove={() => onChange(axes.filter((_, i) => i !== k))}
        />
      ))}
      {axes.length < AXES_MAX && (
        <FieldGrid>
          <Field
            // A new field is empty again.
            key={axes.length}
            spec={{
              name: 'grid',
              label: axes.length === 0 ? 'Vary a parameter' : 'Vary another parameter',
              kind: 'choice',
              choices: free.map(({ pointer }) => pointer),
              words: Object.fromEntries(free.map(({ pointer, label }) => [pointer, label])),
              isRequired: axes.length === 0,
            }}
            value={null}
            findings={[]}
            onChange={(pointer) => typeof pointer === 'string' && add(pointer)}
          />
        </FieldGrid>
      )}
      {axes.length === 0 && <CommonParameters varied={varied} onChoose={add} />}
    </>
  );
}

/** Maximum number of parameters that are shown as buttons. */
const COMMON_MAX = 6;

interface CommonParametersProps extends Pick<AxisFieldsProps, 'varied'> {
  onChoose(pointer: string): void;
}

/** Renders the numeric parameters that the index sets as buttons, each with its present value. */
const CommonParameters = ({ varied, onChoose }: CommonParametersProps) => (
  <div class="sweep-fixed" role="group" aria-label="Common parameters">
    <p class="quiet" style={{ flexBasis: '100%' }}>
      Common, with present values
    </p>
    {varied
      .filter(({ now, takes }) => typeof now === 'number' && takes !== 'word')
      .slice(0, COMMON_MAX)
      .map(({ pointer, label, now, unit }) => (
        <Button key={pointer} onClick={() => onChoose(pointer)}>
          {label}: {formatWithUnit(now, unit)}
        </Button>
      ))}
  </div>
);

/** Suggests values for a parameter: the values that it accepts, or numbers near its current value. */
function suggestValues(varied: readonly VariedParameter[], pointer: string): string {
  const { now, choices } = varied.find((one) => one.pointer === pointer) ?? {};
  if (choices) return choices.join(', ');
  if (typeof now !== 'number') return now === undefined || now === null ? '' : String(now);
  if (now === 0) return '0, 5, 10, 20';
  return [0.5, 1, 1.5, 2].map((factor) => Number((now * factor).toPrecision(6))).join(', ');
}

interface AxisFieldProps {
  readonly axis: Axis;
  readonly varied: VariedParameter | undefined;
  readonly findings: readonly Finding[];
  onChange(text: string): void;
  onRemove(): void;
}

function AxisField({ axis, varied, findings, onChange, onRemove }: AxisFieldProps) {
  const label = varied?.label ?? axis.pointer;
  const unit = varied?.unit ?? null;
  const readValues = parseValues(axis.text, unit).map((value) => formatWithUnit(value, unit));
  return (
    <div class="sweep-axis">
      <Field
        spec={{
          name: axis.pointer,
          label,
          kind: 'text',
          unit,
          isRequired: true,
          help: `Values, separated by commas; now ${formatWithUnit(varied?.now, unit)}.${isFraction(unit) && readValues.length > 0 && findings.length === 0 ? ` Read as ${readValues.join(', ')}.` : ''}`,
        }}
        value={axis.text}
        findings={findings}
        onChange={(value) => onChange(String(value ?? ''))}
      />
      <Button kind="bare" aria-label={`Remove ${label}`} onClick={onRemove}>
        <Icon name="close" />
      </Button>
    </div>
  );
}
