import { useEffect, useState } from 'preact/hooks';
import { Banner } from '../../components/banner.js';
import { MayNot } from '../../components/may-not.js';
import { Page } from '../../components/page.js';
import { may } from '../../state/principal.js';
import { navigate, getParameter, setParameters } from '../../state/location.js';
import { notifyChange } from '../../state/resource.js';
import { storeAddress } from '../../words/addresses.js';
import type { JsonObject } from '../../words/paths.js';
import { DropArea, FileGuide } from './drop-area.js';
import { FileList } from './file-list.js';
import type { ImportFile } from './import-files.js';
import { PARENT_PAGES, ImportedPage } from './imported.js';
import { Inspection } from './inspection.js';
import { ImportBar, NewStore } from './new-store.js';
import { sendImport, type Outcome } from './send-import.js';
import { useServed } from './store-fields.js';
import { useFiles } from './use-files.js';
import { useInspection } from './use-inspection.js';

const NO_FILES: readonly ImportFile[] = [];

/**
 * Renders the page that creates a store from chosen or dropped files. The service validates the files and stores valid
 * ones.
 */
export function ImportPage() {
  const [header, setHeader] = useState<JsonObject>({ name: '', adjustment: 'none', on_exists: 'refuse' });
  const { files, notes, trouble, add, change } = useFiles(
    () => setOutcome(null),
    (name) => setHeader((now) => (now['name'] === '' ? { ...now, name } : now)),
  );
  const { outcome, setOutcome, told } = useOutcome();
  const [sent, setSent] = useState<number | null>(null);
  const { served, activate } = useServed();
  const inspection = useInspection(trouble === null ? files : NO_FILES, ({ adjustment }) =>
    setHeader((now) => ({ ...now, adjustment })),
  );
  const { inspected, isLooking, mapping, checked, problem } = inspection;
  // without a mapping, each table is one file
  const hasSeveral = mapping === null && !isLooking && files.filter(({ table }) => table === 'market').length > 1;
  if (outcome !== null && outcome.result !== null) return <ImportedPage result={outcome.result} />;
  const findings = outcome?.trouble?.findings ?? [];
  // Findings of a trial import. They are shown before the files are stored.
  const seenFindings = inspected?.trouble?.findings ?? (checked.data ?? inspected?.result)?.findings ?? [];
  const send = async () => {
    setSent(0);
    told(await sendImport({ files, header: { activate, ...header }, mapping, onSent: setSent }));
    setSent(null);
    notifyChange();
  };
  return (
    <Page title="Import" above={PARENT_PAGES} subtitle="All files are checked before anything is stored">
      {may('data') ? <DropArea isSmall={files.length > 0} onFiles={add} /> : <MayNot scope="data" what="import" />}
      {files.length === 0 && may('data') && <FileGuide />}
      {files.length > 0 && (
        <FileList
          files={files}
          findings={outcome === null ? seenFindings : findings}
          isMapped={mapping !== null}
          onChange={change}
        />
      )}
      {[trouble, ...notes, hasSeveral ? SEVERAL_FILES_MESSAGE : null].map(
        (said) => said !== null && <Banner key={said} kind="warning" title={said} />,
      )}
      <Inspection {...inspection} files={files.length} findings={findings} onChange={inspection.setMapping} />
      {files.length > 0 && may('data') && (
        <>
          <NewStore
            header={{ activate, ...header }}
            served={served}
            outcome={sent === null ? outcome : null}
            findings={findings}
            unsure={mapping === null ? [] : (inspected?.result?.unsure ?? [])}
            onChange={setHeader}
            onSend={() => void send()}
          />
          <ImportBar
            files={files.length}
            mapping={mapping}
            sent={sent}
            problem={problem}
            isReady={trouble === null && problem === null && !hasSeveral && !isLooking && header['name'] !== ''}
          />
        </>
      )}
    </Page>
  );
}

const SEVERAL_FILES_MESSAGE = 'Several files are assigned to market. Choose the table of each file, or use a mapping.';

/**
 * Returns the result of an import. It is shown once: after a reload, the address leads to the page of the new store.
 */
function useOutcome() {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const importedStore = outcome === null ? getParameter('imported') : null;
  useEffect(() => {
    if (importedStore !== null) navigate(storeAddress(importedStore), { replace: true });
  }, [importedStore]);
  const report = (next: Outcome) => {
    setOutcome(next);
    if (next.result !== null) setParameters({ imported: next.result.store.store_id });
  };
  return { outcome, setOutcome, told: report };
}
