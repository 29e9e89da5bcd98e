import type { DocumentChange, RuleTypes } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { useExchanges } from '../../state/market.js';
import { markChange } from '../../words/changes.js';
import { formatPathLabel, parsePointer } from '../../words/labels.js';
import { isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { createFieldFormatter, formatField, type FieldFormatter } from './field-words.js';
import './versions.css';

interface ChangeTableProps {
  readonly label: string;
  readonly changes: readonly DocumentChange[];
  /** Document from which the names of rows come. If absent, rows are numbered. */
  readonly document?: JsonObject | undefined;
  /** Catalogue of the index fields, with their names and units. */
  readonly types?: RuleTypes | undefined;
}

export function ChangeTable({ label, changes, document, types }: ChangeTableProps) {
  const words = useFieldFormatter(types);
  return (
    <WrittenTable label={label} heads={['Field', 'Before', 'After']}>
      {changes.map(({ path: pointer, op, before, after }, position) => {
        const path = parsePointer(pointer);
        // If an item of a list of values changed, the list gives it its name.
        const namedPath =
          typeof path.at(-1) === 'number' && !isObject((after ?? before) as Json) ? path.slice(0, -1) : path;
        const [old, next] = cutAround(before as Json, after as Json);
        return (
          <tr key={position}>
            <th scope="row" title={pointer}>
              {types === undefined ? formatPathLabel(namedPath, document) : formatField(words, namedPath, document)}
            </th>
            <td>{op === 'add' ? '–' : <Value {...{ words, document, path }} value={old} />}</td>
            <td>{op === 'remove' ? '–' : <Value {...{ words, document, path }} value={next} />}</td>
          </tr>
        );
      })}
    </WrittenTable>
  );
}

/** Returns the formatter of fields, with the names of exchanges. */
function useFieldFormatter(types: RuleTypes | undefined): FieldFormatter {
  const exchanges = useExchanges();
  return useMemo(() => createFieldFormatter(types, exchanges), [types, exchanges.size]);
}

/**
 * Minimum number of characters of a text that is shortened, and maximum number of characters shown before its change.
 */
const TEXT_MIN = 60;
const LEAD = 24;

/** Shortens the start that two long texts share to an ellipsis and its last words. */
function cutAround(before: Json, after: Json): readonly [Json, Json] {
  if (typeof before !== 'string' || typeof after !== 'string' || Math.max(before.length, after.length) < TEXT_MIN)
    return [before, after];
  const markedText = markChange(before, [after])[0];
  const lastSpace = markedText.indexOf(' ', markedText.length - LEAD);
  return markedText.length < 2 * LEAD || lastSpace < 0
    ? [before, after]
    : [`… ${before.slice(lastSpace + 1)}`, `… ${after.slice(lastSpace + 1)}`];
}

interface FieldTableProps extends Pick<ChangeTableProps, 'label' | 'types'> {
  readonly document: JsonObject;
}

/** Renders the fields of a document that have a value and the defaults of its rules, grouped by part of the document. */
export function FieldTable({ label, document, types }: FieldTableProps) {
  const words = useFieldFormatter(types);
  const parts = new Map<string, readonly ShownField[]>();
  const defaults = words.defaults(document).map(({ path, text }) => ({ path, value: `${text} (default)` }));
  for (const field of [...listFields(document, []), ...defaults]) {
    const part = words.group(field.path, document);
    parts.set(part, [...(parts.get(part) ?? []), field]);
  }
  return (
    <div class="version-parts" role="region" aria-label={label}>
      {[...parts].map(([part, fields]) => (
        <section key={part} aria-label={part}>
          <h3>{part}</h3>
          <dl>
            {fields.map(({ path, value }) => (
              <div key={path.join('/')} title={path.join('.')}>
                <dt>{words.label(path, document)}</dt>
                <dd>
                  <Value {...{ words, document, path, value }} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

interface ShownField {
  readonly path: Path;
  readonly value: Json;
}

function listFields(value: Json, path: Path): readonly ShownField[] {
  if (isObject(value)) return Object.entries(value).flatMap(([name, own]) => listFields(own ?? null, [...path, name]));
  if (!Array.isArray(value)) return value === null ? [] : [{ path, value }];
  const list = value as readonly Json[];
  if (!list.some(isObject)) return list.length === 0 ? [] : [{ path, value: list.map(String).join(', ') }];
  return list.flatMap((own, at) => listFields(own, [...path, at]));
}

interface SentencesProps {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

export function Sentences({ removed, added }: SentencesProps) {
  if (added.length + removed.length === 0) return null;
  const pairs = pairSentences(removed, added);
  const isPaired = (text: string) => pairs.some(({ before, after }) => text === before || text === after);
  return (
    <ul class="pile gap-2 bare-list version-sentences" aria-label="In words">
      {pairs.map(({ before, words: [start, old, next, end] }) => (
        <li key={before} class="version-both">
          {start}
          {old !== '' && (
            <del>
              <strong>{old.trimEnd()}</strong>
            </del>
          )}{' '}
          {next !== '' && (
            <ins>
              <strong>{next.trimEnd()}</strong>
            </ins>
          )}{' '}
          {end}
        </li>
      ))}
      {removed
        .filter((text) => !isPaired(text))
        .map((text) => (
          <li key={text}>
            <del>
              <Sentence text={text} others={added} />
            </del>
          </li>
        ))}
      {added
        .filter((text) => !isPaired(text))
        .map((text) => (
          <li key={text}>
            <ins>
              <Sentence text={text} others={removed} />
            </ins>
          </li>
        ))}
    </ul>
  );
}

interface SentencePair {
  readonly before: string;
  readonly after: string;
  /** Shared start, removed words, added words and shared end. */
  readonly words: readonly [string, string, string, string];
}

/** Pairs removed and added sentences that differ only in some of their words. */
function pairSentences(removed: readonly string[], added: readonly string[]): readonly SentencePair[] {
  const pairs: SentencePair[] = [];
  for (const before of removed)
    for (const after of added) {
      if (pairs.some((pair) => pair.before === before || pair.after === after)) continue;
      const [start, old, end] = markChange(before, [after]);
      const [ownStart, next, ownEnd] = markChange(after, [before]);
      if (start === ownStart && end === ownEnd && (start !== '' || end.length > Math.max(old.length, next.length)))
        pairs.push({ before, after, words: [start, old, next, end] });
    }
  return pairs;
}

interface SentenceProps {
  readonly text: string;
  /** Sentences of the other version. */
  readonly others: readonly string[];
}

/** Renders a sentence. Words that differ from the most similar sentence of the other version are marked. */
function Sentence({ text, others }: SentenceProps) {
  const [start, changed, end] = markChange(text, others);
  return (
    <>
      {start}
      <strong>{changed}</strong>
      {end}
    </>
  );
}

interface WrittenTableProps {
  readonly label: string;
  readonly heads: readonly string[];
  readonly children: ComponentChildren;
}

/** Renders a table without hidden rows. A wide table has its own scroll bar. */
export function WrittenTable({ label, heads, children }: WrittenTableProps) {
  return (
    <div class="version-changes" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Maximum number of characters of a value that is not folded. */
const SHOWN_MAX = 200;

interface ValueProps {
  readonly words: FieldFormatter;
  readonly path: Path;
  readonly value: Json;
  readonly document: JsonObject | undefined;
}

/** Renders a JSON value; a long value is folded. */
function Value({ words, path, value, document }: ValueProps) {
  if (value === null) return <>–</>;
  const text = words.value(path, value, document);
  if (text.length <= SHOWN_MAX) return <>{text}</>;
  return (
    <details>
      <summary>{text.slice(0, SHOWN_MAX)} …</summary>
      {text}
    </details>
  );
}
