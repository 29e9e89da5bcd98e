import { useState } from 'preact/hooks';
import { Facts } from '../../components/facts.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { resolve, type Schema, type Schemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';

interface Columns {
  /** Description of the template in the contract, a sentence per item. */
  readonly sentences: readonly string[];
  /** Names of the columns with their meanings. */
  readonly columns: readonly (readonly [string, string])[];
}

/** Renders the columns of an accounts file, folded. They are read when they are unfolded. */
export function FileColumns() {
  const [isOpen, setOpen] = useState(false);
  const columns = useResource(isOpen ? 'columns of an accounts file' : null, readColumns, { follows: false });
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Columns of the file</summary>
      {isOpen && (
        <Answered resource={columns} what="the columns">
          {(view) => (
            <>
              <p class="quiet">{view.sentences.join(' ')}</p>
              <Facts facts={view.columns} />
            </>
          )}
        </Answered>
      )}
    </details>
  );
}

/** Part of the OpenAPI document that describes the template. */
interface Contract {
  readonly components: { readonly schemas: Schemas };
  readonly paths: Readonly<Record<string, { readonly get?: { readonly description?: string } } | undefined>>;
}

/** Reads the names of the columns from the template, and their meanings from the contract. */
async function readColumns(signal: AbortSignal): Promise<Columns> {
  const [template, document] = await Promise.all([
    service.value.call('getBatchTemplate', { signal }),
    service.value.call('getOpenApi', { signal }),
  ]);
  const { components, paths } = document as unknown as Contract; // the contract has the form of an OpenAPI document
  const description = paths['/optimise/batches/template']?.get?.description ?? '';
  const sentences = description.split(/(?<=\.) /);
  const [header = ''] = template.split(/\r?\n/);
  return {
    sentences: sentences.map(removeMarks),
    columns: header.split(',').map((name) => [name, findMeaning(components.schemas, name) ?? findMention(name)]),
  };

  /** Returns the sentences of the description that mention a column. */
  function findMention(name: string): string {
    return removeMarks(sentences.filter((sentence) => sentence.includes(`\`${name}\``)).join(' '));
  }
}

/** Removes the marks of code. */
const removeMarks = (text: string): string => text.replaceAll('`', '');

/** Schemas whose members are columns of a table of accounts. */
const SCHEMA_NAMES = ['PersonalAccount', 'AccountLot', 'RecentTrade'] as const;

/**
 * Returns the meaning of a column such as `tax.realised.short`: the descriptions of its steps below the first one.
 * Returns undefined if no schema has the column.
 */
function findMeaning(schemas: Schemas, name: string): string | undefined {
  const steps = name.split('.');
  for (const schemaName of SCHEMA_NAMES) {
    const descriptions: string[] = [];
    let schema: Schema | undefined = schemas[schemaName];
    for (const step of steps) {
      const member: Schema | undefined = schema?.properties?.[step];
      schema = member && resolve(schemas, member);
      descriptions.push(schema?.description ?? '');
    }
    if (schema !== undefined) return descriptions.slice(Math.min(1, steps.length - 1)).join(' ');
  }
  return undefined;
}
