import { Page } from '../../components/layout/page.js';
import { StoreSelect } from '../../components/stores.js';
import { getChosenStore } from '../../state/stores.js';
import { NameTable } from './name-table.js';

/** Page of all securities of a store. */
export function NamesPage() {
  return (
    <Page title="Securities" above={[{ address: '/console/data', text: 'Data' }]} subtitle={<StoreSelect />}>
      <NameTable store={getChosenStore()} />
    </Page>
  );
}
