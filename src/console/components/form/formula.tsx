import type { DatapointEvaluation, Finding } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { service } from '../../state/service.js';
import { completeFormula, formatEvaluation, formatFormula, listCompletions } from '../../words/formulas.js';
import type { Json } from '../../words/paths.js';
import { keepWordsWhole } from '../metrics.js';
import { FormulaTerms } from './formula-terms.js';

interface FormulaProps {
  readonly value: Json | undefined;
  readonly expects: 'number' | 'condition';
  readonly datapoints: readonly string[];
  /** Findings that are shown below the field. An error with the same message only marks its characters. */
  readonly findings: readonly Finding[];
  /** Input element for the text. */
  readonly children: ComponentChildren;
  onChange(value: Json | undefined): void;
}

/** Renders a formula as text. Completes its last word, and shows its error, its unit and some of its values. */
export function Formula({ value, expects, datapoints, findings, children, onChange }: FormulaProps) {
  const { functions, request, store } = useContext(FormulaTerms);
  const text = formatFormula(value);
  const isWritten = typeof value !== 'number' && text !== '' && !text.startsWith('{') && !datapoints.includes(text);
  const body = { expression: text, expects, ...request };
  const { data, isBehind } = useOneAtATime(isWritten ? JSON.stringify([store, body]) : null, () =>
    service.value.call('evaluateDatapoint', { query: store === null ? {} : { store_id: store }, body }),
  );
  const names = [...Object.keys(request.datapoints ?? {}), ...datapoints];
  const completions = isWritten ? listCompletions(text, names, functions) : [];
  return (
    <div class="formula">
      {children}
      {completions.length > 0 && (
        <div class="formula-completions" role="group" aria-label="Completions">
          {completions.map(({ insert, help }) => (
            <button key={insert} type="button" title={help} onClick={() => onChange(completeFormula(text, insert))}>
              {insert}
            </button>
          ))}
        </div>
      )}
      {isWritten && data !== undefined && !isBehind && <Meaning text={text} found={data} findings={findings} />}
    </div>
  );
}

interface MeaningProps extends Pick<FormulaProps, 'findings'> {
  readonly text: string;
  readonly found: DatapointEvaluation;
}

function Meaning({ text, found, findings }: MeaningProps) {
  const wrong = found.findings.find(({ severity }) => severity === 'error');
  if (wrong !== undefined)
    return (
      <MarkedText text={text} finding={wrong} isStated={findings.some(({ message }) => message === wrong.message)} />
    );
  const evaluation = formatEvaluation(found);
  return evaluation === '' ? null : <p class="field-help formula-values">{keepWordsWhole(evaluation)}</p>;
}

interface MarkedTextProps {
  readonly text: string;
  readonly finding: Finding;
  /** True if the message is shown elsewhere. */
  readonly isStated: boolean;
}

/** Renders a text with its invalid characters marked. */
function MarkedText({ text, finding: { position, message }, isStated }: MarkedTextProps) {
  if (isStated && position === undefined) return null;
  return (
    <p class="down formula-fault" role="status">
      {position !== undefined && (
        <code>
          {text.slice(0, position.start)}
          <mark>{text.slice(position.start, position.end) || '\u2423'}</mark>
          {text.slice(position.end)}
        </code>
      )}{' '}
      {!isStated && message}
    </p>
  );
}
