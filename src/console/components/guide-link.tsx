import type { ComponentChildren } from 'preact';
import { hasKey, service } from '../state/service.js';
import { Download } from './download.js';

interface GuideLinkProps {
  /** Name of a page of the guide. */
  readonly page: string;
  readonly children: ComponentChildren;
}

/** Renders a link that opens a page of the guide. If an API key is required, the link saves the page as a file. */
export function GuideLink({ page, children }: GuideLinkProps) {
  const read = () => service.value.download('getGuidePage', 'text/html', { params: { page } });
  return (
    <HtmlLink address={`/docs/guide/${page}`} fileName={`divisor-${page}.html`} read={read}>
      {children}
    </HtmlLink>
  );
}

/** Renders the links to the guide and to the API reference. */
export function GuideLinks() {
  return (
    <>
      <HtmlLink
        address="/docs/guide"
        fileName="divisor-guide.html"
        read={() => service.value.download('getGuide', 'text/html')}
      >
        Guide
      </HtmlLink>
      <HtmlLink
        address="/docs"
        fileName="divisor-reference.html"
        read={() => service.value.download('getDocumentation', 'text/html')}
      >
        Reference
      </HtmlLink>
    </>
  );
}

interface HtmlLinkProps {
  readonly address: string;
  readonly fileName: string;
  readonly children: ComponentChildren;
  read(): Promise<Uint8Array>;
}

/** Renders a button that downloads a page with the API key. A plain link would send no key. */
function HtmlLink({ address, fileName, read, children }: HtmlLinkProps) {
  if (!hasKey.value) return <a href={address}>{children}</a>;
  return (
    <Download address={address} fileName={fileName} title="Saves the page as a file" read={read}>
      {children}
    </Download>
  );
}
