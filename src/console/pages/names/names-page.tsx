import { Page } from '../../components/page.js';
import { NameTable } from './name-table.js';

/** Page of all securities of the served store. */
export function NamesPage() {
  return (
    <Page title="Securities" above={[{ address: '/console/data', text: 'Data' }]}>
      <NameTable />
    </Page>
  );
}
