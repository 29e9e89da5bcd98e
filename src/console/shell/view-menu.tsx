import { Icon } from '../components/icon.js';
import { createLazyComponent } from '../components/lazy.js';
import { Popover } from '../components/popover.js';

const Views = createLazyComponent<{ onClose(): void }>(
  'the views',
  async () => (await import('./view-parts.js')).Views,
);

/**
 * Renders a menu of the current page: copy its address, save it under a name, pin a part of it to the dashboard, and
 * open saved views.
 */
export function ViewMenu() {
  return (
    <Popover label="Views" title={<Icon name="star" />} kind="bare">
      {(close) => <Views onClose={close} />}
    </Popover>
  );
}
