import { useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Select } from '../../components/choice.js';
import { fieldOf } from '../../components/form/field-spec.js';
import { Icon } from '../../components/icon.js';
import { isObject, moved, type Json, type JsonObject } from '../../words/paths.js';
import { findingsWithin, useWorkshop } from './draft.js';
import { DocumentField } from './document-field.js';
import { Fields, Part } from './parts.js';

const SELECTION = ['pipeline', 'selection'] as const;

/** The rules in their order: to be dragged, or moved by their buttons and by Alt with an arrow. */
export function Selection() {
  const { draft, types } = useWorkshop();
  const rules = rulesIn(draft.at(SELECTION));
  const [dragged, setDragged] = useState<number | null>(null);
  const put = (next: readonly Json[]) => draft.set(SELECTION, next);
  const move = (from: number, to: number) => {
    put(moved(rules, from, to));
    requestAnimationFrame(() => document.getElementById(`rule-${to}`)?.focus());
  };
  return (
    <Part title="Selection" help="Rules in order, each on the names that the one before has left">
      <ol class="rule-list">
        {rules.map((rule, at) => (
          <Rule
            key={String(rule['id'] ?? at)}
            rule={rule}
            at={at}
            count={rules.length}
            isDragged={dragged === at}
            onMove={(to) => move(at, to)}
            onRemove={() => put(rules.filter((_, i) => i !== at))}
            onDrag={setDragged}
            onDrop={() => {
              if (dragged !== null && dragged !== at) put(moved(rules, dragged, at));
              setDragged(null);
            }}
          />
        ))}
      </ol>
      <Select
        label="Add a rule"
        options={[
          { value: '', text: '+ Add a rule' },
          ...types.selection.map(({ type, label }) => ({ value: type, text: label })),
        ]}
        value=""
        onChoose={(type) => type !== '' && put([...rules, { id: freshId(type, rules), type, params: {} }])}
      />
    </Part>
  );
}

const rulesIn = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];

/** `top-n`, `top-n-2`: what no other rule is called. */
function freshId(type: string, rules: readonly JsonObject[]): string {
  const base = type.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
  const taken = new Set(rules.map(({ id }) => id));
  let id = base;
  for (let n = 2; taken.has(id); n++) id = `${base}-${n}`;
  return id;
}

interface RuleProps {
  readonly rule: JsonObject;
  readonly at: number;
  readonly count: number;
  readonly isDragged: boolean;
  onMove(to: number): void;
  onRemove(): void;
  onDrag(at: number | null): void;
  onDrop(): void;
}

function Rule({ rule, at, count, isDragged, onMove, onRemove, onDrag, onDrop }: RuleProps) {
  const { types, findings } = useWorkshop();
  const path = [...SELECTION, at];
  const spec = types.selection.find(({ type }) => type === rule['type']);
  const problems = findingsWithin(findings, path).filter(({ severity }) => severity === 'error');
  const name = String(rule['id'] ?? `rule ${at + 1}`);
  return (
    <li
      id={`rule-${at}`}
      class={isDragged ? 'rule is-dragged' : 'rule'}
      tabIndex={-1}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      onKeyDown={(event) => {
        if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
        event.preventDefault();
        onMove(event.key === 'ArrowUp' ? at - 1 : at + 1);
      }}
    >
      <header>
        <span
          class="rule-handle"
          draggable
          onDragStart={() => onDrag(at)}
          onDragEnd={() => onDrag(null)}
          aria-hidden="true"
        >
          ⠿
        </span>
        <strong>
          {at + 1}. {spec?.label ?? String(rule['type'])}
        </strong>
        {problems.length > 0 && <Badge kind="bad">{problems.length}</Badge>}
        <span class="rule-buttons">
          <Button kind="bare" aria-label={`Move ${name} up`} disabled={at === 0} onClick={() => onMove(at - 1)}>
            <Icon name="up" />
          </Button>
          <Button
            kind="bare"
            aria-label={`Move ${name} down`}
            disabled={at === count - 1}
            onClick={() => onMove(at + 1)}
          >
            <Icon name="down" />
          </Button>
          <Button kind="bare" aria-label={`Remove ${name}`} onClick={onRemove}>
            <Icon name="close" />
          </Button>
        </span>
      </header>
      {spec?.help && <p class="quiet">{spec.help}</p>}
      <Fields fields={(spec?.parameters ?? []).map(fieldOf)} within={[...path, 'params']} />
      <details class="rule-more">
        <summary>Id</summary>
        <DocumentField within={path} spec={{ name: 'id', label: 'Id of the rule', kind: 'text', isRequired: true }} />
      </details>
    </li>
  );
}
