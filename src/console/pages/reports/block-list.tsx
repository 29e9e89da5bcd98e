import type { Finding } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { AddSelect } from '../../components/add-select.js';
import { Button } from '../../components/button.js';
import { fieldsOf } from '../../components/form/schema-fields.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Icon } from '../../components/icon.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { resolve, useSchemas, type Schemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import { moved, type JsonObject } from '../../words/paths.js';
import '../../components/form/row-list.css';

interface BlockListProps {
  readonly blocks: readonly JsonObject[];
  readonly findings: readonly Finding[];
  onChange(blocks: readonly JsonObject[]): void;
}

/** Kinds of blocks with the schema of each, as the contract has them. */
function kindsIn(schemas: Schemas): ReadonlyMap<string, string> {
  const all = schemas['ReportBlock']?.oneOf ?? [];
  return new Map(
    all.map((schema) => [
      String(resolve(schemas, schema).properties?.['kind']?.const),
      schema.$ref?.split('/').at(-1) ?? '',
    ]),
  );
}

/** Renders the blocks of a template in their order, each a form of its kind. */
export function BlockList({ blocks, findings, onChange }: BlockListProps) {
  const schemas = useSchemas();
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  const ids = (runs.data?.backtests ?? []).map(({ index_id: id }) => id);
  const [dragged, setDragged] = useState<number | null>(null);
  return (
    <Answered resource={schemas} what="the kinds of blocks">
      {(all) => {
        const kinds = kindsIn(all);
        return (
          <>
            <ol class="row-list">
              {blocks.map((block, at) => (
                <Block
                  key={at}
                  block={block}
                  at={at}
                  last={blocks.length - 1}
                  schema={kinds.get(String(block['kind'])) ?? ''}
                  names={namesOf(all, kinds.get(String(block['kind'])) ?? '', block)}
                  ids={ids}
                  findings={findings}
                  onChange={(next) => onChange(blocks.map((own, i) => (i === at ? next : own)))}
                  onMove={(to) => onChange(moved(blocks, at, to))}
                  onRemove={() => onChange(blocks.filter((_, i) => i !== at))}
                  isDragged={dragged === at}
                  onDrag={setDragged}
                  onDrop={() => {
                    if (dragged !== null && dragged !== at) onChange(moved(blocks, dragged, at));
                    setDragged(null);
                  }}
                />
              ))}
            </ol>
            <AddSelect
              label="Add a block"
              prompt="+ Add a block"
              options={[...kinds.keys()].map((kind) => ({ value: kind, text: wordOf(kind) }))}
              onAdd={(kind) => onChange([...blocks, { kind, index_id: blocks.at(-1)?.['index_id'] ?? ids[0] ?? null }])}
            />
          </>
        );
      }}
    </Answered>
  );
}

const wordOf = (kind: string): string => kind.replaceAll('_', ' ');

/** Members of a block with literal content. */
const LITERAL = new Set(['values', 'frame']);

/** Members of a block without its kind, and with its content only if the source is literal. */
function namesOf(schemas: Schemas, schema: string, { source }: JsonObject): readonly string[] {
  const names = fieldsOf(schemas, schema).map(({ name }) => name);
  const isLiteral = source === 'literal' || !names.includes('source');
  return names.filter((name) => name !== 'kind' && (isLiteral || !LITERAL.has(name)));
}

interface BlockProps {
  readonly block: JsonObject;
  readonly at: number;
  readonly last: number;
  readonly schema: string;
  readonly names: readonly string[];
  readonly ids: readonly string[];
  readonly findings: readonly Finding[];
  onChange(block: JsonObject): void;
  onMove(to: number): void;
  onRemove(): void;
  readonly isDragged: boolean;
  onDrag(at: number | null): void;
  onDrop(): void;
}

function Block({ block, at, last, schema, names, ids, findings, onChange, ...act }: BlockProps) {
  const { onMove, onRemove } = act;
  const name = `block ${at + 1}`;
  const own = block['index_id'];
  const choices = typeof own === 'string' && !ids.includes(own) ? [own, ...ids] : ids;
  return (
    <li
      class={act.isDragged ? 'row is-dragged' : 'row'}
      onDragOver={(event) => event.preventDefault()}
      onDrop={act.onDrop}
      onKeyDown={(event) => {
        if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
        event.preventDefault();
        onMove(event.key === 'ArrowUp' ? at - 1 : at + 1);
      }}
    >
      <header>
        <span
          class="row-handle"
          draggable
          onDragStart={() => act.onDrag(at)}
          onDragEnd={() => act.onDrag(null)}
          aria-hidden="true"
        >
          ⠿
        </span>
        <strong>
          {at + 1}. {wordOf(String(block['kind']))}
        </strong>
        <span class="row-buttons">
          <Button kind="bare" aria-label={`Move ${name} up`} disabled={at === 0} onClick={() => onMove(at - 1)}>
            <Icon name="up" />
          </Button>
          <Button kind="bare" aria-label={`Move ${name} down`} disabled={at === last} onClick={() => onMove(at + 1)}>
            <Icon name="down" />
          </Button>
          <Button kind="bare" aria-label={`Remove ${name}`} onClick={onRemove}>
            <Icon name="close" />
          </Button>
        </span>
      </header>
      <SchemaForm
        schema={schema}
        names={names}
        changes={{ index_id: { kind: 'choice', choices } }}
        value={block}
        findings={findings}
        path={['blocks', at]}
        onChange={onChange}
      />
    </li>
  );
}
