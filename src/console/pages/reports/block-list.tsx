import type { Finding } from '#clients/typescript/divisor.js';
import { KindList } from '../../components/form/kind-list.js';
import { useResource } from '../../state/resource.js';
import type { Schemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { formatBlockKind, formatBlockSummary } from './block-words.js';

interface BlockListProps {
  readonly blocks: readonly JsonObject[];
  readonly findings: readonly Finding[];
  onChange(blocks: readonly JsonObject[]): void;
}

/** Renders the blocks of a template in order. Each has the form of its kind. */
export function BlockList({ blocks, findings, onChange }: BlockListProps) {
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  const ids = (runs.data?.backtests ?? []).map(({ index_id: id }) => id);
  return (
    <KindList
      what="block"
      rows={blocks}
      member="kind"
      formatName={formatBlockKind}
      formatSummary={(block) => formatBlockSummary(block, new Set(blocks.map(({ index_id: id }) => id)).size > 1)}
      selectSchema={getBlockSchema}
      path={['blocks']}
      findings={findings}
      hidden={listLiteralMembers}
      rare={RARE_FIELDS}
      listFieldChanges={({ index_id: blockIndex }) => {
        const choices = typeof blockIndex === 'string' && !ids.includes(blockIndex) ? [blockIndex, ...ids] : ids;
        return { index_id: { kind: 'choice', choices } };
      }}
      fresh={() => ({ index_id: blocks.at(-1)?.['index_id'] ?? ids[0] ?? null })}
      onChange={onChange}
    />
  );
}

const getBlockSchema = (schemas: Schemas) => schemas['ReportBlock'] ?? {};

/** Members that only few reports need. */
const RARE_FIELDS = ['aum', 'scenarios', 'rule', 'fallback_rule', 'height', 'new_page'];

/** Members that contain the data of a block if the data is in the template itself. */
const LITERAL_MEMBERS = ['values', 'frame'];

/** Returns the members of a block that are hidden because its data is not in the template itself. */
const listLiteralMembers = ({ source }: JsonObject, names: readonly string[]): readonly string[] =>
  source === 'literal' || !names.includes('source') ? [] : LITERAL_MEMBERS;
