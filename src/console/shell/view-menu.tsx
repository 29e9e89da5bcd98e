import { Icon } from '../components/icon.js';
import { lazy } from '../components/lazy.js';
import { Popover } from '../components/popover.js';

const Views = lazy<{ onClose(): void }>('the views', async () => (await import('./view-parts.js')).Views);

/**
 * Renders a menu for the current page: a link to it, a name for it, pinning a part of it to the dashboard, and saved
 * views.
 */
export function ViewMenu() {
  return (
    <Popover label="Views" title={<Icon name="star" />} kind="bare">
      {(close) => <Views onClose={close} />}
    </Popover>
  );
}
