import { useState } from 'preact/hooks';
import { getParameter } from '../../state/location.js';
import { createLazyComponent } from '../lazy.js';
import type { VersionsProps } from './families.js';
import './version-history.css';

const Versions = createLazyComponent<VersionsProps>(
  'the versions',
  async () => (await import('./versions.js')).Versions,
);

/** Renders the versions of a document below its editor. The versions are loaded when the section is opened. */
export function VersionHistory(props: VersionsProps) {
  const [isOpen, setOpen] = useState(getParameter('version') !== null);
  return (
    <details class="history" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Versions</summary>
      {isOpen && <Versions {...props} />}
    </details>
  );
}
