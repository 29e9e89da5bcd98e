import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';

/** Renders the views that a query can read; each opens to its columns. */
export function Views({ onChoose }: { readonly onChoose: (view: string) => void }) {
  const views = useResource('sql views', (signal) =>
    service.value.call('runSql', { body: { query: 'SHOW TABLES' }, signal }),
  );
  return (
    <Answered resource={views} what="the views">
      {({ data }) => (
        <ul class="sql-views">
          {data.map(([name]) => (
            <li key={String(name)}>
              <View name={String(name)} onChoose={onChoose} />
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}

interface ViewProps {
  readonly name: string;
  readonly onChoose: (view: string) => void;
}

function View({ name, onChoose }: ViewProps) {
  const [isOpen, setOpen] = useState(false);
  const columns = useResource(isOpen ? `sql columns ${name}` : null, (signal) =>
    service.value.call('runSql', { body: { query: `DESCRIBE ${name}` }, signal }),
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>{name}</code>
      </summary>
      {isOpen && (
        <Answered resource={columns} what="the columns">
          {({ data }) => (
            <>
              <p class="sql-columns">{data.map(([column]) => String(column)).join(', ')}</p>
              <Button onClick={() => onChoose(name)}>Query {name}</Button>
            </>
          )}
        </Answered>
      )}
    </details>
  );
}
