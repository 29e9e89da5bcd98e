import { Page } from '../../components/page.js';
import { NameTable } from './name-table.js';

/** Every name of the served store, at an address of its own. */
export function NamesPage() {
  return (
    <Page title="Names" above={[{ address: '/console/data', text: 'Data' }]}>
      <NameTable />
    </Page>
  );
}
