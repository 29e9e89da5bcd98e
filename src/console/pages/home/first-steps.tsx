import type { DataStore } from '#clients/typescript/divisor.js';
import { useRef, useState } from 'preact/hooks';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { createLazyComponent } from '../../components/feedback.js';
import { offerFiles } from '../data/dropped-files.js';
import { liveJobs } from '../../state/live.js';
import { navigate } from '../../state/location.js';
import { may } from '../../state/service.js';
import { ACCEPTED_EXTENSIONS } from '../data/source-files.js';
import { MARKET_WORDS } from '../data/generate-market.js';

const GenerateDialog = createLazyComponent(
  'the form',
  async () => (await import('../data/generate-dialog.js')).GenerateDialog,
);

/** Renders three ways to obtain market data, if no store is served. */
export function FirstSteps({ stores }: { readonly stores: readonly DataStore[] }) {
  const [isAsking, setAsking] = useState(false);
  const isMaking = liveJobs.value.some(({ kind }) => kind === 'generate' || kind === 'load');
  if (!may('data'))
    return (
      <section class="pile gap-3 first-steps">
        <p>No data store is served, and this key cannot add one: it lacks the scope data.</p>
      </section>
    );
  return (
    <section class="pile gap-3 first-steps" aria-label="Add market data">
      <h2>Add market data</h2>
      <p class="quiet">Every index needs prices. Choose one of three sources; each can be removed again.</p>
      <div
        class="pile gap-3 ways"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          importFiles(event.dataTransfer?.files);
        }}
      >
        <Way icon="spark" title="Generate a market" text={MARKET_WORDS}>
          <Button kind="main" disabled={isMaking} onClick={() => setAsking(true)}>
            Generate …
          </Button>
        </Way>
        <Way
          icon="upload"
          title="Drop files"
          text="CSV, Parquet, a zip archive or a workbook with prices. Files are checked before anything is stored."
        >
          <ChooseFiles />
        </Way>
        <Way
          icon="data"
          title="Connect a database"
          text="SQLite, DuckDB or PostgreSQL, or a folder of Parquet files on the machine of the service."
        >
          <LinkButton href="/console/data/connect">Connect</LinkButton>
        </Way>
      </div>
      {isAsking && <GenerateDialog stores={stores} activate onClose={() => setAsking(false)} />}
      {stores.length > 0 && (
        <p>
          {stores.length === 1 ? 'A store is' : `${stores.length} stores are`} there and none is served:{' '}
          <a href="/console/data">choose one</a>.
        </p>
      )}
    </section>
  );
}

/** Renders a file selector. Selected files are passed to the import page. */
function ChooseFiles() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        hidden
        type="file"
        multiple
        accept={ACCEPTED_EXTENSIONS}
        onChange={(event) => importFiles(event.currentTarget.files)}
      />
      <Button onClick={() => input.current?.click()}>Choose files</Button>
    </>
  );
}

function importFiles(files: FileList | null | undefined): void {
  if (!files || files.length === 0) return;
  offerFiles([...files]);
  navigate('/console/data/import');
}

interface WayProps {
  readonly icon: 'spark' | 'upload' | 'data';
  readonly title: string;
  readonly text: string;
  readonly children: preact.ComponentChildren;
}

function Way({ icon, title, text, children }: WayProps) {
  return (
    <article class="pile frame raised gap-2 way">
      <Icon name={icon} />
      <h3>{title}</h3>
      <p>{text}</p>
      {children}
    </article>
  );
}
