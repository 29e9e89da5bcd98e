import type { ComponentChildren } from 'preact';
import { attempt } from '../state/actions.js';
import { saveFile } from '../state/files.js';
import { hasKey } from '../state/service.js';

interface DownloadProps {
  /** Address of the file. */
  readonly address: string;
  readonly fileName: string;
  readonly class?: string;
  /** Name of the link for screen readers, if several links have the same text. */
  readonly label?: string;
  /** Help that a browser shows at the pointer. */
  readonly title?: string;
  readonly children: ComponentChildren;
  /** Downloads the file through the client. A plain link would send no API key. */
  read(): Promise<Uint8Array>;
}

/**
 * Renders a link to a file. Without an API key, the browser writes the file directly to disk. With a key, the console
 * first reads the file into memory.
 */
export function Download({ address, fileName, read, children, class: look, label, title }: DownloadProps) {
  return (
    <a
      class={look}
      aria-label={label}
      title={title}
      href={address}
      download={fileName}
      onClick={(event) => {
        if (!hasKey.value) return;
        event.preventDefault();
        void attempt(async () => saveFile(fileName, await read()));
      }}
    >
      {children}
    </a>
  );
}
