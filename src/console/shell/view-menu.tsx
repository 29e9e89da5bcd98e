import { Icon } from '../components/icon.js';
import { lazy } from '../components/lazy.js';
import { Popover } from '../components/popover.js';

const Views = lazy<{ onClose(): void }>('the views', async () => (await import('./view-parts.js')).Views);

/** The page as it is shown: a link to it, a name for it, a part of it on the dashboard; and the views that were saved. */
export function ViewMenu() {
  return (
    <Popover label="Views" title={<Icon name="star" />} kind="bare">
      {(close) => <Views onClose={close} />}
    </Popover>
  );
}
